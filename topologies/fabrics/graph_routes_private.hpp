#pragma once
/// Shortest routes between the ends of a network of any shape, found by searching from the switch of the destination.
#include <deque>
#include <memory>
#include <mutex>

#include "topologies/fabrics/used_network_private.hpp"

namespace lockstep::topologies {

/// In a network of tiers a route leads up and then down; pairs that no such route joins, and other networks, have the
/// shortest routes of all. Between equal ones a number decides, link by link: of n links that lead on, the one at the
/// number modulo n is taken, and the quotient decides on.
class GraphRoutes {
 public:
  /// `first_port` and `first_link` are the ids of the first port's and the first link's way up; each is followed by its
  /// way down, then by the next one's.
  GraphRoutes(const UsedNetwork& network, LinkId first_port, LinkId first_link);

  /// Appends a route that has no missing link; false if there is none. A pair whose route is intact keeps it.
  bool find(EndId from, EndId to, std::uint64_t choice, const MissingLinks& missing, std::vector<LinkId>& links) const;

 private:
  /// A link out of a switch, or out of an end.
  struct Way {
    SwitchGroupId to;
    LinkId out, back;
  };
  /// Links to the destination; `unreached` where there is no way.
  using Distance = std::uint16_t;
  static constexpr Distance unreached = 0xffff;
  struct Distances {
    Indexed<SwitchGroupId, Distance> any;  ///< the routes that may be taken
    Indexed<SwitchGroupId, Distance>
        falling;  ///< those that lead down only; empty where all shortest ones may be taken
  };
  /// The distances to one switch. Those to another with the same neighbours are the same with both exchanged.
  struct View {
    std::shared_ptr<const Distances> distances;
    SwitchGroupId of = 0, instead_of = 0;
    [[nodiscard]] SwitchGroupId seen(SwitchGroupId group) const {
      return group == instead_of ? of : group == of ? instead_of : group;
    }
    [[nodiscard]] bool up_then_down() const { return !distances->falling.empty(); }
    [[nodiscard]] Distance left(SwitchGroupId group, bool falling) const {
      return (falling && up_then_down() ? distances->falling : distances->any)[seen(group)];
    }
  };

  [[nodiscard]] View view_of(SwitchGroupId to, const MissingLinks& missing) const;
  [[nodiscard]] Distances distances_to(SwitchGroupId to, const MissingLinks& missing) const;
  [[nodiscard]] Indexed<SwitchGroupId, Distance> searched(SwitchGroupId to, const MissingLinks& missing,
                                                          bool only_down) const;
  [[nodiscard]] bool reaches_fewer(const Indexed<SwitchGroupId, Distance>& some,
                                   const Indexed<SwitchGroupId, Distance>& others) const;
  bool walk(EndId from, EndId to, std::uint64_t choice, const MissingLinks& missing, std::vector<LinkId>& links) const;
  void find_alike();

  Indexed<SwitchGroupId, int> tier_;
  bool in_tiers_;
  Indexed<SwitchGroupId, std::vector<Way>> ways_;  ///< out of switches
  Indexed<EndId, std::vector<Way>> ways_of_end_;
  Indexed<SwitchGroupId, SwitchGroupId> first_alike_;  ///< the first switch with the same neighbours
  std::vector<SwitchGroupId> with_ends_, from_top_;    ///< those with ends; all, higher tiers first

  /// Distances found so far; the oldest go when they are too many.
  struct Known {
    Indexed<SwitchGroupId, std::shared_ptr<const Distances>> to;
    std::deque<SwitchGroupId> in_order;
  };
  [[nodiscard]] std::shared_ptr<const Distances> known_or_found(Known& known, SwitchGroupId to,
                                                                const MissingLinks& missing) const;
  mutable std::mutex guard_;
  mutable Known known_, known_without_;
  mutable MissingLinks without_;  ///< the missing links of known_without_
};

}  // namespace lockstep::topologies
