#include "sim/studies/calibration/nccl_log.hpp"

#include <charconv>
#include <fstream>
#include <set>
#include <sstream>

#include "sim/collectives/nccl_size.hpp"
#include "sim/core/readable_file.hpp"

namespace lockstep::calibration {
namespace {

constexpr std::int64_t most_ranks = 1'000'000;
constexpr std::size_t most_rows = 100'000;
constexpr std::int64_t most_bytes = 1'000'000'000'000;  // of one rank: times the most ranks it is most_full_size
constexpr double longest = 1e6;                         // seconds

/// "all_reduce_perf", "all_reduce", "AllReduce", "alltoall".
std::optional<workloads::CollectiveKind> kind_called(std::string_view text) {
  std::string word;
  for (const char c : text) {
    if (std::isalpha(static_cast<unsigned char>(c)) != 0)
      word += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  if (word.find("allreduce") != std::string::npos) return workloads::CollectiveKind::all_reduce;
  if (word.find("allgather") != std::string::npos) return workloads::CollectiveKind::all_gather;
  if (word.find("reducescatter") != std::string::npos) return workloads::CollectiveKind::reduce_scatter;
  if (word.find("alltoall") != std::string::npos) return workloads::CollectiveKind::all_to_all;
  return std::nullopt;
}

const std::string known_kinds = "one of all_reduce, all_gather, reduce_scatter, all_to_all";

std::vector<std::string> words_of(const std::string& line) {
  std::istringstream in(line);
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(std::move(word));
  return words;
}

std::optional<double> number(const std::string& word) {
  double value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc{} || end != word.data() + word.size() || !(value > 0)) return std::nullopt;
  return value;
}

class LogReader {
 public:
  LogReader(std::filesystem::path file, const NcclRun& run, Problems& problems)
      : file_(std::move(file)), run_(run), problems_(problems) {}

  std::vector<TimedCollective> read() {
    if (const auto why = why_unreadable(file_); !why.empty()) {
      problem(why, "the output of nccl-tests, or a CSV");
      return {};
    }
    std::ifstream in(file_);
    if (!run_.kind.empty()) kind_ = kind_called(run_.kind);
    for (std::string text; std::getline(in, text) && rows_.size() < most_rows;) {
      ++line_;
      const auto words = words_of(text);
      if (words.empty()) continue;
      if (words.front().starts_with('#')) {
        heading(text, words);
      } else {
        row(words);
      }
    }
    if (run_.kind.empty() && !kind_) kind_ = kind_called(file_.filename().string());
    return finished();
  }

 private:
  void problem(std::string what, std::string expected) {
    problems_.add({{file_.string(), line_, line_ > 0 ? 1 : 0}, "", std::move(what), std::move(expected)});
  }

  void heading(const std::string& text, const std::vector<std::string>& words) {
    if (run_.kind.empty() &&
        (text.find("Collective test starting") != std::string::npos || text.find("_perf") != std::string::npos)) {
      if (const auto named = kind_called(text)) kind_ = named;
    }
    // "#  Rank  3 Group  0 Pid  4711 on   node7 device  3 [0x86] NVIDIA H100"
    if (words.size() > 3 && words[1] == "Rank") {
      ++ranks_;
      for (std::size_t i = 2; i + 1 < words.size(); ++i) {
        if (words[i] == "on") hosts_.insert(words[i + 1]);
      }
    }
  }

  /// size count type [redop root], then time algbw busbw #wrong out of place and the same in place.
  void row(const std::vector<std::string>& words) {
    constexpr std::size_t fewest = 11, of_times = 8;
    if (words.size() < fewest) return;
    const auto size = number(words[0]), micros = number(words[words.size() - of_times]);
    if (!size || !micros) return;
    if (*size < 1 || *size > static_cast<double>(most_bytes))
      return problem("'" + words[0] + "' is not the size of a collective", "bytes, from 1 to 1e12");
    if (*micros * 1e-6 > longest)
      return problem("'" + words[words.size() - of_times] + "' is not the time of a collective",
                     "microseconds, at most 1e12");
    rows_.push_back({workloads::CollectiveKind::all_reduce,
                     0,
                     1,
                     Bytes(static_cast<std::int64_t>(*size)),
                     Seconds(*micros * 1e-6),
                     {file_.string(), line_, 1}});
  }

  std::vector<TimedCollective> finished() {
    line_ = 0;
    if (rows_.empty()) problem("has no rows of nccl-tests", "lines of size, count, type, time, algbw, busbw");
    if (!kind_) problem("does not say which collective ran", "--collective with " + known_kinds);
    const int nodes = run_.nodes > 0 ? run_.nodes : static_cast<int>(hosts_.size());
    if (ranks_ < 2 || nodes < 1)
      problem("does not say on how many ranks and nodes it ran", "its lines `# Rank  0 ... on HOST`, at least two");
    if (nodes > 0 && ranks_ % nodes != 0)
      problem(std::to_string(ranks_) + " ranks are not spread evenly over " + std::to_string(nodes) + " nodes",
              "as many ranks on each node");
    if (rows_.empty() || !kind_ || ranks_ < 2 || nodes < 1 || ranks_ % nodes != 0) return {};
    for (auto& row : rows_) {
      row.kind = *kind_;
      row.ranks = ranks_;
      row.nodes = nodes;
    }
    return std::move(rows_);
  }

  std::filesystem::path file_;
  const NcclRun& run_;
  Problems& problems_;
  int line_ = 0;
  std::optional<workloads::CollectiveKind> kind_;
  int ranks_ = 0;
  std::set<std::string> hosts_;
  std::vector<TimedCollective> rows_;
};

}  // namespace

std::vector<TimedCollective> read_nccl_log(const std::filesystem::path& file, const NcclRun& run, Problems& problems) {
  return LogReader(file, run, problems).read();
}

bool has_collective_columns(const CsvTable& table) { return table.has("collective") && table.has("ranks"); }

std::vector<TimedCollective> read_timed_collectives(const CsvTable& table) {
  std::vector<TimedCollective> timed;
  if (!table.require({"collective", "ranks", "nodes", "bytes", "seconds"})) return timed;
  for (const auto& row : table.rows()) {
    const auto kind = kind_called(row.text("collective"));
    if (!kind) row.problem("collective", "'" + row.text("collective") + "' is not known", known_kinds);
    const auto ranks = row.integer("ranks"), nodes = row.integer("nodes", 1);
    const auto bytes = row.integer("bytes");
    const auto seconds = row.number("seconds");
    if (!seconds) row.problem("seconds", "is missing", "the time of one collective");
    if (bytes > most_bytes)
      row.problem("bytes", "'" + row.text("bytes") + "' is not the size of a collective", "at most 1e12");
    if (seconds && *seconds > longest)
      row.problem("seconds", "'" + row.text("seconds") + "' is not the time of a collective", "seconds, at most 1e6");
    if (ranks < 2 || ranks > most_ranks || ranks % nodes != 0)
      row.problem("ranks", std::to_string(ranks) + " ranks on " + std::to_string(nodes) + " nodes",
                  "at least 2, as many on each node");
    if (kind && seconds && *seconds <= longest && bytes <= most_bytes && ranks >= 2 && ranks <= most_ranks &&
        ranks % nodes == 0) {
      timed.push_back(
          {*kind, static_cast<int>(ranks), static_cast<int>(nodes), Bytes(bytes), Seconds(*seconds), row.where()});
    }
  }
  return timed;
}

}  // namespace lockstep::calibration
