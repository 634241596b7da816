#include "tools/sweep/run_sweep.hpp"

#include <cstring>
#include <unordered_set>

#include "sim/studies/isolated.hpp"
#include "tools/output/result_json.hpp"
#include "tools/sweep/outputs.hpp"

namespace lockstep::sweep {
namespace {

/// Spreads points evenly over shards. The digest's bits alone are not evenly distributed, so they are mixed
/// (MurmurHash3's last step).
std::int64_t shard_of(const Digest::Bytes16& identity, std::int64_t shards) {
  std::uint64_t number = 0;
  for (const auto byte : identity) number = number * 256 + byte;  // the lower half
  for (const auto factor : {0xff51afd7ed558ccdULL, 0xc4ceb9fe1a85ec53ULL}) number = (number ^ (number >> 33)) * factor;
  number ^= number >> 33;
  return static_cast<std::int64_t>(number % static_cast<std::uint64_t>(shards));
}

PointResult simulated(const Sweep& sweep, std::int64_t point, const SweepOptions& options, spdlog::logger& log) {
  const auto scenario = sweep.scenario_at(point);
  const auto simulation = simulate(scenario, {options.engine, true, {}, options.keep_results}, log);
  PointResult result;
  result.outputs = outputs_of(scenario, simulation);
  if (options.keep_results) result.json = result_json(scenario, simulation, output::WallTimes::hidden);
  return result;
}

PointResult answer_of(studies::Child& child) {
  try {
    return result_in(child.answer());
  } catch (const ConfigError& error) {
    return {PointResult::Status::refused, error.what(), {}, ""};
  } catch (const studies::OutOfResources& error) {
    return {PointResult::Status::crashed, error.what(), {}, ""};
  } catch (const studies::ProcessDied& error) {
    return {PointResult::Status::crashed, error.what(), {}, ""};
  } catch (const InternalError& error) {
    return {PointResult::Status::failed, error.what(), {}, ""};
  }
}

}  // namespace

std::string to_text(const PointResult& result) {
  std::string text(1, static_cast<char>('0' + static_cast<int>(result.status)));
  text += static_cast<char>(result.outputs.size());
  text.append(reinterpret_cast<const char*>(result.outputs.data()), result.outputs.size() * sizeof(double));
  return text + result.error + '\0' + result.json;  // neither holds a zero
}

PointResult result_in(std::string_view text) {
  PointResult result;
  result.status = static_cast<PointResult::Status>(text.at(0) - '0');
  result.outputs.resize(static_cast<unsigned char>(text.at(1)));
  const auto size = result.outputs.size() * sizeof(double);
  std::memcpy(result.outputs.data(), text.substr(2, size).data(), size);
  const auto rest = text.substr(2 + size);
  result.error = rest.substr(0, rest.find('\0'));
  result.json = rest.substr(rest.find('\0') + 1);
  return result;
}

std::vector<std::int64_t> points_to_do(const Sweep& sweep, const SweepStore& store, const SweepOptions& options) {
  std::vector<std::int64_t> points;
  std::unordered_set<std::string> seen;
  for (std::int64_t point = 0; point < sweep.points(); ++point) {
    const auto identity = sweep.identity(point);
    if (shard_of(identity, options.shards) != options.shard || store.has(identity)) continue;
    if (seen.emplace(reinterpret_cast<const char*>(identity.data()), identity.size()).second) points.push_back(point);
  }
  return points;
}

void simulate_points(const Sweep& sweep, const std::vector<std::int64_t>& points, const SweepOptions& options,
                     spdlog::logger& log, const std::function<void(std::int64_t, PointResult)>& take) {
  const auto work = [&](std::size_t index) { return to_text(simulated(sweep, points[index], options, log)); };
  engine::load(options.engine);
  studies::in_children(points.size(), options.jobs, work,
                       [&](std::size_t index, studies::Child& child) { take(points[index], answer_of(child)); });
}

void run_sweep(const Sweep& sweep, SweepStore& store, const SweepOptions& options, const SweepProgress& progress,
               spdlog::logger& log) {
  const auto points = points_to_do(sweep, store, options);
  std::size_t done = 0;
  simulate_points(sweep, points, options, log, [&](std::int64_t point, const PointResult& result) {
    store.add(sweep, point, result);
    if (progress) progress(++done, points.size(), result.status);
  });
  store.commit();
}

}  // namespace lockstep::sweep
