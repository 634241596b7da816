#include "workloads/traces/read_traces.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <map>
#include <set>
#include <system_error>

#include "sim/core/counted.hpp"
#include "sim/core/quantity_text.hpp"
#include "workloads/traces/host_traces_private.hpp"
#include "workloads/traces/json_lists_private.hpp"
#include "workloads/traces/peers_private.hpp"
#include "workloads/traces/trace_formats_private.hpp"

namespace lockstep::workloads {

namespace {

/// The number behind "rank" or "worker" in a file's name, or before its endings: 3 of "rank-3.json.gz",
/// "worker3_step_12.pt.json", "job.3.et" and "job.3.et.gz".
std::optional<std::int32_t> rank_in(const std::filesystem::path& file) {
  const auto name = (file.extension() == ".gz" ? file.stem() : file.filename()).string();
  for (const std::string_view word : {"rank", "worker"}) {
    auto at = name.find(word);
    if (at == std::string::npos) continue;
    at = name.find_first_not_of("-_.", at + word.size());
    std::int32_t rank = 0;
    if (at != std::string::npos &&
        std::from_chars(name.data() + at, name.data() + name.size(), rank).ec == std::errc() && rank >= 0 &&
        rank < most_recorded_ranks)
      return rank;
  }
  const auto stem = std::filesystem::path(name).stem().extension().string();  // ".3" of "job.3.et"
  std::int32_t rank = 0;
  if (stem.size() > 1 && stem.size() < 8 &&
      std::from_chars(stem.data() + 1, stem.data() + stem.size(), rank).ptr == stem.data() + stem.size() && rank >= 0)
    return rank;
  return std::nullopt;
}

/// Reads one trace into the job; its rank may say another number than its file's name or its place in the list.
void read_one(TraceText& text, const TraceFormat& format, JobWriter& writer, std::optional<std::int32_t> named,
              std::int32_t place) {
  auto& job = writer.job();
  if (!job.ranks.empty() && job.format != format.name) {
    throw ConfigError({{{text.name(), 0, 0},
                        "",
                        "is a " + std::string(format.name) + " trace, the others are of " + job.format,
                        "traces of one job and one kind"}});
  }
  job.format = format.name;
  writer.rank = {};
  writer.rank.rank = named.value_or(place);
  writer.rank.is_numbered = named.has_value();
  writer.rank.file = text.name();
  format.read(text, writer);
  job.dated = job.dated && writer.dated;
  job.kernels = job.kernels && writer.kernels;
}

void take_rank(JobWriter& writer) {
  auto& ranks = writer.job().ranks;
  for (const auto& other : ranks) {
    if (other.rank != writer.rank.rank) continue;
    throw ConfigError({{{writer.rank.file, 0, 0},
                        "",
                        "is of rank " + std::to_string(other.rank) + ", as is " + other.file,
                        "one trace of each rank"}});
  }
  if (writer.rank.events.empty()) {
    throw ConfigError({{{writer.rank.file, 0, 0},
                        "",
                        "the trace has neither kernels nor collectives",
                        "a trace of the device's work"}});
  }
  ranks.push_back(std::move(writer.rank));
}

void tell_overlaps(RecordedJob& job) {
  std::int64_t kernels = 0, ranks = 0;
  Seconds longest(0);
  for (const auto& rank : job.ranks) {
    kernels += rank.overlaps;
    ranks += rank.overlaps > 0 ? 1 : 0;
    longest = std::max(longest, rank.longest_overlap);
  }
  if (kernels == 0) return;
  job.guessed.push_back("On " + counted(ranks, "rank") + " " + counted(kernels, "kernel") +
                        (kernels == 1 ? " begins before the one before it on its stream ends, by "
                                      : " begin before the one before them on their stream ends, by up to ") +
                        format(longest) + (kernels == 1 ? "; it counts" : "; each counts") + " from that end.");
}

void finish(RecordedJob& job) {
  std::sort(job.ranks.begin(), job.ranks.end(), [](const auto& a, const auto& b) { return a.rank < b.rank; });
  if (job.world == 0) {
    for (const auto& rank : job.ranks) job.world = std::max(job.world, rank.rank + 1);
    for (const auto& group : job.groups) {
      job.world = std::max(job.world, group.size);
      for (const auto member : group.ranks) job.world = std::max(job.world, member + 1);
    }
  }
  Problems problems;
  for (const auto& rank : job.ranks) {
    if (rank.rank < job.world) continue;
    problems.add(
        {{rank.file, 0, 0},
         "",
         "is of rank " + std::to_string(rank.rank) + ", but the job has " + std::to_string(job.world) + " ranks",
         "traces of one job"});
  }
  problems.throw_if_any();
  complete_from_peers(job);
  tell_overlaps(job);
  check_members(job);
}

/// Those of the files that are execution traces, where others are not.
std::set<std::filesystem::path> execution_traces_beside(const std::vector<std::filesystem::path>& files) {
  std::set<std::filesystem::path> found;
  bool any_other = false;
  for (std::size_t i = 0; files.size() > 1 && i < files.size(); ++i) {
    try {
      const auto text = TraceText::of_file(files[i]);
      if (&format_of(*text) == &execution_trace_format)
        found.insert(files[i]);
      else
        any_other = any_other || &format_of(*text) == &kineto_format;
    } catch (const ConfigError&) {  // told when it is read
    }
  }
  return any_other ? found : std::set<std::filesystem::path>();
}

}  // namespace

RecordedJob read_traces(const std::vector<std::filesystem::path>& files, const TraceProgress& progress) {
  const auto beside = execution_traces_beside(files);
  RecordedJob job, host;
  JobWriter of_device(job), of_host(host);
  Problems problems;
  std::int32_t done = 0;
  std::array<std::int32_t, 2> places{};  // among the traces of the device and those of the host
  for (const auto& file : files) {
    const bool is_beside = beside.contains(file);
    auto& writer = is_beside ? of_host : of_device;
    try {
      const auto share = [&](double of_file) {
        if (progress) progress((done + std::min(of_file, 1.0)) / static_cast<double>(files.size()));
      };
      const auto text = TraceText::of_file(file, share);
      read_one(*text, format_of(*text), writer, rank_in(file), places[is_beside ? 1 : 0]++);
      take_rank(writer);
    } catch (const ConfigError& error) {
      for (const auto& problem : error.problems()) problems.add(problem);
    }
    ++done;
    if (progress) progress(static_cast<double>(done) / static_cast<double>(files.size()));
  }
  problems.throw_if_any();
  if (!beside.empty()) complete_collectives(job, host);
  finish(job);
  return job;
}

RecordedJob read_trace_bytes(std::string_view bytes, const std::string& name, std::string_view format) {
  RecordedJob job;
  JobWriter writer(job);
  const auto text = TraceText::of_bytes(bytes, name);
  const auto& known = trace_formats();
  const auto given =
      std::find_if(known.begin(), known.end(), [&](const TraceFormat* one) { return one->name == format; });
  read_one(*text, given == known.end() ? format_of(*text) : **given, writer, std::nullopt, 0);
  take_rank(writer);
  finish(job);
  return job;
}

void read_trace_groups(const std::filesystem::path& file, RecordedJob& job) {
  const auto text = TraceText::of_file(file);
  Problems problems;
  const auto take = [&](const JsonFields& fields) {
    for (const auto& field : fields.fields()) {
      const auto ranks = as_ranks(integers_in(field.text));
      if (field.kind != JsonFields::Kind::list || !ranks || ranks->empty() ||
          *std::max_element(ranks->begin(), ranks->end()) >= job.world) {
        problems.add({{text->name(), 0, 0},
                      field.key,
                      "is no list of ranks",
                      "different ranks from 0 to " + std::to_string(job.world - 1)});
        continue;
      }
      for (auto& group : job.groups) {
        if (group.name != field.key || !group.ranks.empty()) continue;
        group.ranks = *ranks;
        group.size = static_cast<std::int32_t>(ranks->size());
      }
    }
  };
  read_json_lists(*text, {{}, [](std::string_view, const JsonFields&, const Location&) {}, take});
  problems.throw_if_any();
  check_members(job);
}

}  // namespace lockstep::workloads
