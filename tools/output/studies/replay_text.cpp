#include "tools/output/studies/replay_text.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "sim/core/counted.hpp"
#include "sim/core/quantity_text.hpp"
#include "tools/output/elements/json_document.hpp"
#include "tools/output/elements/table.hpp"

namespace lockstep::output {
namespace {

using Json = nlohmann::ordered_json;
constexpr std::size_t most_rows = 32;
// Letters of the first and of other columns that keep the tables below within 80 columns.
constexpr std::size_t widest_name = 16, widest_cell = 12;

std::optional<double> error_of(Seconds simulated, const std::optional<Seconds>& recorded) {
  if (!recorded || !(*recorded > Seconds(0))) return std::nullopt;
  return simulated / *recorded - 1;
}

std::string error_text(Seconds simulated, const std::optional<Seconds>& recorded) {
  const auto error = error_of(simulated, recorded);
  return error ? signed_percent(*error) : "";
}

std::string time_text(const std::optional<Seconds>& time) { return time ? format(*time) : ""; }

workloads::RecordedCounts total(const replay::Replay& replay) {
  workloads::RecordedCounts sum;
  for (const auto& rank : replay.ranks) {
    sum.kernels += rank.counts.kernels;
    sum.copies += rank.counts.copies;
    sum.collectives += rank.counts.collectives;
    sum.host += rank.counts.host;
    sum.dependences += rank.counts.dependences;
    sum.communicated += rank.counts.communicated;
    sum.kernel_time += rank.counts.kernel_time;
    sum.collective_time += rank.counts.collective_time;
  }
  return sum;
}

std::string more_ranks(const replay::Replay& replay) {
  return replay.ranks.size() > most_rows ? "and " + std::to_string(replay.ranks.size() - most_rows) + " more\n" : "";
}

std::string ranks_table(const replay::Replay& replay, std::size_t width) {
  Table table({"rank", "began later", "recorded", "replayed", "error", "waited for others"});
  for (std::size_t i = 0; i < std::min(replay.ranks.size(), most_rows); ++i) {
    const auto& rank = replay.ranks[i];
    table.add({std::to_string(rank.rank), format(rank.later), time_text(rank.recorded), format(rank.simulated),
               error_text(rank.simulated, rank.recorded), format(rank.waited)});
  }
  return table.to_string("", width) + more_ranks(replay);
}

std::string gaps_table(const replay::Replay& replay, std::size_t width) {
  Table table({"rank", "waits for launches", "for streams", "unexplained", "guessed"});
  for (std::size_t i = 0; i < std::min(replay.ranks.size(), most_rows); ++i) {
    const auto& rank = replay.ranks[i];
    table.add({std::to_string(rank.rank), format(rank.gaps.launch), format(rank.gaps.streams),
               format(rank.gaps.unexplained), std::to_string(rank.gaps.guessed)});
  }
  return table.to_string("", width) + more_ranks(replay);
}

std::string streams_table(const replay::ReplayedRank& rank, std::size_t width) {
  Table table({"stream of rank " + std::to_string(rank.rank), "busy", "recorded end", "replayed end", "error"});
  table.fold(2 * widest_name, 0);
  for (const auto& stream : rank.streams) {
    const auto recorded =
        rank.recorded && stream.recorded_end > Seconds(0) ? std::optional(stream.recorded_end) : std::nullopt;
    table.add({stream.name, format(stream.busy), time_text(recorded), format(stream.simulated_end),
               error_text(stream.simulated_end, recorded)});
  }
  return table.to_string("", width);
}

/// Of each stream of a rank what its time went to, as recorded and, below, as replayed.
std::string shares_table(const replay::ReplayedRank& rank, std::size_t width) {
  Table table({"rank " + std::to_string(rank.rank), "kernels", "collective", "launches", "streams", "ranks", "pauses"});
  table.fold(widest_name - 3, 0);
  const auto add = [&](const std::string& name, const replay::StreamShares& shares) {
    table.add({name, format(shares.kernels), format(shares.collectives), format(shares.launches),
               format(shares.streams), format(shares.ranks), format(shares.unexplained)});
  };
  for (const auto& stream : rank.streams) {
    if (stream.name == "host") continue;
    if (rank.recorded) add(stream.name, stream.recorded);
    add(rank.recorded ? "  replayed" : stream.name, stream.simulated);
  }
  return "what a stream's time goes to, and what it waits for:\n" + table.to_string("", width);
}

std::string pauses_table(const replay::Replay& replay, std::size_t width) {
  if (replay.pauses.empty()) return "";
  Table table({"pause", "rank", "stream", "until", "before"});
  table.align_left(4);
  for (const auto& pause : replay.pauses) {
    table.add({format(pause.length), std::to_string(pause.rank), pause.stream, format(pause.at),
               pause.before.substr(0, 2 * widest_cell + 4)});
  }
  return "\nlongest pauses that nothing explains:\n" + table.to_string("", width);
}

std::string collectives_table(const replay::Replay& replay, std::size_t width) {
  Table table({"collective", "ranks", "bytes", "times", "recorded", "replayed alone", "algorithm"});
  table.align_left(6);
  table.fold(widest_name, widest_cell);
  for (std::size_t i = 0; i < std::min(replay.collectives.size(), most_rows); ++i) {
    const auto& row = replay.collectives[i];
    table.add({row.kind + (row.group.empty() ? "" : " " + row.group), std::to_string(row.members),
               row.bytes ? std::to_string(row.bytes->value()) : "unknown", std::to_string(row.count),
               format(row.recorded), format(row.simulated), row.algorithm});
  }
  auto text = table.to_string("", width);
  if (replay.collectives.size() > most_rows)
    text += "and " + std::to_string(replay.collectives.size() - most_rows) + " more; --json has them all\n";
  return text;
}

std::string list(const std::string& title, const std::vector<std::string>& sentences) {
  std::string text;
  for (const auto& sentence : sentences) text += (text.empty() ? title + "\n" : "") + "  " + sentence + "\n";
  return text;
}

Json seconds(const std::optional<Seconds>& time) { return time ? Json(time->value()) : Json(); }

Json json_of(const replay::StreamShares& shares) {
  return {{"kernels_s", shares.kernels.value()},   {"collectives_s", shares.collectives.value()},
          {"launches_s", shares.launches.value()}, {"streams_s", shares.streams.value()},
          {"ranks_s", shares.ranks.value()},       {"unexplained_s", shares.unexplained.value()}};
}

Json json_of(const replay::ReplayedRank& rank) {
  Json streams = Json::array();
  for (const auto& stream : rank.streams) {
    streams.push_back({{"name", stream.name},
                       {"busy_s", stream.busy.value()},
                       {"recorded_end_s", rank.recorded ? Json(stream.recorded_end.value()) : Json()},
                       {"replayed_end_s", stream.simulated_end.value()},
                       {"recorded", rank.recorded ? json_of(stream.recorded) : Json()},
                       {"replayed", json_of(stream.simulated)}});
  }
  const auto error = error_of(rank.simulated, rank.recorded);
  return {{"rank", rank.rank},
          {"file", rank.file},
          {"began_later_s", rank.later.value()},
          {"recorded_s", seconds(rank.recorded)},
          {"replayed_s", rank.simulated.value()},
          {"first_kernel_s", rank.first.value()},
          {"error", error ? Json(*error) : Json()},
          {"waited_for_others_s", rank.waited.value()},
          {"gaps",
           {{"launches_s", rank.gaps.launch.value()},
            {"streams_s", rank.gaps.streams.value()},
            {"unexplained_s", rank.gaps.unexplained.value()},
            {"guessed_dependences", rank.gaps.guessed}}},
          {"kernels", rank.counts.kernels},
          {"copies", rank.counts.copies},
          {"collectives", rank.counts.collectives},
          {"host_operations", rank.counts.host},
          {"communicated_bytes", rank.counts.communicated.value()},
          {"kernel_time_s", rank.counts.kernel_time.value()},
          {"streams", std::move(streams)}};
}

}  // namespace

std::string trace_notes(const workloads::RecordedJob& job) {
  const auto notes = list("guessed:", job.guessed) + list("missing in the trace:", job.missing);
  return notes.empty() ? "" : "\n" + notes;
}

std::string replay_text(const workloads::RecordedJob& job, const replay::Replay& replay, const std::string& cluster,
                        std::size_t width) {
  const auto sum = total(replay);
  std::string text = job.format + " of " + counted(replay.ranks.size(), "rank") + " of " + std::to_string(job.world) +
                     ": " + counted(sum.kernels, "kernel") + ", " + counted(sum.copies, "copy", "copies") + ", " +
                     counted(sum.collectives, "collective");
  if (replay.steps > 1) text += ", " + counted(replay.steps, "step");
  text += "\non " +
          (cluster.empty() ? "the recorded machine: collectives take the least time that a member recorded"
                           : cluster + ", " + counted(replay.world, "rank")) +
          "\n";
  text += "step  " + format(replay.step);
  if (replay.recorded_step) {
    text += ", recorded " + format(*replay.recorded_step) + " (" + error_text(replay.step, replay.recorded_step) + ")";
  }
  if (replay.free_collectives > 0)
    text += "; without the time of " + counted(replay.free_collectives, "collective") + " (see below)";
  text += "\n\n" + ranks_table(replay, width) + "\n" + gaps_table(replay, width);
  if (!replay.ranks.empty())
    text += "\n" + streams_table(replay.ranks.front(), width) + "\n" + shares_table(replay.ranks.front(), width);
  text += pauses_table(replay, width);
  if (!replay.collectives.empty()) text += "\n" + collectives_table(replay, width);
  const auto notes = list("taken for granted:", replay.notes) + list("guessed:", job.guessed) +
                     list("missing in the trace:", job.missing);
  return text + (notes.empty() ? "" : "\n" + notes);
}

std::string against_text(const std::vector<replay::ComparedCollective>& rows, std::int32_t rank,
                         const std::string& scenario, const workloads::RecordedJob* job) {
  Table table({"collective", "ranks", "bytes", "recorded", "derived", "difference"});
  std::size_t differ = 0;
  for (const auto& row : rows) {
    const double more = row.recorded - row.derived;
    const bool agrees = std::abs(more) < 1e-6;
    if (!agrees) ++differ;
    table.add({row.kind, row.members > 0 ? std::to_string(row.members) : "unknown",
               row.bytes ? std::to_string(row.bytes->value()) : "unknown", fixed(row.recorded, 1),
               fixed(row.derived, 1), agrees ? "" : (more > 0 ? "+" : "") + fixed(more, 1)});
  }
  return "Collectives in a step of rank " + std::to_string(rank) + ", recorded and derived from " + scenario + ": " +
         (differ == 0 ? "all agree" : std::to_string(differ) + " of " + std::to_string(rows.size()) + " rows differ") +
         "\n\n" + table.to_string() + (job == nullptr ? "" : trace_notes(*job));
}

std::string against_json(const std::vector<replay::ComparedCollective>& rows, std::int32_t rank,
                         const std::string& scenario, const workloads::RecordedJob* job) {
  Json json = {{"rank", rank}, {"scenario", scenario}, {"collectives", Json::array()}};
  for (const auto& row : rows) {
    json["collectives"].push_back({{"kind", row.kind},
                                   {"ranks", row.members},
                                   {"bytes", row.bytes ? Json(row.bytes->value()) : Json()},
                                   {"recorded", row.recorded},
                                   {"derived", row.derived}});
  }
  if (job != nullptr) {
    json["guessed"] = job->guessed;
    json["missing"] = job->missing;
  }
  return json_document(json);
}

std::string replay_json(const workloads::RecordedJob& job, const replay::Replay& replay, const std::string& cluster) {
  const auto sum = total(replay);
  const auto error = error_of(replay.step, replay.recorded_step);
  Json json = {{"file_format", job.format},
               {"cluster", cluster.empty() ? Json() : Json(cluster)},
               {"recorded_ranks", replay.ranks.size()},
               {"world", replay.world},
               {"steps", replay.steps},
               {"step_time_s", replay.step.value()},
               {"recorded", {{"step_time_s", seconds(replay.recorded_step)}}},
               {"error", error ? Json(*error) : Json()},
               {"kernels", sum.kernels},
               {"copies", sum.copies},
               {"collective_operations", sum.collectives},
               {"communicated_bytes", sum.communicated.value()},
               {"kernel_time_s", sum.kernel_time.value()},
               {"collectives_without_time", replay.free_collectives},
               {"collectives", Json::array()},
               {"ranks", Json::array()},
               {"notes", replay.notes},
               {"guessed", job.guessed},
               {"missing", job.missing}};
  for (const auto& row : replay.collectives) {
    json["collectives"].push_back({{"kind", row.kind},
                                   {"ranks", row.members},
                                   {"bytes", row.bytes ? Json(row.bytes->value()) : Json()},
                                   {"group", row.group},
                                   {"count", row.count},
                                   {"recorded_s", row.recorded.value()},
                                   {"replayed_alone_s", row.simulated.value()},
                                   {"algorithm", row.algorithm}});
  }
  for (const auto& rank : replay.ranks) json["ranks"].push_back(json_of(rank));
  json["longest_pauses"] = Json::array();
  for (const auto& pause : replay.pauses) {
    json["longest_pauses"].push_back({{"rank", pause.rank},
                                      {"stream", pause.stream},
                                      {"before", pause.before},
                                      {"until_s", pause.at.value()},
                                      {"length_s", pause.length.value()}});
  }
  return json_document(json);
}

}  // namespace lockstep::output
