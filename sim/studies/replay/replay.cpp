#include "sim/studies/replay/replay.hpp"

#include <algorithm>
#include <map>
#include <tuple>

#include "sim/core/quantity_text.hpp"
#include "sim/program/fold.hpp"
#include "sim/studies/replay/clocks.hpp"
#include "sim/studies/replay/replay_program.hpp"

namespace lockstep::replay {
namespace {

/// A rank's lane of the timeline beside what was recorded of it.
ReplayedRank replayed_rank(const workloads::RecordedRank& recorded, const RankWork& work, bool dated, Seconds later,
                           const Indexed<WorkId, program::ProgramOpId>& operations, std::int32_t lane,
                           const timeline::Timeline& timeline) {
  ReplayedRank made;
  made.rank = recorded.rank;
  made.file = recorded.file;
  made.gaps = work.gaps;
  made.counts = counts(recorded);
  made.later = later;
  if (dated) made.recorded = later + work.end - work.begin;
  Indexed<workloads::RecordedStreamId, ReplayedStream> streams(work.streams.size());
  for (const auto id : streams.ids()) streams[id].name = work.streams[id];
  for (const auto id : work.operations.ids()) {
    const auto& operation = work.operations[id];
    const auto end = timeline.span(operations[id], lane).end;
    made.simulated = std::max(made.simulated, end);
    for (const auto number : operation.streams) {
      auto& stream = streams[number];
      stream.simulated_end = std::max(stream.simulated_end, end);
      if (operation.event < 0) continue;
      const auto& event = recorded.events[operation.event];
      stream.busy += event.duration;
      if (dated)
        stream.recorded_end = std::max(stream.recorded_end, later + *event.start + event.duration - work.begin);
    }
  }
  for (auto& stream : streams) {
    if (stream.simulated_end > Seconds(0)) made.streams.push_back(std::move(stream));
  }
  return made;
}

std::vector<ReplayedCollective> table_of(const workloads::RecordedJob& job,
                                         const std::vector<MatchedCollective>& matched,
                                         const std::vector<SimulatedCollective>& simulated) {
  std::map<std::tuple<std::string, std::int32_t, Bytes, std::string>, ReplayedCollective> rows;
  for (std::size_t i = 0; i < matched.size(); ++i) {
    const auto& what = matched[i].what;
    const auto& group = job.groups[what.group];
    const auto text = group.description.empty() ? group.name : group.description;
    const auto kind = kind_text(what);
    auto& row = rows[{kind, simulated[i].members, simulated[i].buffer.value_or(Bytes(-1)), text}];
    row.kind = kind;
    row.members = simulated[i].members;
    row.bytes = simulated[i].buffer;
    row.group = text;
    ++row.count;
    row.recorded += matched[i].recorded;
    row.simulated += simulated[i].alone;
    row.algorithm = simulated[i].algorithm;
  }
  std::vector<ReplayedCollective> list;
  for (auto& [key, row] : rows) list.push_back(std::move(row));
  return list;
}

/// Collectives that the network did not time: those that keep their times, and those that have none.
void tell_untimed(const std::vector<MatchedCollective>& matched, const std::vector<SimulatedCollective>& simulated,
                  bool has_network, Replay& replay) {
  std::int64_t kept = 0;
  Seconds time(0);
  for (std::size_t i = 0; i < matched.size(); ++i) {
    if (simulated[i].algorithm != "as recorded" || simulated[i].members == 1) continue;
    if (!has_network && !(matched[i].recorded > Seconds(0))) ++replay.free_collectives;
    if (!has_network) continue;
    ++kept;
    time += matched[i].recorded;
  }
  const auto of_all = " of " + std::to_string(matched.size()) + " collectives ";
  if (replay.free_collectives > 0) {
    replay.notes.push_back(std::to_string(replay.free_collectives) + of_all +
                           "take no time here: the trace has no times for them; --cluster names a network that does.");
  }
  if (kept > 0) {
    replay.notes.push_back(std::to_string(kept) + of_all + "keep the times that were recorded, " + format(time) +
                           " in all: the trace does not tell their kind, size or members.");
  }
}

}  // namespace

Replay replay_job(const workloads::RecordedJob& job, const ReplayOptions& options, spdlog::logger& log) {
  std::vector<RankWork> works;
  for (const auto& rank : job.ranks) works.push_back(work_of(rank, job.dated));
  const auto matched = matched_collectives(job, works);
  const auto later = later_begins(job, works, matched);
  for (std::size_t rank = 0; rank < works.size(); ++rank) {
    for (auto& operation : works[rank].operations) {
      if (operation.after.empty()) operation.pause += later[rank];
    }
  }
  auto written = replay_program(job, works, matched, options);
  check(written.program);
  const auto folded =
      options.cluster != nullptr ? fold(std::move(written.program)) : unfolded(std::move(written.program));
  const auto kind = options.cluster != nullptr ? engine::EngineKind::max_min : engine::EngineKind::reference;
  const auto result = engine::run(folded.program, {kind, {}, false}, log);

  Replay replay;
  replay.world = written.world;
  replay.notes = std::move(written.notes);
  for (const auto& rank : job.ranks)
    replay.steps = std::max(replay.steps, static_cast<std::int64_t>(rank.steps.size()));
  for (std::size_t i = 0; i < job.ranks.size(); ++i) {
    const auto lane = folded.ranks.class_of_rank[static_cast<topologies::RankId>(i)];
    replay.ranks.push_back(
        replayed_rank(job.ranks[i], works[i], job.dated, later[i], written.operations[i], lane, result.timeline));
  }
  for (const auto& collective : matched) {
    for (const auto& part : collective.parts) {
      const auto position = position_of(part.rank);
      replay.ranks[position].waited += works[position].operations[part.operation].duration - collective.recorded;
    }
  }
  const auto steps = static_cast<double>(replay.steps);
  for (const auto& rank : replay.ranks) {
    if (rank.recorded)
      replay.recorded_step = std::max(replay.recorded_step.value_or(Seconds(0)), *rank.recorded / steps);
  }
  replay.step = result.timeline.makespan() / steps;
  replay.collectives = table_of(job, matched, written.collectives);
  tell_untimed(matched, written.collectives, options.cluster != nullptr, replay);
  return replay;
}

}  // namespace lockstep::replay
