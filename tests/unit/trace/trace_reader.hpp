#pragma once
/// Reads a Chrome trace as a viewer does: event by event, with a stack of open spans per thread.
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace lockstep {

using Thread = std::pair<int, int>;  ///< process, thread

struct ReadSpan {
  std::int64_t start_ns, end_ns;
  nlohmann::json begin;  ///< the event that opened it, or the instant
  [[nodiscard]] int op() const { return begin.at("args").at("op").get<int>(); }
};

/// One end of an arrow, with the span that it binds to.
struct ArrowEnd {
  std::int64_t time_ns;
  int op;
  Thread thread;
};

struct ReadTrace {
  nlohmann::json whole;
  std::map<int, std::string> processes, process_labels;
  std::map<Thread, std::string> threads;
  std::map<int, int> process_order;
  std::map<Thread, int> thread_order;
  std::map<Thread, std::vector<ReadSpan>> lanes;                       ///< instants included, in the order of the file
  std::map<std::int64_t, std::vector<ArrowEnd>> departures, arrivals;  ///< by id
  std::vector<nlohmann::json> counters;
  std::vector<std::string> faults;  ///< what a viewer would stumble over

  /// Spans of the thread with this name in the first process, instants left out.
  [[nodiscard]] std::vector<ReadSpan> spans(const std::string& thread, int process = 1) const;
};

[[nodiscard]] std::int64_t time_ns(const nlohmann::json& event);
[[nodiscard]] std::string gunzip(const std::filesystem::path& file);
[[nodiscard]] ReadTrace read_trace(const std::filesystem::path& file);

}  // namespace lockstep
