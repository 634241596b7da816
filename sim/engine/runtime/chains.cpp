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
  explicit Search(const program::Program& program)
      : program_(program),
        place_(program.ops.size()),
        next_(program.ops.size(), none),
        awaited_by_(program.ops.size(), none) {
    hosts_wait_ = std::any_of(program.ops.begin(), program.ops.end(), [](const auto& op) { return op.host_waits; });
    find_lanes();
    find_ends();
  }

  Indexed<ProgramOpId, ProgramOpId> run() {
    for (const LaneId lane : lanes_.ids()) join(lane);
    return std::move(next_);
  }

 private:
  static constexpr std::int32_t none = -1;
  static constexpr std::int32_t never = std::numeric_limits<std::int32_t>::max();
  struct Place {
    LaneId lane = none;
    std::int32_t turn = 0;    ///< on its lane
    bool is_awaited = false;  ///< by an operation off its lane that waits for no later one of the lane
  };

  void find_lanes() {
    Indexed<program::StreamId, bool> runs_others(program_.streams.size(), false);
    for (const ProgramOp& op : program_.ops) {
      if (op.kind == ProgramOp::Kind::compute && op.streams.size() == 1) continue;
      for (const auto stream : op.streams) runs_others[stream] = true;
    }
    using StageStream = std::pair<workloads::StageId, program::StreamId>;
    std::map<StageStream, LaneId> known;
    StageStream last{-1, -1};  // many operations of a lane stand together
    LaneId lane = none;
    for (const ProgramOpId id : program_.ops.ids()) {
      const ProgramOp& op = program_.ops[id];
      if (op.kind != ProgramOp::Kind::compute || op.streams.size() != 1 || runs_others[op.streams.front()]) continue;
      if (const StageStream own{op.stage, op.streams.front()}; lane == none || own != last) {
        const auto [found, is_new] = known.try_emplace(own, lanes_.next_id());
        if (is_new) lanes_.emplace_back();
        lane = found->second;
        last = own;
      }
      place_[id] = {lane, lanes_[lane].count(), false};
      lanes_[lane].push_back(id);
    }
  }

  /// Of the operations of a lane that somebody off the lane waits for, the last is the one that counts: on a lane whose
  /// operations come one after the other it ends last.
  void find_ends() {
    struct Latest {
      ProgramOpId of = none;
      std::int32_t turn = none;
    };
    Indexed<LaneId, Latest> latest(lanes_.size());
    for (const ProgramOpId id : program_.ops.ids()) {
      const auto& predecessors = program_.ops[id].predecessors;
      for (const ProgramOpId before : predecessors) {
        const auto& place = place_[before];
        if (place.lane == none || place.lane == place_[id].lane) continue;
        auto& last = latest[place.lane];
        last = {id, last.of == id ? std::max(last.turn, place.turn) : place.turn};
      }
      for (const ProgramOpId before : predecessors) {
        auto& place = place_[before];
        if (place.lane != none && place.lane != place_[id].lane && latest[place.lane].turn == place.turn)
          place.is_awaited = true;
      }
    }
  }

  void join(LaneId lane) {
    const auto& ops = lanes_[lane];
    // By turn: the first turn that waits for it, and the last that it waits for.
    Indexed<std::int32_t, std::int32_t> first_after(ops.size(), never), last_before(ops.size(), none);
    for (const std::int32_t turn : ops.ids()) {
      for (const ProgramOpId before : program_.ops[ops[turn]].predecessors) {
        if (place_[before].lane != lane) continue;
        auto& first = first_after[place_[before].turn];
        first = std::min(first, turn);
        last_before[turn] = std::max(last_before[turn], place_[before].turn);
      }
    }
    auto least_before = last_before;  // of this turn and those after it
    for (std::int32_t turn = ops.count() - 2; turn >= 0; --turn)
      least_before[turn] = std::min(least_before[turn], least_before[turn + 1]);
    std::int32_t latest_after = 0;  // of the turns up to two before this one
    for (const std::int32_t turn : ops.ids()) {
      if (turn > 1) latest_after = std::max(latest_after, first_after[turn - 2]);
      const bool nothing_between = turn > 0 && last_before[turn] == turn - 1 && latest_after < turn &&
                                   (turn + 1 == ops.count() || least_before[turn + 1] >= turn);
      const bool waits = waits_for_others(ops[turn], lane);
      if (nothing_between && !waits && may_be_joined(ops[turn - 1], ops[turn])) next_[ops[turn - 1]] = ops[turn];
    }
  }

  /// Whether an operation waits for one off its lane that the lane has not waited for yet. From now on it has.
  bool waits_for_others(ProgramOpId id, LaneId lane) {
    bool waits = false;
    for (const ProgramOpId before : program_.ops[id].predecessors) {
      if (place_[before].lane != lane && std::exchange(awaited_by_[before], lane) != lane) waits = true;
    }
    return waits;
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
  Indexed<ProgramOpId, ProgramOpId> next_;
  Indexed<ProgramOpId, LaneId> awaited_by_;  ///< the last lane that was seen to wait for it
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
