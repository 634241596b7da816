#include "sim/studies/replay/replay.hpp"

#include <algorithm>
#include <map>
#include <tuple>

#include "sim/core/quantity_text.hpp"
#include "sim/program/fold.hpp"
#include "sim/studies/replay/clocks.hpp"
#include "sim/studies/replay/lanes.hpp"
#include "sim/studies/replay/replay_program.hpp"

namespace lockstep::replay {
namespace {

using Key = std::tuple<std::string, std::int32_t, Bytes, std::string>;

/// The table, and which of its rows each matched collective is.
std::pair<std::vector<ReplayedCollective>, std::vector<std::int32_t>> table_of(
    const workloads::RecordedJob& job, const std::vector<MatchedCollective>& matched,
    const std::vector<SimulatedCollective>& simulated) {
  std::map<Key, ReplayedCollective> rows;
  std::vector<Key> keys;
  for (std::size_t i = 0; i < matched.size(); ++i) {
    const auto& what = matched[i].what;
    const auto& group = job.groups[what.group];
    const auto text = group.description.empty() ? group.name : group.description;
    const auto kind = kind_text(what);
    keys.emplace_back(kind, simulated[i].members, simulated[i].buffer.value_or(Bytes(-1)), text);
    auto& row = rows[keys.back()];
    row.kind = kind;
    row.members = simulated[i].members;
    row.bytes = simulated[i].buffer;
    row.group = text;
    ++row.count;
    row.recorded += matched[i].recorded;
    row.simulated += simulated[i].alone;
    row.algorithm = simulated[i].algorithm;
  }
  std::map<Key, std::int32_t> place;
  std::vector<ReplayedCollective> list;
  for (auto& [key, row] : rows) {
    place.emplace(key, static_cast<std::int32_t>(list.size()));
    list.push_back(std::move(row));
  }
  std::vector<std::int32_t> places;
  for (const auto& key : keys) places.push_back(place.at(key));
  return {std::move(list), std::move(places)};
}

/// The longest pauses that nothing explains, of all ranks.
std::vector<LongPause> long_pauses(const workloads::RecordedJob& job, const std::vector<RankWork>& works,
                                   const std::vector<Seconds>& later) {
  constexpr std::size_t most = 5;
  constexpr Seconds least(20e-6);
  std::vector<LongPause> pauses;
  for (std::size_t i = 0; i < works.size() && job.dated; ++i) {
    const auto& rank = job.ranks[i];
    for (const auto& operation : works[i].operations) {
      if (operation.event < 0 || operation.pause < least) continue;
      const auto& event = rank.events[operation.event];
      pauses.push_back({rank.rank, rank.streams[event.stream], job.names[event.name],
                        later[i] + *event.start - works[i].begin, operation.pause});
    }
  }
  std::stable_sort(pauses.begin(), pauses.end(),
                   [](const LongPause& a, const LongPause& b) { return a.length > b.length; });
  pauses.resize(std::min(pauses.size(), most));
  return pauses;
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
  auto pauses = long_pauses(job, works, later);
  for (std::size_t rank = 0; rank < works.size(); ++rank) {
    for (auto& operation : works[rank].operations) {
      operation.recorded_pause = operation.pause;
      if (operation.pause > options.longest_pause) operation.pause = Seconds(0);
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
  replay.pauses = std::move(pauses);
  auto [table, rows] = table_of(job, matched, written.collectives);
  replay.collectives = std::move(table);
  std::vector<RecordedLanes> recorded;
  for (std::size_t i = 0; i < job.ranks.size(); ++i) {
    const auto count = works[i].operations.size();
    recorded.push_back({job.ranks[i], works[i], job.dated, later[i], Indexed<WorkId, std::int32_t>(count, -1),
                        Indexed<WorkId, Seconds>(count, Seconds(0))});
  }
  for (std::size_t i = 0; i < matched.size(); ++i) {
    for (const auto& part : matched[i].parts) {
      recorded[position_of(part.rank)].collective[part.operation] = rows[i];
      recorded[position_of(part.rank)].least[part.operation] = matched[i].recorded;
    }
  }
  for (std::size_t i = 0; i < job.ranks.size(); ++i) {
    auto& made = replay.ranks.emplace_back();
    made.rank = job.ranks[i].rank;
    made.file = job.ranks[i].file;
    made.gaps = works[i].gaps;
    made.counts = counts(job.ranks[i]);
    made.later = later[i];
    if (job.dated) made.recorded = later[i] + works[i].end - works[i].begin;
    const auto lane = folded.ranks.class_of_rank[static_cast<topologies::RankId>(i)];
    fill_lanes(recorded[i], {written.operations[i], lane, result.timeline}, options.keep_spans, made);
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
  tell_untimed(matched, written.collectives, options.cluster != nullptr, replay);
  return replay;
}

}  // namespace lockstep::replay
