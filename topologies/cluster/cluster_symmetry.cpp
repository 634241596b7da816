#include "topologies/cluster/cluster_symmetry.hpp"
#include "sim/core/indexed.hpp"

#include <algorithm>
#include <map>
#include <tuple>

namespace lockstep::topologies {
/// Finds the tiers of the graph, with devices at the bottom, and what lies below each link.
class ClusterSymmetry::Finder {
 public:
  Finder(const Cluster& cluster, ClusterSymmetry& made)
      : cluster_(cluster),
        unit_size_(cluster.unit_size()),
        units_(cluster.devices() / cluster.unit_size()),
        made_(made) {}

  /// Whether blocks below links of one kind are all alike.
  bool find() {
    if (cluster_.unit_is_torus() || cluster_.axes().back().size != unit_size_) return false;
    if (cluster_.axes().size() != (units_ == 1 ? 1U : 2U)) return false;  // halls
    for (DeviceId position = 0; position < cluster_.devices(); ++position) {
      if (cluster_.device_at_position(position) != position) return false;
    }
    return find_tiers() && find_kinds() && find_blocks();
  }

 private:
  /// Where a link stands: its two ends by tier, and its lower end.
  struct Ends {
    NodeId lower, upper;
    bool upwards;
  };
  [[nodiscard]] Ends ends_of(const Link& link) const {
    const bool upwards = tier_[link.from] <= tier_[link.to];
    return upwards ? Ends{link.from, link.to, true} : Ends{link.to, link.from, false};
  }
  [[nodiscard]] bool joins_devices(const Ends& ends) const { return tier_[ends.upper] == 0; }

  bool find_tiers() {
    constexpr int unknown = -1;
    tier_.assign(position_of(cluster_.nodes()), unknown);
    std::fill_n(tier_.begin(), cluster_.devices(), 0);
    for (bool more = true; more; ++tiers_) {
      more = false;
      for (LinkId id = 0; id < cluster_.links(); ++id) {
        const auto& link = cluster_.link(id);
        if (tier_[link.from] != tiers_ || tier_[link.to] != unknown) continue;
        tier_[link.to] = tiers_ + 1;
        more = true;
      }
    }
    return std::find(tier_.begin(), tier_.end(), unknown) == tier_.end();
  }

  /// Kinds of links by what they are and where they stand; those of one kind must be as fast and as long.
  bool find_kinds() {
    std::map<std::tuple<LinkKind, int, bool, int, int>, std::int32_t> kinds;
    for (LinkId id = 0; id < cluster_.links(); ++id) {
      const auto& link = cluster_.link(id);
      const auto ends = ends_of(link);
      const int tier = tier_[ends.lower];
      const bool inside = joins_devices(ends);
      if (!inside && tier_[ends.upper] != tier + 1) return false;
      if (inside && cluster_.unit_of(ends.lower) != cluster_.unit_of(ends.upper)) return false;
      // Links between two devices of a unit are told apart by both, so chips of such a unit do not change places.
      const auto [kind, is_new] = kinds.try_emplace(
          {link.kind, tier, ends.upwards, inside ? 1 + link.from % unit_size_ : 0, inside ? link.to % unit_size_ : 0},
          static_cast<std::int32_t>(kinds.size()));
      if (is_new) example_.push_back(id);
      const auto& like = cluster_.link(example_[kind->second]);
      if (like.bandwidth != link.bandwidth || like.latency != link.latency) return false;
      chips_alike_ = chips_alike_ && !inside;
      made_.kinds_.push_back(kind->second);
    }
    return true;
  }

  bool find_blocks() {
    find_first_devices();
    find_above();
    std::vector<int> unit_blocks{1, units_}, chip_blocks{1, unit_size_};
    made_.below_.assign(example_.size(), {1, 1});
    for (std::int32_t kind = 0; std::cmp_less(kind, example_.size()); ++kind) {
      const auto ends = ends_of(cluster_.link(example_[kind]));
      if (tier_[ends.lower] == 0) continue;
      const Indexed<DeviceId, NodeId> lower = lower_ends(kind);
      if (lower.empty()) return false;
      auto& below = made_.below_[kind];
      below = {0, 0};
      for (int unit = 0; unit < units_; ++unit) below[0] += lower[unit * unit_size_] == lower[0] ? 1 : 0;
      for (int chip = 0; chip < unit_size_; ++chip) below[1] += lower[chip] == lower[0] ? 1 : 0;
      for (DeviceId device = 0; device < cluster_.devices(); ++device) {
        const int unit = device / unit_size_, chip = device % unit_size_;
        const auto first = (unit - unit % below[0]) * unit_size_ + chip - chip % below[1];
        if (lower[device] != lower[first] || first_device_[lower[device]] != first) return false;
      }
      unit_blocks.push_back(below[0]);
      chip_blocks.push_back(below[1]);
    }
    if (!in_each_other(unit_blocks) || !in_each_other(chip_blocks)) return false;
    if (!chips_alike_) chip_blocks.clear();
    if (units_ > 1) made_.blocks_ = {std::move(unit_blocks), std::move(chip_blocks)};
    if (units_ == 1) {
      made_.blocks_ = {std::move(chip_blocks)};
      for (auto& below : made_.below_) below = {below[1]};
    }
    return true;
  }

  /// Finds the first device below each node of the graph.
  void find_first_devices() {
    first_device_.assign(position_of(cluster_.nodes()), cluster_.devices());
    for (DeviceId device = 0; device < cluster_.devices(); ++device) first_device_[device] = device;
    for (int tier = 0; tier < tiers_; ++tier) {
      for (LinkId id = 0; id < cluster_.links(); ++id) {
        const auto ends = ends_of(cluster_.link(id));
        if (tier_[ends.lower] != tier || joins_devices(ends)) continue;
        first_device_[ends.upper] = std::min(first_device_[ends.upper], first_device_[ends.lower]);
      }
    }
  }

  void find_above() {
    above_.resize(position_of(cluster_.nodes()));
    for (LinkId id = 0; id < cluster_.links(); ++id) {
      const auto ends = ends_of(cluster_.link(id));
      if (ends.upwards && !joins_devices(ends)) above_[ends.lower].push_back(ends.upper);
    }
  }

  /// For each device, the lower end of the one link of some kind that is above it; empty if there are several or none.
  [[nodiscard]] std::vector<NodeId> lower_ends(std::int32_t kind) const {
    Indexed<NodeId, bool> has_one(position_of(cluster_.nodes()), false);
    for (LinkId id = 0; id < cluster_.links(); ++id) {
      if (made_.kinds_[id] != kind) continue;
      const auto lower = ends_of(cluster_.link(id)).lower;
      if (has_one[lower]) return {};
      has_one[lower] = true;
    }
    std::vector<NodeId> result, reached;
    for (DeviceId device = 0; device < cluster_.devices(); ++device) {
      reached.assign(1, device);
      NodeId found = -1;
      for (std::size_t i = 0; i < reached.size(); ++i) {
        if (has_one[reached[i]]) {
          if (found >= 0) return {};
          found = reached[i];
        }
        const auto& above = above_[reached[i]];
        reached.insert(reached.end(), above.begin(), above.end());
      }
      if (found < 0) return {};
      result.push_back(found);
    }
    return result;
  }

  /// Sorts sizes of blocks; whether each divides the next.
  static bool in_each_other(std::vector<int>& sizes) {
    std::sort(sizes.begin(), sizes.end());
    sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
    return std::adjacent_find(sizes.begin(), sizes.end(), [](int a, int b) { return b % a != 0; }) == sizes.end();
  }

  const Cluster& cluster_;
  int unit_size_, units_;
  ClusterSymmetry& made_;
  bool chips_alike_ = true;
  int tiers_ = 0;
  Indexed<NodeId, int> tier_;                   ///< by node of the graph
  Indexed<std::int32_t, LinkId> example_;       ///< by kind of link
  Indexed<NodeId, DeviceId> first_device_;      ///< by node of the graph
  Indexed<NodeId, std::vector<NodeId>> above_;  ///< by node of the graph: upper ends of its links upwards
};

ClusterSymmetry::ClusterSymmetry(const Cluster& cluster) {
  if (Finder(cluster, *this).find()) return;
  blocks_.assign(cluster.axes().size(), {});
  kinds_.clear();
  below_.clear();
}

bool ClusterSymmetry::any() const {
  return std::any_of(blocks_.begin(), blocks_.end(), [](const auto& sizes) { return sizes.size() > 1; });
}

}  // namespace lockstep::topologies
