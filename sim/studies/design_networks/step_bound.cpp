#include "sim/studies/design_networks/step_bound.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

namespace lockstep::design_networks {
namespace {

using program::CommunicatorId;
using program::Program;
using program::ProgramOp;
using workloads::StageId;

constexpr double rounding = 1 - 1e-9;  // sums in another order than an engine's
constexpr double endless = std::numeric_limits<double>::infinity();

/// What a link carries of a group alone: seconds for each byte of a slot.
using LinkLoad = std::vector<std::pair<collectives::SlotId, double>>;
/// Of all links of a group, those that differ.
using GroupLoad = std::set<LinkLoad>;

/// A flow that crosses a link; `Kind` says which flow, as far as it matters.
template <typename Kind>
using Crossings = std::vector<std::pair<topologies::LinkId, Kind>>;

/// Calls `visit` for every link that is crossed, with the kinds that cross it and the seconds for each byte of them.
template <typename Kind, typename Visit>
void for_each_link(Crossings<Kind> crossings, const Program& program, Visit visit) {
  std::sort(crossings.begin(), crossings.end());
  for (auto at = crossings.begin(); at != crossings.end();) {
    std::vector<std::pair<Kind, double>> kinds;
    const auto link = at->first;
    while (at != crossings.end() && at->first == link) {
      const auto next = std::upper_bound(at, crossings.end(), *at);
      kinds.emplace_back(at->second, static_cast<double>(next - at) / program.links[link].value());
      at = next;
    }
    visit(std::move(kinds));
  }
}

GroupLoad load_of(const collectives::ProgramGroup& group, const Program& program) {
  Crossings<collectives::SlotId> crossings;
  for (const auto& flow : group.flows) {
    for (const auto link : flow.links) crossings.emplace_back(link, flow.slot);
  }
  GroupLoad loads;
  for_each_link(std::move(crossings), program, [&](LinkLoad load) { loads.insert(std::move(load)); });
  return loads;
}

double time_of(const collectives::Phase& phase, const LinkLoad& link) {
  double seconds = 0;
  for (const auto& [slot, each] : link) seconds += each * phase.slot_bytes[slot];
  return seconds;
}

double time_of(const collectives::Phase& phase, const GroupLoad& group) {
  double longest = 0;
  for (const auto& link : group) longest = std::max(longest, time_of(phase, link));
  return phase.latency.value() + longest;
}

/// What each operation takes at least, on any rank.
class LeastTimes {
 public:
  explicit LeastTimes(const Program& program) : program_(program), loads_(program.communicators.size()) {
    for (topologies::RankId rank = 0; rank < program.ranks(); ++rank) {
      const auto [known, is_new] = speed_.try_emplace(program.stage_of_rank[rank], program.slowdown_of_rank[rank]);
      if (!is_new) known->second = std::min(known->second, program.slowdown_of_rank[rank]);
    }
  }

  double of(const ProgramOp& op) { return op.kind == ProgramOp::Kind::compute ? computing(op) : alone(op); }

 private:
  [[nodiscard]] double computing(const ProgramOp& op) const {
    double least = op.duration.value();
    for (const auto& on_chip : op.on_chips) least = std::min(least, on_chip.duration.value());
    const auto speed = speed_.find(op.stage);
    return speed == speed_.end() ? 0 : least * speed->second + op.held.value();
  }

  /// The group that is done first, of operations with these phases.
  double alone(const ProgramOp& op) {
    const auto [known, is_new] = known_.try_emplace({op.communicator, op.phases.begin()}, endless);
    if (!is_new) return known->second;
    auto& groups = loads_[position_of(op.communicator)];
    if (groups.empty()) {
      for (const auto& group : program_.communicators[op.communicator].groups) groups.insert(load_of(group, program_));
    }
    for (const auto& group : groups) {
      double seconds = 0;
      for (const auto& phase : op.phases) seconds += time_of(phase, group);
      known->second = std::min(known->second, seconds);
    }
    if (groups.empty()) known->second = 0;
    return known->second;
  }

  const Program& program_;
  std::map<StageId, double> speed_;         ///< the fastest rank's slowdown
  std::vector<std::set<GroupLoad>> loads_;  ///< of the groups of a communicator that differ, once asked for
  std::map<std::pair<CommunicatorId, const collectives::Phase*>, double> known_;
};

/// The stages all of whose ranks take part in a communicator.
std::vector<std::vector<StageId>> stages_of(const Program& program) {
  std::map<StageId, std::int64_t> ranks;
  for (const auto stage : program.stage_of_rank) ++ranks[stage];
  std::vector<std::vector<StageId>> stages;
  for (const auto& communicator : program.communicators) {
    std::map<StageId, std::int64_t> members;
    for (const auto& group : communicator.groups) {
      for (const auto rank : group.members) ++members[program.stage_of_rank[rank]];
    }
    auto& whole = stages.emplace_back();
    for (const auto& [stage, count] : members) {
      if (count == ranks.at(stage)) whole.push_back(stage);
    }
  }
  return stages;
}

/// Work that one thing does piece by piece: a stream its operations, a link the bytes of all groups. No piece begins
/// before the path that leads to it has passed, and after it the path that follows is left. So all takes at least as
/// long as, of the pieces from any date on, that date, their sum, and the shortest path that follows one of them.
class Work {
 public:
  void add(double head, double seconds, double tail) {
    if (seconds > 0) pieces_.push_back({head, seconds, tail});
  }

  [[nodiscard]] double bound() {
    std::sort(pieces_.begin(), pieces_.end(), [](const Piece& a, const Piece& b) { return a.head > b.head; });
    double most = 0, sum = 0, tail = endless;
    for (const auto& piece : pieces_) {
      sum += piece.seconds;
      tail = std::min(tail, piece.tail);
      most = std::max(most, piece.head + sum + tail);
    }
    return most;
  }

 private:
  struct Piece {
    double head, seconds, tail;
  };
  std::vector<Piece> pieces_;
};

/// The operations of one stream of the ranks of a stage.
struct Stream {
  Work work;
  double time = 0;     ///< of all of them
  double sharing = 0;  ///< of kernels that collectives slow down
  double head = endless, tail = endless;
};

/// Links that carry the same of every collective, of all groups together: by communicator.
using SharedLoad = std::vector<std::pair<CommunicatorId, LinkLoad>>;

std::set<SharedLoad> shared_loads(const Program& program) {
  std::set<CommunicatorId> used;
  for (const auto& op : program.ops) {
    if (op.kind == ProgramOp::Kind::collective) used.insert(op.communicator);
  }
  using SlotOf = std::pair<CommunicatorId, collectives::SlotId>;
  Crossings<SlotOf> crossings;
  for (const auto communicator : used) {
    for (const auto& group : program.communicators[communicator].groups) {
      for (const auto& flow : group.flows) {
        for (const auto link : flow.links) crossings.emplace_back(link, SlotOf(communicator, flow.slot));
      }
    }
  }
  std::set<SharedLoad> loads;
  for_each_link(std::move(crossings), program, [&](const std::vector<std::pair<SlotOf, double>>& slots) {
    SharedLoad load;
    for (const auto& [slot, seconds] : slots) {
      if (load.empty() || load.back().first != slot.first) load.emplace_back(slot.first, LinkLoad{});
      load.back().second.emplace_back(slot.second, seconds);
    }
    loads.insert(std::move(load));
  });
  return loads;
}

class Bound {
 public:
  Bound(const Program& program, const LeastTime& known) : program_(program), stages_(stages_of(program)) {
    LeastTimes least(program);
    for (const auto& op : program.ops) {
      const auto seconds = known ? known(op) : std::nullopt;
      times_.push_back(seconds ? *seconds : least.of(op));
    }
    find_paths();
  }

  double seconds() {
    add_up_streams();
    double bound = longest_path_;
    for (auto& [place, stream] : streams_) bound = std::max({bound, stream.work.bound(), slowed(place.first, stream)});
    return std::max(bound, busiest_link()) * rounding;
  }

 private:
  void find_paths() {
    const auto count = program_.ops.size();
    head_.assign(count, 0);
    tail_.assign(count, 0);
    for (std::size_t i = 0; i < count; ++i) {
      for (const auto before : program_.ops[i].predecessors)
        head_[i] = std::max(head_[i], head_[position_of(before)] + times_[position_of(before)]);
      longest_path_ = std::max(longest_path_, head_[i] + times_[i]);
    }
    for (std::size_t i = count; i-- > 0;) {
      for (const auto before : program_.ops[i].predecessors)
        tail_[position_of(before)] = std::max(tail_[position_of(before)], tail_[i] + times_[i]);
    }
  }

  void add_up_streams() {
    for (std::size_t i = 0; i < program_.ops.size(); ++i) {
      const auto& op = program_.ops[i];
      if (op.kind == ProgramOp::Kind::compute) {
        for (const auto stream : op.streams) take(i, op, {op.stage, stream});
        continue;
      }
      for (const auto stage : stages_[position_of(op.communicator)]) {
        for (const auto stream : op.streams) take(i, op, {stage, stream});
        if (op.shares_chip) collectives_[stage].push_back(i);
      }
    }
  }

  using Place = std::pair<StageId, program::StreamId>;

  void take(std::size_t i, const ProgramOp& op, const Place& place) {
    auto& stream = streams_[place];
    stream.work.add(head_[i], times_[i], tail_[i]);
    stream.time += times_[i];
    if (op.kind == ProgramOp::Kind::compute && op.shares_chip) stream.sharing += times_[i];
    stream.head = std::min(stream.head, head_[i]);
    stream.tail = std::min(stream.tail, tail_[i]);
  }

  /// The third bound. Kernels that do not slow down may take up what they can of the collectives' time.
  double slowed(StageId stage, const Stream& kernels) {
    if (kernels.sharing <= 0) return 0;
    const double lost = 1 - 1 / least_slowdown();
    const double beside = std::max(0.0, collectives_between(stage, kernels) - (kernels.time - kernels.sharing));
    return kernels.head + kernels.time + lost * beside + kernels.tail;
  }

  [[nodiscard]] double least_slowdown() const {
    double least = endless;
    for (const auto slowdown : program_.shared_slowdown) least = std::min(least, slowdown);
    for (const auto slowdown : program_.dispatch_slowdown) least = std::min(least, slowdown);
    return std::max(1.0, least);
  }

  /// The busiest stream of collectives that surely run after `kernels.head` and before `kernels.tail` is left.
  double collectives_between(StageId stage, const Stream& kernels) {
    std::map<program::StreamId, double> busy;
    double most = 0;
    for (const auto i : collectives_[stage]) {
      if (head_[i] < kernels.head || tail_[i] < kernels.tail) continue;
      for (const auto stream : program_.ops[i].streams) most = std::max(most, busy[stream] += times_[i]);
    }
    return most;
  }

  /// What all groups together carry over one link, whenever they do.
  [[nodiscard]] double busiest_link() const {
    constexpr std::size_t most_links = 512;  // unlike ones; any of them will do
    double bound = 0;
    std::size_t seen = 0;
    for (const auto& link : shared_loads(program_)) {
      if (++seen > most_links) break;
      const std::map<CommunicatorId, LinkLoad> of(link.begin(), link.end());
      std::map<std::pair<CommunicatorId, const collectives::Phase*>, double> known;
      Work work;
      for (std::size_t i = 0; i < program_.ops.size(); ++i) {
        const auto& op = program_.ops[i];
        if (op.kind != ProgramOp::Kind::collective) continue;
        const auto load = of.find(op.communicator);
        if (load == of.end()) continue;
        const auto [seconds, is_new] = known.try_emplace({op.communicator, op.phases.begin()}, 0);
        if (is_new) {
          for (const auto& phase : op.phases) seconds->second += time_of(phase, load->second);
        }
        work.add(head_[i], seconds->second, tail_[i]);
      }
      bound = std::max(bound, work.bound());
    }
    return bound;
  }

  const Program& program_;
  std::vector<std::vector<StageId>> stages_;  ///< by communicator
  std::vector<double> times_, head_, tail_;   ///< by operation: its own, of the longest path before it, and after it
  double longest_path_ = 0;
  std::map<Place, Stream> streams_;
  std::map<StageId, std::vector<std::size_t>> collectives_;  ///< that slow down the kernels of a stage
};

}  // namespace

Seconds step_bound(const program::Program& whole, const LeastTime& known) {
  return Seconds(Bound(whole, known).seconds());
}

}  // namespace lockstep::design_networks
