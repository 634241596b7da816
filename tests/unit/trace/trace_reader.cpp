#include "tests/unit/trace/trace_reader.hpp"

#include <zlib.h>

#include <array>
#include <cmath>
#include <optional>
#include <stdexcept>

namespace lockstep {
namespace {

using nlohmann::json;

class Replay {
 public:
  ReadTrace run(json whole) {
    for (const auto& event : whole.at("traceEvents")) take(event);
    for (const auto& [thread, open] : open_) {
      if (open) fault("a span is never closed", open->begin);
    }
    trace_.whole = std::move(whole);
    return std::move(trace_);
  }

 private:
  void take(const json& event) {
    const auto phase = event.at("ph").get<std::string>();
    const Thread thread{event.at("pid").get<int>(), event.at("tid").get<int>()};
    if (phase == "M") return name(event, thread);
    if (phase == "C") return trace_.counters.push_back(event);
    const auto time = time_ns(event);
    if (auto& last = last_[thread]; time < last) {
      fault("time goes back", event);
    } else {
      last = time;
    }
    auto& open = open_[thread];
    if (phase == "B") {
      if (open) fault("a span begins inside another", event);
      open = ReadSpan{time, time, event};
    } else if (phase == "E") {
      if (!open) return fault("an end without a begin", event);
      open->end_ns = time;
      if (open->end_ns <= open->start_ns) fault("a span that takes no time", event);
      trace_.lanes[thread].push_back(*open);
      open.reset();
    } else if (phase == "i") {
      if (open) fault("an instant inside a span", event);
      trace_.lanes[thread].push_back({time, time, event});
    } else if (phase == "s" || phase == "f") {
      if (!open) return fault("an arrow without a span to bind to", event);
      (phase == "s" ? trace_.departures : trace_.arrivals)[event.at("id").get<std::int64_t>()].push_back(
          {time, open->op(), thread});
    } else {
      fault("an event of a kind not written here", event);
    }
  }

  void name(const json& event, Thread thread) {
    const auto what = event.at("name").get<std::string>();
    const auto& args = event.at("args");
    if (what == "process_name") trace_.processes[thread.first] = args.at("name");
    if (what == "process_labels") trace_.process_labels[thread.first] = args.at("labels");
    if (what == "process_sort_index") trace_.process_order[thread.first] = args.at("sort_index");
    if (what == "thread_name") trace_.threads[thread] = args.at("name");
    if (what == "thread_sort_index") trace_.thread_order[thread] = args.at("sort_index");
  }

  void fault(const std::string& what, const json& event) { trace_.faults.push_back(what + ": " + event.dump()); }

  ReadTrace trace_;
  std::map<Thread, std::optional<ReadSpan>> open_;
  std::map<Thread, std::int64_t> last_;
};

}  // namespace

std::vector<ReadSpan> ReadTrace::spans(const std::string& thread, int process) const {
  std::vector<ReadSpan> result;
  for (const auto& [lane, all] : lanes) {
    if (lane.first != process || threads.at(lane) != thread) continue;
    for (const auto& span : all) {
      if (span.start_ns < span.end_ns) result.push_back(span);
    }
  }
  return result;
}

std::int64_t time_ns(const json& event) { return std::llround(event.at("ts").get<double>() * 1000); }

std::string gunzip(const std::filesystem::path& file) {
  const auto stream = ::gzopen(file.c_str(), "rb");
  if (stream == nullptr) throw std::runtime_error("no such file: " + file.string());
  std::string text;
  std::array<char, 65536> buffer;
  int size = 0;
  while ((size = ::gzread(stream, buffer.data(), static_cast<unsigned>(buffer.size()))) > 0) {
    text.append(buffer.data(), static_cast<std::size_t>(size));
  }
  const bool compressed = ::gzdirect(stream) == 0;
  if (::gzclose(stream) != Z_OK || size < 0 || !compressed) throw std::runtime_error("not whole: " + file.string());
  return text;
}

ReadTrace read_trace(const std::filesystem::path& file) { return Replay().run(json::parse(gunzip(file))); }

}  // namespace lockstep
