#include <numeric>
#include <random>
#include <utility>

#include "topologies/fabrics/unit_network_private.hpp"

namespace lockstep::topologies {
namespace {

/// Fisher-Yates by a modulus, which unlike std::shuffle is the same everywhere.
std::vector<int> shuffled(int count, std::uint64_t seed) {
  std::vector<int> order(static_cast<std::size_t>(count));
  std::iota(order.begin(), order.end(), 0);
  std::mt19937_64 random(seed);
  for (std::size_t left = order.size(); left > 1; --left) std::swap(order[left - 1], order[random() % left]);
  return order;
}

bool permutes_whole_units(const std::vector<DeviceId>& devices, int unit_size) {
  for (std::size_t position = 0; position < devices.size(); ++position) {
    const auto in_unit = static_cast<DeviceId>(position) % unit_size;
    if (devices[position] != devices[position - static_cast<std::size_t>(in_unit)] + in_unit ||
        devices[position] % unit_size != in_unit)
      return false;
  }
  return true;
}

}  // namespace

std::vector<DeviceId> devices_in_order(const ClusterSpec& spec) {
  const int units = spec.units * spec.halls;
  const int unit_size = static_cast<int>(spec.devices() / units);
  std::vector<DeviceId> devices;
  switch (spec.order.kind) {
    case RankOrder::Kind::packed: break;
    case RankOrder::Kind::round_robin:
      for (int chip = 0; chip < unit_size; ++chip) {
        for (int unit = 0; unit < units; ++unit) devices.push_back(unit * unit_size + chip);
      }
      break;
    case RankOrder::Kind::scattered:
      for (const int unit : shuffled(units, spec.order.seed)) {
        for (int chip = 0; chip < unit_size; ++chip) devices.push_back(unit * unit_size + chip);
      }
      break;
    case RankOrder::Kind::listed: return spec.order.devices;
  }
  return devices;
}

std::vector<ClusterProblem> why_not_an_order(const ClusterSpec& spec) {
  const bool tori = spec.torus() != nullptr;
  if (tori && spec.order.kind == RankOrder::Kind::round_robin) {
    return {{"order", "round robin takes neighbours on a torus apart", "packed, scattered, or a list of whole pods"}};
  }
  if (spec.order.kind != RankOrder::Kind::listed) return {};

  const std::int64_t devices = spec.devices();
  const std::string all = "every device from 0 to " + std::to_string(devices - 1) + " once";
  std::vector<ClusterProblem> problems;
  std::vector<std::int64_t> position_of(static_cast<std::size_t>(devices), -1);
  for (std::size_t position = 0; position < spec.order.devices.size(); ++position) {
    const DeviceId device = spec.order.devices[position];
    if (device < 0 || device >= devices) {
      problems.push_back({"order",
                          "position " + std::to_string(position) + " is on device " + std::to_string(device) +
                              ", which does not exist",
                          all});
      continue;
    }
    std::int64_t& earlier = position_of[static_cast<std::size_t>(device)];
    if (earlier >= 0) {
      problems.push_back({"order",
                          "device " + std::to_string(device) + " is at positions " + std::to_string(earlier) + " and " +
                              std::to_string(position),
                          all});
    }
    earlier = static_cast<std::int64_t>(position);
  }
  std::int64_t missing = 0;
  std::int64_t first_missing = -1;
  for (std::int64_t device = devices - 1; device >= 0; --device) {
    if (position_of[static_cast<std::size_t>(device)] >= 0) continue;
    ++missing;
    first_missing = device;
  }
  if (missing > 0) {
    problems.push_back({"order",
                        std::to_string(missing) + " of " + std::to_string(devices) +
                            " devices are missing, the first is " + std::to_string(first_missing),
                        all});
  }
  constexpr std::size_t shown = 10;
  if (problems.size() > shown) problems.resize(shown);
  if (problems.empty() && tori &&
      !permutes_whole_units(spec.order.devices, static_cast<int>(devices / (spec.units * spec.halls)))) {
    problems.push_back(
        {"order", "it takes neighbours on a torus apart", "pods in any order, each with its chips in theirs"});
  }
  return problems;
}

}  // namespace lockstep::topologies
