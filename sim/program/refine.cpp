#include "sim/program/refine.hpp"

#include <bit>
#include <utility>

#include "sim/core/splitmix64.hpp"

namespace lockstep::program {
namespace {

using Colour = std::uint64_t;
template <class Id>
using Colours = Indexed<Id, Colour>;
using RankColours = Colours<topologies::RankId>;
using LinkColours = Colours<topologies::LinkId>;
using NumberColours = Colours<std::int32_t>;  ///< of groups or of flows, which are numbered through all communicators
using SlotColours = Colours<collectives::SlotId>;

Colour join(Colour a, Colour b) { return splitmix64(a ^ splitmix64(b)); }

/// Numbers of colours, in order of first appearance. Colours are mixed already, so their low bits are the place in the
/// table; neighbours mostly have one colour.
class Numbers {
 public:
  std::int32_t of(Colour colour) {
    if (count_ > 0 && colour == last_.colour) return last_.number;
    if (2 * position_of(count_) >= table_.size()) grow();
    auto& entry = place_of(colour);
    if (entry.number < 0) entry = {colour, count_++};
    last_ = entry;
    return entry.number;
  }
  [[nodiscard]] std::int32_t count() const { return count_; }

 private:
  struct Entry {
    Colour colour = 0;
    std::int32_t number = -1;
  };
  Entry& place_of(Colour colour) {
    auto at = colour & (table_.size() - 1);
    while (table_[at].number >= 0 && table_[at].colour != colour) at = (at + 1) & (table_.size() - 1);
    return table_[at];
  }
  void grow() {
    const auto smaller = std::exchange(table_, std::vector<Entry>(2 * table_.size()));
    for (const auto& entry : smaller) {
      if (entry.number >= 0) place_of(entry.colour) = entry;
    }
  }

  std::vector<Entry> table_ = std::vector<Entry>(64);  ///< a power of two
  std::int32_t count_ = 0;
  Entry last_;
};

std::int32_t count_classes(const std::vector<Colour>& colours) {
  Numbers numbers;
  for (const auto colour : colours) numbers.of(colour);
  return numbers.count();
}

template <class Index>
std::int32_t number(const Indexed<Index, Colour>& colours, Indexed<Index, std::int32_t>& classes) {
  Numbers numbers;
  classes.reserve(colours.size());
  for (const auto colour : colours) classes.push_back(numbers.of(colour));
  return numbers.count();
}

/// The bytes that a slot carries in every collective of its communicator, as a colour: slots that always carry the same
/// (the two directions of a ring) have the same colour.
Indexed<CommunicatorId, SlotColours> slot_colours(const Program& program) {
  Indexed<CommunicatorId, SlotColours> colours;
  for (std::size_t c = 0; c < program.communicators.size(); ++c) {
    colours.emplace_back(program.communicators[c].slots, splitmix64(c));
  }
  for (const auto& op : program.ops) {
    if (op.kind != ProgramOp::Kind::collective) continue;
    auto& slots = colours[op.communicator];
    for (const auto& phase : op.phases) {
      for (std::size_t slot = 0; slot < slots.size(); ++slot)
        slots[slot] = join(slots[slot], std::bit_cast<Colour>(phase.slot_bytes[slot]));
    }
  }
  return colours;
}

/// Multisets enter a colour as sums of mixed members: the order does not matter, and a member that occurs
/// twice counts twice. Two different multisets agree with probability 2^-64.
class Refinement {
 public:
  Refinement(const Program& program, const SomeLinks& slack)
      : program_(program), slack_(slack.empty() ? SomeLinks(program.links.size(), false) : slack) {
    for (topologies::RankId rank = 0; rank < program.ranks(); ++rank) {
      const auto speed =
          join(static_cast<Colour>(program.chip_of(rank)), std::bit_cast<Colour>(program.slowdown_of_rank[rank]));
      ranks_.push_back(join(static_cast<Colour>(program.stage_of_rank[rank]), speed));
    }
    for (const auto& capacity : program.links) links_.push_back(splitmix64(std::bit_cast<Colour>(capacity.value())));
    const auto slots = slot_colours(program);
    for (std::size_t c = 0; c < program.communicators.size(); ++c) {
      for (const auto& group : program.communicators[c].groups) {
        groups_.push_back(splitmix64(c));
        for (const auto& flow : group.flows) flows_.push_back(slots[c][flow.slot]);
      }
    }
  }

  Partition run() {
    for (std::int64_t before = -1, now = classes(); now != before; now = classes()) {
      before = now;
      pass();
    }
    for (std::size_t i = 0; i < links_.size(); ++i) {
      if (slack_[i]) links_[i] = join(links_[i], carried_by_slack_[i]);
    }
    Partition result;
    result.ranks = number(ranks_, result.rank);
    result.groups = number(groups_, result.group);
    result.flows = number(flows_, result.flow);
    result.links = number(links_, result.link);
    return result;
  }

 private:
  [[nodiscard]] std::int64_t classes() const {
    return std::int64_t{count_classes(ranks_)} + count_classes(groups_) + count_classes(flows_) + count_classes(links_);
  }

  /// Every colour takes in its neighbours': links <-> flows <-> groups <-> ranks.
  void pass() {
    LinkColours on_link(links_.size(), 0);
    RankColours on_rank(ranks_.size(), 0);
    NumberColours new_flows(flows_.size());
    NumberColours new_groups(groups_.size());
    LinkColours mixed_links(links_.size(), 0);  // what a crossing tells; slack links tell nothing
    for (std::size_t i = 0; i < links_.size(); ++i) {
      if (!slack_[i]) mixed_links[i] = splitmix64(links_[i]);
    }
    RankColours mixed_ranks(ranks_);  // a rank is a member of many groups, a group has many members
    for (auto& colour : mixed_ranks) colour = splitmix64(colour);
    std::size_t g = 0;
    std::size_t f = 0;
    for (std::size_t c = 0; c < program_.communicators.size(); ++c) {
      for (const auto& group : program_.communicators[c].groups) {
        Colour members = 0;
        const auto of_group = groups_[g], in_group = join(c, of_group);
        for (const auto rank : group.members) {
          members += mixed_ranks[rank];
          on_rank[rank] += in_group;
        }
        Colour carried = 0;
        for (const auto& flow : group.flows) {
          Colour crossed = 0;
          const auto mixed = splitmix64(flows_[f]);
          for (const auto link : flow.links) {
            crossed += mixed_links[link];
            on_link[link] += mixed;
          }
          carried += mixed;
          new_flows[f] = join(join(flows_[f], of_group), crossed);
          ++f;
        }
        new_groups[g] = join(join(of_group, members), carried);
        ++g;
      }
    }
    for (std::size_t i = 0; i < links_.size(); ++i) {
      if (!slack_[i]) links_[i] = join(links_[i], on_link[i]);
    }
    carried_by_slack_ = std::move(on_link);
    for (std::size_t i = 0; i < ranks_.size(); ++i) ranks_[i] = join(ranks_[i], on_rank[i]);
    flows_ = std::move(new_flows);
    groups_ = std::move(new_groups);
  }

  const Program& program_;
  SomeLinks slack_;
  RankColours ranks_;
  NumberColours groups_, flows_;
  LinkColours links_;
  LinkColours carried_by_slack_;  ///< by link: what it carried in the last pass
};

}  // namespace

Partition refine(const Program& program, const SomeLinks& slack) { return Refinement(program, slack).run(); }

Indexed<CommunicatorId, std::vector<collectives::SlotId>> alike_slots(const Program& program) {
  Indexed<CommunicatorId, std::vector<collectives::SlotId>> alike;
  for (const auto& colours : slot_colours(program)) {
    Indexed<collectives::SlotId, std::int32_t> numbers;
    std::vector<collectives::SlotId> first(static_cast<std::size_t>(number(colours, numbers)), -1), of_slot;
    for (const auto slot : numbers.ids()) {
      auto& known = first[position_of(numbers[slot])];
      if (known < 0) known = slot;
      of_slot.push_back(known);
    }
    alike.push_back(std::move(of_slot));
  }
  return alike;
}

}  // namespace lockstep::program
