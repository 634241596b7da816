#include "tools/sweep/run_sweep.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <deque>
#include <new>
#include <span>
#include <unordered_set>

#include "sim/studies/isolated.hpp"
#include "tools/output/results/result_json.hpp"
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

/// A process takes its next point until this time is over: longer, and a sweep that is stopped would lose work.
constexpr std::chrono::milliseconds turn_time{200};
constexpr std::size_t most_of_a_turn = 64;

PointResult simulated(const Sweep& sweep, std::int64_t point, const SweepOptions& options, spdlog::logger& log,
                      preparation::KnownMachines& known) {
  const auto scenario = sweep.scenario_at(point);
  SimulateOptions wanted{options.engine, true, {}, options.keep_results};
  wanted.detail = options.keep_results ? Detail::causes : Detail::stages;
  const auto simulation = simulate(scenario, wanted, log, known);
  PointResult result;
  result.outputs = outputs_of(scenario, simulation);
  if (options.keep_results) result.json = result_json(scenario, simulation, output::WallTimes::hidden);
  return result;
}

/// In a child: also what is wrong with the point is a result, but a machine that is used up is not.
PointResult result_of(const Sweep& sweep, std::int64_t point, const SweepOptions& options, spdlog::logger& log,
                      preparation::KnownMachines& known) {
  try {
    return simulated(sweep, point, options, log, known);
  } catch (const ConfigError& error) {
    return {PointResult::Status::refused, error.what(), {}, ""};
  } catch (const studies::OutOfResources&) {
    throw;
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& error) {
    return {PointResult::Status::failed, error.what(), {}, ""};
  }
}

/// The first points of a list, as many as a turn has time for, one at least: each result after its length.
std::string results_of(const Sweep& sweep, std::span<const std::int64_t> points, const SweepOptions& options,
                       spdlog::logger& log) {
  const auto end = std::chrono::steady_clock::now() + turn_time;
  preparation::KnownMachines known;
  std::string text;
  for (const auto point : points) {
    const auto result = to_text(result_of(sweep, point, options, log, known));
    const std::uint64_t size = result.size();
    text.append(reinterpret_cast<const char*>(&size), sizeof size);
    text += result;
    if (std::chrono::steady_clock::now() > end) break;
  }
  return text;
}

std::vector<PointResult> results_in(std::string_view text) {
  std::vector<PointResult> results;
  for (std::uint64_t size = 0; !text.empty(); text.remove_prefix(size)) {
    std::memcpy(&size, text.data(), sizeof size);
    text.remove_prefix(sizeof size);
    results.push_back(result_in(text.substr(0, size)));
  }
  return results;
}

/// Points that a process simulates one after the other: those from `first` to before `last` of the list.
struct Turn {
  std::size_t first, last;
};

/// Lists of points for processes: several points for one, since a process takes longer to make than a small step to
/// simulate and prepares its first machine and model anew, and a single one where its engine allows no more. Several
/// processes at a time get short lists, so that all of them have work to the end.
std::deque<Turn> turns_of(std::size_t points, const SweepOptions& options) {
  const auto share = options.jobs == 1 ? points : points / (4 * static_cast<std::size_t>(options.jobs));
  const auto most =
      options.engine == engine::EngineKind::simgrid ? 1 : std::clamp<std::size_t>(share, 1, most_of_a_turn);
  std::deque<Turn> turns;
  for (std::size_t first = 0; first < points; first += most) turns.push_back({first, std::min(first + most, points)});
  return turns;
}

/// The results of a turn's first points. None if its process died with several: each of them is to be tried alone.
std::vector<PointResult> answers_of(studies::Child& child, const Turn& turn) {
  const auto crashed = [&](const std::exception& error) -> std::vector<PointResult> {
    if (turn.last - turn.first > 1) return {};
    return {{PointResult::Status::crashed, error.what(), {}, ""}};
  };
  try {
    return results_in(child.answer());
  } catch (const studies::OutOfResources& error) {
    return crashed(error);
  } catch (const studies::ProcessDied& error) {
    return crashed(error);
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
  engine::load(options.engine);
  auto waiting = turns_of(points.size(), options);
  std::vector<studies::Child> running;
  std::vector<Turn> turns;  // of those that run
  while (!waiting.empty() || !running.empty()) {
    while (!waiting.empty() && std::ssize(running) < options.jobs) {
      const auto turn = waiting.front();
      running.emplace_back([&] {
        return results_of(sweep, std::span(points).subspan(turn.first, turn.last - turn.first), options, log);
      });
      waiting.pop_front();
      turns.push_back(turn);
    }
    const auto ready = studies::Child::first_ready(running);
    auto child = std::move(running[ready]);
    auto turn = turns[ready];
    const auto place = static_cast<std::ptrdiff_t>(ready);
    running.erase(running.begin() + place);
    turns.erase(turns.begin() + place);
    auto results = answers_of(child, turn);
    if (results.empty()) {
      for (; turn.first < turn.last; ++turn.first) waiting.push_back({turn.first, turn.first + 1});
    }
    for (auto& result : results) take(points[turn.first++], std::move(result));
    if (turn.first < turn.last) waiting.push_front(turn);
  }
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
