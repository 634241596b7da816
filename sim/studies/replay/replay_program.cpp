#include "sim/studies/replay/replay_program.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <queue>
#include <set>

#include "sim/collectives/nccl_size.hpp"
#include "sim/core/errors.hpp"
#include "sim/studies/replay/job_shape.hpp"

namespace lockstep::replay {
namespace {

using program::ProgramOp;
using workloads::CollectiveKind;

class Writing {
 public:
  Writing(const workloads::RecordedJob& job, const std::vector<RankWork>& works,
          const std::vector<MatchedCollective>& collectives, const ReplayOptions& options)
      : job_(job), works_(works), collectives_(collectives), options_(options), shape_(job, options) {
    if (options.cluster != nullptr) network_.emplace(*options.cluster, options.rules);
  }

  ReplayProgram run() {
    made_.world = shape_.world();
    made_.notes = shape_.notes();
    auto& program = made_.program;
    (void)stream("compute");
    for (std::int32_t rank = 0; rank < shape_.ranks(); ++rank)
      program.stage_of_rank.push_back(shape_.one_for_all() ? 0 : rank);
    program.slowdown_of_rank.assign(program.stage_of_rank.size(), 1.0);
    if (options_.cluster != nullptr) {
      for (topologies::LinkId link = 0; link < options_.cluster->links(); ++link)
        program.links.push_back(options_.cluster->link(link).bandwidth);
    }
    made_.collectives.resize(collectives_.size());
    matched_.resize(works_.size());
    for (std::size_t rank = 0; rank < works_.size(); ++rank) {
      made_.operations.emplace_back(works_[rank].operations.size(), -1);
      matched_[rank].assign(works_[rank].operations.size(), -1);
    }
    for (std::size_t i = 0; i < collectives_.size(); ++i) {
      for (const auto& part : collectives_[i].parts)
        matched_[position_of(part.rank)][part.operation] = static_cast<std::int32_t>(i);
    }
    write_in_order();
    for (const auto& note : network_notes_) made_.notes.push_back(note);
    return std::move(made_);
  }

 private:
  /// Operations in an order in which each comes after those that it waits for, collectives on all of their ranks at
  /// once: of those that could be next, the one that stands earliest in its rank.
  void write_in_order() {
    using Place = std::pair<WorkId, std::int32_t>;  // operation, rank
    std::vector<Indexed<WorkId, std::int32_t>> waits(works_.size());
    std::vector<Indexed<WorkId, std::vector<WorkId>>> followers(works_.size());
    std::vector<std::size_t> missing;  // parts of a collective that are not ready
    for (const auto& collective : collectives_) missing.push_back(collective.parts.size());
    std::priority_queue<Place, std::vector<Place>, std::greater<>> ready;
    const auto is_ready = [&](std::int32_t rank, WorkId id) {
      const auto matched = matched_[position_of(rank)][id];
      if (matched >= 0 && --missing[position_of(matched)] > 0) return;
      ready.emplace(id, rank);
    };
    std::size_t left = 0;
    for (std::int32_t rank = 0; std::cmp_less(rank, works_.size()); ++rank) {
      const auto& operations = works_[position_of(rank)].operations;
      left += operations.size();
      waits[position_of(rank)].assign(operations.size(), 0);
      followers[position_of(rank)].resize(operations.size());
      for (const auto id : operations.ids()) {
        for (const auto before : operations[id].after) followers[position_of(rank)][before].push_back(id);
        waits[position_of(rank)][id] = static_cast<std::int32_t>(operations[id].after.size());
      }
    }
    for (std::int32_t rank = 0; std::cmp_less(rank, works_.size()); ++rank) {
      for (const auto id : works_[position_of(rank)].operations.ids()) {
        if (waits[position_of(rank)][id] == 0) is_ready(rank, id);
      }
    }
    while (!ready.empty()) {
      const auto [id, rank] = ready.top();
      ready.pop();
      const auto matched = matched_[position_of(rank)][id];
      const std::vector<MatchedPart> alone{{rank, id}};
      const auto& parts = matched < 0 ? alone : collectives_[position_of(matched)].parts;
      write(parts, matched);
      left -= parts.size();
      for (const auto& part : parts) {
        for (const auto follower : followers[position_of(part.rank)][part.operation]) {
          if (--waits[position_of(part.rank)][follower] == 0) is_ready(part.rank, follower);
        }
      }
    }
    if (left > 0) {
      throw ConfigError({{{job_.ranks.front().file, 0, 0},
                          "",
                          "collectives of this job wait for each other in a circle",
                          "ranks that begin those of two groups in the same order"}});
    }
  }

  void write(const std::vector<MatchedPart>& parts, std::int32_t matched) {
    const auto id = made_.program.ops.next_id();
    ProgramOp op;
    op.vertex = id;
    const auto& first = operation_of(parts.front());
    op.priority = first.priority;
    op.stage = shape_.one_for_all() ? 0 : parts.front().rank;
    std::vector<program::StreamId> streams;
    for (const auto& part : parts) {
      const auto& operation = operation_of(part);
      for (const auto number : operation.streams) {
        const auto on = stream(works_[position_of(part.rank)].streams[number]);
        if (std::find(streams.begin(), streams.end(), on) == streams.end()) streams.push_back(on);
      }
      for (const auto before : operation.after)
        op.predecessors.push_back(made_.operations[position_of(part.rank)][before]);
      made_.operations[position_of(part.rank)][part.operation] = id;
    }
    op.streams = std::move(streams);
    std::sort(op.predecessors.begin(), op.predecessors.end());
    op.predecessors.erase(std::unique(op.predecessors.begin(), op.predecessors.end()), op.predecessors.end());
    if (matched < 0) {
      op.duration = first.pause + first.duration / (first.computes ? options_.clock : 1.0);
    } else {
      communicate(matched, op);
    }
    made_.program.ops.push_back(std::move(op));
  }

  [[nodiscard]] const WorkOperation& operation_of(const MatchedPart& part) const {
    return works_[position_of(part.rank)].operations[part.operation];
  }

  void communicate(std::int32_t number, ProgramOp& op) {
    const auto& matched = collectives_[position_of(number)];
    auto& told = made_.collectives[position_of(number)];
    op.kind = ProgramOp::Kind::collective;
    const auto groups = shape_.groups(matched);
    auto on_network = simulated(matched, groups, told);
    Seconds pause = operation_of(matched.parts.front()).pause;
    for (const auto& part : matched.parts) pause = std::min(pause, operation_of(part).pause);
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
  }

  /// The collective on the network, if there is one and the trace tells enough.
  std::optional<NetworkCollective> simulated(const MatchedCollective& matched, const std::vector<Ranks>& groups,
                                             SimulatedCollective& told) {
    const auto& what = matched.what;
    told.members = static_cast<std::int32_t>(groups.front().size());
    if (!network_ && shape_.one_for_all() && what.kind) told.members = job_.groups[what.group].size;
    told.buffer = what.buffer;
    if (what.buffer && what.buffer_is_shard &&
        what.buffer->value() <= collectives::most_full_size.value() / std::max(1, told.members))
      told.buffer = *what.buffer * told.members;
    if (!network_ || !what.kind || (!told.buffer && !what.full_size)) return std::nullopt;
    if (what.kind == CollectiveKind::point_to_point) return sent(matched, told);
    if (told.members < 2) return std::nullopt;
    const auto full_size = what.full_size ? *what.full_size : bounded(*what.kind, *told.buffer, told.members, matched);
    return network_->collective(*what.kind, full_size, groups);
  }

  [[nodiscard]] Bytes bounded(CollectiveKind kind, Bytes buffer, std::int32_t members,
                              const MatchedCollective& matched) const {
    if (buffer.value() > collectives::most_full_size.value() / members) {
      throw ConfigError({{{job_.ranks[position_of(matched.parts.front().rank)].file, 0, 0},
                          "",
                          "a collective of " + std::to_string(buffer.value()) + " bytes",
                          "at most 1e18 over all ranks"}});
    }
    return collectives::full_size_of(kind, buffer, members);
  }

  std::optional<NetworkCollective> sent(const MatchedCollective& matched, SimulatedCollective& told) {
    told.members = 2;
    if (matched.parts.size() != 2) {
      network_notes_.insert("Sends and receives whose other rank was not recorded keep their times.");
      return std::nullopt;
    }
    const bool first_sends = matched.what.role == workloads::RecordedCollective::Role::sends;
    const auto one = matched.parts[0].rank, other = matched.parts[1].rank;
    return network_->transfer(*told.buffer, first_sends ? one : other, first_sends ? other : one);
  }

  /// Collectives that differ in nothing but bytes share their communicator.
  program::CommunicatorId communicator(collectives::Communicator made, const SimulatedCollective& told,
                                       const std::vector<Ranks>& groups) {
    const auto algorithm = told.algorithm.substr(0, told.algorithm.find(" ("));
    const bool directed = algorithm == "send";
    const auto [known, is_new] =
        directed ? std::pair(communicators_.end(), true)
                 : communicators_.try_emplace({algorithm, made.slots, groups}, made_.program.communicators.next_id());
    if (is_new) made_.program.communicators.push_back(std::move(made));
    return directed ? made_.program.communicators.next_id() - 1 : known->second;
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
  std::optional<JobNetwork> network_;
  ReplayProgram made_;
  std::vector<Indexed<WorkId, std::int32_t>> matched_;
  std::map<std::string, program::StreamId> streams_;
  std::map<std::tuple<std::string, std::int32_t, std::vector<Ranks>>, program::CommunicatorId> communicators_;
  std::set<std::string> network_notes_;
};

}  // namespace

ReplayProgram replay_program(const workloads::RecordedJob& job, const std::vector<RankWork>& works,
                             const std::vector<MatchedCollective>& collectives, const ReplayOptions& options) {
  return Writing(job, works, collectives, options).run();
}

}  // namespace lockstep::replay
