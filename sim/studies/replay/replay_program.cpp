#include "sim/studies/replay/replay_program.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <queue>
#include <set>

#include "sim/collectives/nccl_size.hpp"
#include "sim/core/errors.hpp"
#include "sim/studies/replay/job_shape.hpp"
#include "sim/studies/replay/roles.hpp"

namespace lockstep::replay {
namespace {

using program::ProgramOp;
using workloads::CollectiveKind;

constexpr std::size_t most_predecessors = 65'535;  // of an operation of a program

class Writing {
 public:
  Writing(const workloads::RecordedJob& job, const std::vector<RankWork>& works,
          const std::vector<MatchedCollective>& collectives, const ReplayOptions& options, bool eager)
      : job_(job),
        works_(works),
        collectives_(collectives),
        options_(options),
        shape_(job, options),
        eager_(eager),
        roles_(eager ? roles_apart(works, collectives) : roles_of(works, collectives)) {
    if (options.cluster != nullptr) network_.emplace(*options.cluster, options.rules);
  }

  /// Nothing if collectives wait for each other in a circle.
  std::optional<ReplayProgram> run() {
    made_.world = shape_.world();
    made_.notes = shape_.notes();
    auto& program = made_.program;
    (void)stream("compute");
    for (std::int32_t rank = 0; rank < shape_.ranks(); ++rank)
      program.stage_of_rank.push_back(shape_.one_for_all() ? 0 : roles_.role_of_rank[position_of(rank)]);
    program.slowdown_of_rank.assign(program.stage_of_rank.size(), 1.0);
    if (options_.cluster != nullptr) {
      for (topologies::LinkId link = 0; link < options_.cluster->links(); ++link)
        program.links.push_back(options_.cluster->link(link).bandwidth);
    }
    streams_apart_ = std::any_of(collectives_.begin(), collectives_.end(), [&](const MatchedCollective& collective) {
      return collective.what.kind == CollectiveKind::point_to_point && collective.parts.size() == 2 &&
             stream_names(collective.parts.front()) != stream_names(collective.parts.back());
    });
    made_.collectives.resize(collectives_.size());
    sent_.assign(roles_.collectives.size(), -1);
    for (const auto role : roles_.representative.ids()) {
      matched_.emplace_back(work_of_role(role).operations.size(), -1);
      operations_.emplace_back(work_of_role(role).operations.size(), -1);
    }
    for (std::int32_t i = 0; std::cmp_less(i, roles_.collectives.size()); ++i) {
      for (const auto& part : roles_.collectives[position_of(i)].parts) matched_[part.role][part.operation] = i;
    }
    if (!write_in_order()) return std::nullopt;
    for (const auto role : roles_.role_of_rank) made_.operations.push_back(operations_[role]);
    for (const auto& note : network_notes_) made_.notes.push_back(note);
    return std::move(made_);
  }

 private:
  [[nodiscard]] std::vector<std::string> stream_names(const MatchedPart& part) const {
    const auto& work = works_[position_of(part.rank)];
    std::vector<std::string> names;
    for (const auto number : work.operations[part.operation].streams) names.push_back(work.streams[number]);
    return names;
  }

  [[nodiscard]] const RankWork& work_of_role(RoleId role) const {
    return works_[position_of(roles_.representative[role])];
  }

  /// Operations in an order in which each comes after those that it waits for, collectives on all of their roles at
  /// once: of those that could be next, the one that stands earliest in its rank.
  bool write_in_order() {
    using Place = std::tuple<std::int64_t, RolePart>;  // with its order
    Indexed<RoleId, Indexed<WorkId, std::int32_t>> waits;
    Indexed<RoleId, Indexed<WorkId, std::vector<WorkId>>> followers;
    std::vector<std::size_t> missing;  // parts of a collective that are not ready
    for (const auto& collective : roles_.collectives) missing.push_back(collective.parts.size());
    std::priority_queue<Place, std::vector<Place>, std::greater<>> ready;
    std::vector<std::vector<RolePart>> late(roles_.collectives.size());  // receives that are ready before their message
    const auto is_ready = [&](const RolePart& part) {
      const auto matched = matched_[part.role][part.operation];
      if (matched >= 0 && receives(part)) {
        if (sent_[position_of(matched)] < 0) return late[position_of(matched)].push_back(part);
      } else if (matched >= 0 && !is_eager(matched) && --missing[position_of(matched)] > 0)
        return;
      ready.emplace(operation_of(part).order, part);
    };
    std::size_t left = 0;
    for (const auto role : roles_.representative.ids()) {
      const auto& operations = work_of_role(role).operations;
      left += operations.size();
      waits.emplace_back(operations.size(), 0);
      followers.emplace_back(operations.size());
      for (const auto id : operations.ids()) {
        for (const auto before : operations[id].after) followers[role][before].push_back(id);
        waits[role][id] = static_cast<std::int32_t>(operations[id].after.size());
      }
    }
    for (const auto role : roles_.representative.ids()) {
      for (const auto id : waits[role].ids()) {
        if (waits[role][id] == 0) is_ready({role, id});
      }
    }
    while (!ready.empty()) {
      const auto next = std::get<RolePart>(ready.top());
      ready.pop();
      const auto matched = matched_[next.role][next.operation];
      const std::vector<RolePart> alone{next};
      const auto& parts = matched < 0 || is_eager(matched) ? alone : roles_.collectives[position_of(matched)].parts;
      if (matched >= 0 && receives(next))
        receive(next, matched);
      else
        write(parts, matched);
      left -= parts.size();
      if (matched >= 0 && is_eager(matched) && !receives(next)) {
        for (const auto& part : late[position_of(matched)]) is_ready(part);
      }
      for (const auto& part : parts) {
        for (const auto follower : followers[part.role][part.operation]) {
          if (--waits[part.role][follower] == 0) is_ready({part.role, follower});
        }
      }
    }
    return left == 0;
  }

  /// A transfer that begins when its sender is ready, whether its receiver is or not.
  [[nodiscard]] bool is_eager(std::int32_t matched) const {
    const auto& collective = collectives_[position_of(roles_.collectives[position_of(matched)].matched.front())];
    return eager_ && collective.what.kind == CollectiveKind::point_to_point && collective.parts.size() == 2;
  }
  [[nodiscard]] bool receives(const RolePart& part) const {
    const auto matched = matched_[part.role][part.operation];
    if (matched < 0 || !is_eager(matched)) return false;
    const auto& rank = job_.ranks[position_of(roles_.representative[part.role])];
    const auto& event = rank.events[operation_of(part).event];
    return rank.collectives[event.collective].role == workloads::RecordedCollective::Role::receives;
  }

  /// The receiver's part of an eager transfer: it ends when the message is there.
  void receive(const RolePart& part, std::int32_t matched) {
    const auto id = made_.program.ops.next_id();
    const auto& operation = operation_of(part);
    ProgramOp op;
    op.vertex = id;
    op.priority = operation.priority;
    op.stage = part.role;
    op.streams = shared({stream("receives")});
    for (const auto before : operation.after) op.predecessors.push_back(operations_[part.role][before]);
    op.predecessors.push_back(sent_[position_of(matched)]);
    std::sort(op.predecessors.begin(), op.predecessors.end());
    op.predecessors.erase(std::unique(op.predecessors.begin(), op.predecessors.end()), op.predecessors.end());
    operations_[part.role][part.operation] = id;
    made_.program.ops.push_back(std::move(op));
  }

  void write(const std::vector<RolePart>& parts, std::int32_t matched) {
    const auto id = made_.program.ops.next_id();
    ProgramOp op;
    op.vertex = id;
    const auto& first = operation_of(parts.front());
    op.priority = first.priority;
    op.stage = parts.front().role;
    std::vector<program::StreamId> streams;
    for (const auto& part : parts) {
      const auto& operation = operation_of(part);
      for (const auto number : operation.streams) {
        // A transfer holds the sender's stream and the receiver's, each on its own rank only.
        const auto& name = work_of_role(part.role).streams[number];
        const auto on = stream(streams_apart_ ? name + " of role " + std::to_string(part.role) : name);
        if (std::find(streams.begin(), streams.end(), on) == streams.end()) streams.push_back(on);
      }
      for (const auto before : operation.after) op.predecessors.push_back(operations_[part.role][before]);
      operations_[part.role][part.operation] = id;
    }
    if (matched >= 0 && is_eager(matched)) {
      const auto& pair = collectives_[position_of(roles_.collectives[position_of(matched)].matched.front())].parts;
      streams = {stream("transfers " + std::to_string(pair.front().rank) + " " + std::to_string(pair.back().rank) +
                        (parts.front().role == pair.front().rank ? " up" : " down"))};
      sent_[position_of(matched)] = id;
    }
    op.streams = shared(streams);
    std::sort(op.predecessors.begin(), op.predecessors.end());
    op.predecessors.erase(std::unique(op.predecessors.begin(), op.predecessors.end()), op.predecessors.end());
    if (op.predecessors.size() > most_predecessors) {
      throw ConfigError({{{job_.ranks[position_of(roles_.representative[parts.front().role])].file, 0, 0},
                          "",
                          "an operation waits for " + std::to_string(op.predecessors.size()) + " others",
                          "at most " + std::to_string(most_predecessors)}});
    }
    if (matched < 0) {
      op.duration = first.pause + first.duration / (first.computes ? options_.clock : 1.0);
    } else {
      communicate(roles_.collectives[position_of(matched)], op);
    }
    made_.program.ops.push_back(std::move(op));
  }

  [[nodiscard]] const WorkOperation& operation_of(const RolePart& part) const {
    return work_of_role(part.role).operations[part.operation];
  }

  void communicate(const RoleCollective& collective, ProgramOp& op) {
    const auto& matched = collectives_[position_of(collective.matched.front())];
    auto& told = made_.collectives[position_of(collective.matched.front())];
    op.kind = ProgramOp::Kind::collective;
    std::vector<Ranks> groups;
    for (const auto one : collective.matched) {
      for (auto& members : shape_.groups(collectives_[position_of(one)])) groups.push_back(std::move(members));
    }
    auto on_network = simulated(matched, groups, told);
    Seconds pause = operation_of(collective.parts.front()).pause;
    for (const auto& part : collective.parts) pause = std::min(pause, operation_of(part).pause);
    if (on_network) {
      told.alone = on_network->alone;
      told.algorithm = on_network->algorithm;
    } else {
      on_network.emplace();
      on_network->communicator.name = "as recorded";
      for (const auto& members : groups) on_network->communicator.groups.push_back({members, {}});
      on_network->phases.push_back({matched.recorded, {}});
      told.alone = matched.recorded;
      told.algorithm = "as recorded";
    }
    if (on_network->phases.empty())
      on_network->phases.push_back({Seconds(0), std::vector<double>(position_of(on_network->communicator.slots), 0.0)});
    on_network->phases.front().latency += pause;
    op.closed_form = told.alone + pause;
    op.phases = std::move(on_network->phases);
    op.communicator = communicator(std::move(on_network->communicator), told, groups);
    for (const auto one : collective.matched) made_.collectives[position_of(one)] = told;
  }

  /// The collective on the network, if there is one and the trace tells enough.
  std::optional<NetworkCollective> simulated(const MatchedCollective& matched, const std::vector<Ranks>& groups,
                                             SimulatedCollective& told) {
    const auto& what = matched.what;
    told.members = static_cast<std::int32_t>(groups.front().size());
    if (!network_ && shape_.one_for_all() && what.kind) {
      const auto size = job_.groups[what.group].size;
      told.members = size > 0 ? size : shape_.world();
    }
    told.buffer = what.buffer;
    if (what.buffer && what.buffer_is_shard &&
        what.buffer->value() <= collectives::most_full_size.value() / std::max(1, told.members))
      told.buffer = *what.buffer * told.members;
    if (network_ && shape_.is_alone(what)) {  // of other data-parallel sizes: it has nobody left to communicate with
      NetworkCollective nothing;
      nothing.communicator.name = nothing.algorithm = "one rank";
      for (const auto& members : groups) nothing.communicator.groups.push_back({members, {}});
      return nothing;
    }
    if (!network_ || !what.kind || (!told.buffer && !what.full_size)) return std::nullopt;
    if (what.kind == CollectiveKind::point_to_point) return sent(matched, groups, told);
    if (told.members < 2) return std::nullopt;
    if (what.exchange && told.members == 2 && what.full_size)
      return network_->transfer(bounded(*what.full_size, 1, matched), pairs_of(groups, false), true);
    const auto full_size = what.full_size ? bounded(*what.full_size, 1, matched)
                                          : collectives::full_size_of(
                                                *what.kind, bounded(*told.buffer, told.members, matched), told.members);
    return network_->collective(*what.kind, full_size, groups, what.copies);
  }

  /// The bytes, refused if as many for each of the members are more than a collective may have.
  [[nodiscard]] Bytes bounded(Bytes bytes, std::int32_t members, const MatchedCollective& matched) const {
    if (bytes.value() > collectives::most_full_size.value() / members) {
      throw ConfigError({{{job_.ranks[position_of(matched.parts.front().rank)].file, 0, 0},
                          "",
                          "a collective of " + std::to_string(bytes.value()) + " bytes",
                          "at most 1e18 over all ranks"}});
    }
    return bytes;
  }

  std::optional<NetworkCollective> sent(const MatchedCollective& matched, const std::vector<Ranks>& groups,
                                        SimulatedCollective& told) {
    told.members = 2;
    if (matched.parts.size() != 2) {
      network_notes_.insert("Sends and receives whose other rank was not recorded keep their times.");
      return std::nullopt;
    }
    // Members are ascending, as the parts are; the sender may be either.
    const bool upward = matched.what.role == workloads::RecordedCollective::Role::sends;
    const auto size = matched.what.full_size ? *matched.what.full_size : *told.buffer;
    return network_->transfer(bounded(size, 1, matched), pairs_of(groups, !upward), false);
  }

  static RankPairs pairs_of(const std::vector<Ranks>& groups, bool turned) {
    RankPairs pairs;
    for (const auto& members : groups) pairs.emplace_back(members[turned ? 1 : 0], members[turned ? 0 : 1]);
    return pairs;
  }

  /// Collectives that differ in nothing but bytes share their communicator.
  program::CommunicatorId communicator(collectives::Communicator made, const SimulatedCollective& told,
                                       const std::vector<Ranks>& groups) {
    const auto algorithm = told.algorithm.substr(0, told.algorithm.find(" ("));
    const bool directed = algorithm == "send";  // one way or the other
    const auto [known, is_new] =
        directed ? std::pair(communicators_.end(), true)
                 : communicators_.try_emplace({algorithm, made.slots, groups}, made_.program.communicators.next_id());
    if (is_new) made_.program.communicators.push_back(std::move(made));
    return directed ? made_.program.communicators.next_id() - 1 : known->second;
  }

  /// Millions of operations are on a few lists of streams, which they share.
  const program::SharedList<program::StreamId>& shared(const std::vector<program::StreamId>& streams) {
    const auto [known, is_new] = stream_lists_.try_emplace(streams);
    if (is_new) known->second = streams;
    return known->second;
  }

  program::StreamId stream(const std::string& name) {
    const auto [known, is_new] = streams_.try_emplace(name, made_.program.streams.next_id());
    if (is_new) made_.program.streams.push_back(name);
    return known->second;
  }

  const workloads::RecordedJob& job_;
  const std::vector<RankWork>& works_;
  const std::vector<MatchedCollective>& collectives_;
  const ReplayOptions& options_;
  JobShape shape_;
  bool eager_;
  bool streams_apart_ = false;              // streams of one name on two ranks are not one
  std::vector<program::ProgramOpId> sent_;  // of eager transfers, by position in roles_.collectives; -1: not yet
  std::optional<JobNetwork> network_;
  ReplayProgram made_;
  Roles roles_;
  Indexed<RoleId, Indexed<WorkId, std::int32_t>> matched_;  // into roles_.collectives; -1: none
  Indexed<RoleId, Indexed<WorkId, program::ProgramOpId>> operations_;
  std::map<std::string, program::StreamId> streams_;
  std::map<std::vector<program::StreamId>, program::SharedList<program::StreamId>> stream_lists_;
  std::map<std::tuple<std::string, std::int32_t, std::vector<Ranks>>, program::CommunicatorId> communicators_;
  std::set<std::string> network_notes_;
};

}  // namespace

ReplayProgram replay_program(const workloads::RecordedJob& job, const std::vector<RankWork>& works,
                             const std::vector<MatchedCollective>& collectives, const ReplayOptions& options) {
  if (auto made = Writing(job, works, collectives, options, false).run()) return std::move(*made);
  // Where every rank sends before it receives, no send can wait for its receive.
  if (auto made = Writing(job, works, collectives, options, true).run()) {
    made->notes.emplace_back(
        "Sends do not wait for their receives, since ranks would wait for each other in a circle.");
    return std::move(*made);
  }
  throw ConfigError({{{job.ranks.front().file, 0, 0},
                      "",
                      "collectives of this job wait for each other in a circle",
                      "ranks that begin those of two groups in the same order"}});
}

}  // namespace lockstep::replay
