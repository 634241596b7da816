#include "sim/engine/runtime/chains.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

namespace lockstep::engine {
namespace {

using program::ProgramOp;
using program::ProgramOpId;
using LaneId = std::int32_t;  ///< a stream of a stage that runs compute operations only, one at a time

class Search {
 public:
  explicit Search(const program::Program& program) : program_(program), place_(program.ops.size()) { find_lanes(); }

  Indexed<ProgramOpId, ProgramOpId> run() {
    Indexed<ProgramOpId, ProgramOpId> next(program_.ops.size(), none);
    for (const auto& ops : lanes_) join(ops, next);
    return next;
  }

 private:
  static constexpr std::int32_t none = -1;
  static constexpr std::int32_t never = std::numeric_limits<std::int32_t>::max();
  /// What is asked of an operation, side by side: a program has millions of them.
  struct Place {
    LaneId lane = none;
    std::int32_t turn = 0;             ///< on its lane
    std::int32_t first_after = never;  ///< the first turn of its lane that waits for it
    std::int32_t last_before = none;   ///< the last turn of its lane that it waits for
    LaneId waited_by = none;           ///< the last lane that was seen to wait for it
    bool waits = false;                ///< for one off its lane that the lane has not waited for yet
    bool is_awaited = false;           ///< by an operation off its lane that waits for no later one of the lane
    bool overtaken = false;            ///< a later one of its lane waits for nothing from this turn on
  };
  /// The last turn of a lane that an operation off it waits for.
  struct Latest {
    ProgramOpId of = none;
    std::int32_t turn = none;
  };

  void find_lanes() {
    Indexed<program::StreamId, bool> runs_others(program_.streams.size(), false);
    for (const ProgramOp& op : program_.ops) {
      hosts_wait_ = hosts_wait_ || op.host_waits;
      if (op.kind == ProgramOp::Kind::compute && op.streams.size() == 1) continue;
      for (const auto stream : op.streams) runs_others[stream] = true;
    }
    using StageStream = std::pair<workloads::StageId, program::StreamId>;
    std::map<StageStream, LaneId> known;
    StageStream last{-1, -1};  // many operations of a lane stand together
    LaneId lane = none;
    Indexed<LaneId, Latest> latest;
    for (const ProgramOpId id : program_.ops.ids()) {
      const ProgramOp& op = program_.ops[id];
      if (op.kind == ProgramOp::Kind::compute && op.streams.size() == 1 && !runs_others[op.streams.front()]) {
        if (const StageStream own{op.stage, op.streams.front()}; lane == none || own != last) {
          const auto [found, is_new] = known.try_emplace(own, lanes_.next_id());
          if (is_new) {
            lanes_.emplace_back();
            latest.emplace_back();
          }
          lane = found->second;
          last = own;
        }
        place_[id].lane = lane;
        place_[id].turn = lanes_[lane].count();
        lanes_[lane].push_back(id);
      }
      look_before(id, latest);
    }
  }

  /// Of the operations of a lane that somebody off the lane waits for, the last is the one that counts: on a lane whose
  /// operations come one after the other it ends last.
  void look_before(ProgramOpId id, Indexed<LaneId, Latest>& latest) {
    auto& own = place_[id];
    const auto& predecessors = program_.ops[id].predecessors;
    for (const ProgramOpId earlier : predecessors) {
      auto& before = place_[earlier];
      if (before.lane == own.lane && own.lane != none) {
        before.first_after = std::min(before.first_after, own.turn);
        own.last_before = std::max(own.last_before, before.turn);
        continue;
      }
      if (own.lane != none && std::exchange(before.waited_by, own.lane) != own.lane) own.waits = true;
      if (before.lane == none) continue;
      auto& last = latest[before.lane];
      last = {id, last.of == id ? std::max(last.turn, before.turn) : before.turn};
    }
    for (const ProgramOpId earlier : predecessors) {
      auto& before = place_[earlier];
      if (before.lane != none && before.lane != own.lane && latest[before.lane].turn == before.turn)
        before.is_awaited = true;
    }
  }

  void join(const Indexed<std::int32_t, ProgramOpId>& ops, Indexed<ProgramOpId, ProgramOpId>& next) {
    std::int32_t least_before = never;  // of the turns after this one
    for (std::int32_t turn = ops.count() - 1; turn >= 0; --turn) {
      auto& place = place_[ops[turn]];
      place.overtaken = least_before < turn;
      least_before = std::min(least_before, place.last_before);
    }
    std::int32_t latest_after = 0;  // of the turns up to two before this one
    for (std::int32_t turn = 1; turn < ops.count(); ++turn) {
      if (turn > 1) latest_after = std::max(latest_after, place_[ops[turn - 2]].first_after);
      const auto& place = place_[ops[turn]];
      const bool nothing_between = place.last_before == turn - 1 && latest_after < turn && !place.overtaken;
      if (nothing_between && !place.waits && may_be_joined(ops[turn - 1], ops[turn])) next[ops[turn - 1]] = ops[turn];
    }
  }

  /// Operations that collectives slow down are dated anew when one starts or ends, others never; what takes no time is
  /// not dated at all. The launches of what follows a wait of the host count from its own start.
  [[nodiscard]] bool may_be_joined(ProgramOpId before, ProgramOpId after) const {
    const ProgramOp &one = program_.ops[before], &other = program_.ops[after];
    if (place_[before].is_awaited || one.shares_chip != other.shares_chip) return false;
    if (other.host_waits || (hosts_wait_ && one.streams.front() != 0)) return false;
    return !one.shares_chip || (takes_time(one) && takes_time(other));
  }
  static bool takes_time(const ProgramOp& op) {
    const auto some = [](const program::OnChip& on) { return on.duration > Seconds(0); };
    return op.on_chips.empty() ? op.duration > Seconds(0) : std::all_of(op.on_chips.begin(), op.on_chips.end(), some);
  }

  const program::Program& program_;
  bool hosts_wait_ = false;  ///< launches of some operation count from the start of an operation on another lane
  Indexed<LaneId, Indexed<std::int32_t, ProgramOpId>> lanes_;  ///< operations by turn
  Indexed<ProgramOpId, Place> place_;
};

}  // namespace

Chains::Chains(const Indexed<ProgramOpId, ProgramOpId>& next) : of_op_(next.size(), -1) {
  members_.reserve(next.size());
  for (const ProgramOpId first : next.ids()) {
    if (of_op_[first] >= 0) continue;
    const auto chain = begin_.next_id();
    begin_.push_back(members_.size());
    for (auto op = first; op >= 0; op = next[op]) {
      members_.push_back(op);
      of_op_[op] = chain;
    }
  }
  begin_.push_back(members_.size());
}

Chains Chains::longest(const program::Program& program) { return Chains(Search(program).run()); }

Chains Chains::each_alone(const program::Program& program) {
  return Chains(Indexed<ProgramOpId, ProgramOpId>(program.ops.size(), -1));
}

}  // namespace lockstep::engine
