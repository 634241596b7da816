#include <algorithm>
#include <array>
#include <charconv>

#include "topologies/graph/ibnetdiscover_private.hpp"

namespace lockstep::topologies {
namespace {

struct LaneRate {
  std::string_view speed;
  double gigabits;
};
/// A lane's nominal rate in Gb/s (InfiniBand Trade Association, "InfiniBand roadmap"; FDR10 is 10 Gb/s with 64b/66b).
constexpr std::array<LaneRate, 9> lane_rates{{{"SDR", 2.5},
                                              {"DDR", 5},
                                              {"QDR", 10},
                                              {"FDR10", 10},
                                              {"FDR", 14},
                                              {"EDR", 25},
                                              {"HDR", 50},
                                              {"NDR", 100},
                                              {"XDR", 200}}};
constexpr int most_lanes = 12;
}  // namespace

std::optional<BytesPerSecond> infiniband_rate(std::string_view speed) {
  const std::size_t x = speed.find('x');
  int lanes = 0;
  const auto [end, error] = std::from_chars(speed.data(), speed.data() + std::min(x, speed.size()), lanes);
  if (x == std::string_view::npos || error != std::errc() || end != speed.data() + x) return std::nullopt;
  const auto found = std::find_if(lane_rates.begin(), lane_rates.end(),
                                  [&](const LaneRate& rate) { return rate.speed == speed.substr(x + 1); });
  if (found == lane_rates.end() || lanes < 1 || lanes > most_lanes) return std::nullopt;
  return BytesPerSecond(lanes * found->gigabits * 1e9 / 8);
}

std::string infiniband_speeds() {
  std::string names;
  for (const LaneRate& rate : lane_rates) names += (names.empty() ? "" : ", ") + std::string(rate.speed);
  return names;
}

}  // namespace lockstep::topologies
