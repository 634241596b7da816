#include "tools/trace/chrome_trace.hpp"

#include <string>
#include <variant>
#include <vector>

#include "tools/trace/gzip_file.hpp"
#include "tools/trace/json_text.hpp"
#include "tools/trace/op_text.hpp"
#include "tools/trace/trace_content.hpp"
#include "workloads/sharding/joined_axes.hpp"

namespace lockstep::trace {
namespace {

constexpr std::size_t enough_to_write = 1u << 16;

class ChromeTrace {
 public:
  ChromeTrace(output::NewFile& file, const Simulation& simulation, const TraceOptions& options)
      : file_(file),
        content_(simulation, options),
        step_time_(simulation.run.timeline.makespan()),
        text_(simulation),
        arrows_(simulation),
        flows_(options.flows) {}

  void write(const scenario::Scenario& scenario) {
    out_ = "{\"displayTimeUnit\":\"ms\",\"otherData\":{\"scenario\":";
    append_json(out_, scenario.name);
    out_ += ",\"distinct_ranks\":" + std::to_string(content_.distinct_ranks()) +
            ",\"shown_ranks\":" + std::to_string(content_.processes()) + "},\n\"traceEvents\":[";
    for (std::size_t index = 0; index < content_.processes(); ++index) write_process(content_.process(index));
    write_links();
    out_ += "\n]}\n";
    file_.write(out_);
    file_.finish();
  }

 private:
  /// Processes and threads count from 1: viewers keep 0 for the idle task.
  void write_process(const TraceProcess& process) {
    ++process_;
    name_process(process);
    if (flows_) arrows_.connect(process.rank);
    for (const auto& lane : process.lanes) write_lane(lane);
    if (process.shows_memory) write_memory(process.rank);
  }

  // ---- names -----------------------------------------------------------------------------------

  void name_process(const TraceProcess& process) {
    label("process_name", 0, "name", process.name);
    label("process_labels", 0, "labels", process.alike);
    place("process_sort_index", 0, process_);
    for (const auto& lane : process.lanes) {
      label("thread_name", lane.stream + 1, "name", lane.name);
      place("thread_sort_index", lane.stream + 1, lane.stream + 1);
    }
  }

  void label(std::string_view what, std::int32_t thread, std::string_view key, std::string_view value) {
    begin_metadata(what, thread, key);
    append_json(out_, value);
    out_ += "}}";
  }

  void place(std::string_view what, std::int32_t thread, std::int32_t index) {
    begin_metadata(what, thread, "sort_index");
    append_json(out_, std::int64_t{index});
    out_ += "}}";
  }

  void begin_metadata(std::string_view what, std::int32_t thread, std::string_view key) {
    begin_event('M', thread);
    out_ += ",\"name\":\"";
    out_ += what;
    out_ += "\",\"args\":{\"";
    out_ += key;
    out_ += "\":";
  }

  // ---- spans -----------------------------------------------------------------------------------

  void write_lane(const TraceProcess::Lane& lane) {
    const auto thread = lane.stream + 1;
    for (const auto& span : lane.spans) {
      const bool instant = span.start_ns == span.end_ns;
      begin_event(instant ? 'i' : 'B', thread, span.start_ns);
      out_ += instant ? ",\"s\":\"t\"," : ",";
      write_words(span);
      if (instant) continue;
      // Arrows bind to the span that is open: after its begin, before its end.
      const bool arrows = flows_ && arrows_.on_lane(span.op, lane.stream);
      if (arrows) write_arrows('f', thread, span.start_ns, arrows_.arriving(text_.number(span)));
      if (arrows) write_arrows('s', thread, span.end_ns, arrows_.leaving(text_.number(span)));
      begin_event('E', thread, span.end_ns);
      out_ += '}';
    }
  }

  /// All of a begin or an instant that the operation says, and the end of the event.
  void write_words(const LaneSpan& span) {
    const auto phrase = text_.phrase(span.op);
    if (phrase == phrases_.size()) phrases_.push_back(encoded(text_.words(span.op)));
    out_ += "\"args\":{\"op\":";
    append_json(out_, text_.number(span));
    out_ += ",\"microbatch\":";
    append_json(out_, text_.microbatch(span));
    out_ += phrases_[phrase];
  }

  static std::string encoded(const OpWords& words) {
    std::string out;
    for (const auto& [key, value, told] : words.arguments) {
      out += ',';
      append_json(out, key);
      out += ':';
      std::visit([&](const auto& it) { append_json(out, it); }, value);
    }
    out += "},\"name\":";
    append_json(out, words.name);
    out += ",\"cat\":";
    append_json(out, workloads::joined(words.categories, ","));
    out += ",\"cname\":";
    append_json(out, words.colour);
    out += '}';
    return out;
  }

  /// `"ph":...,"pid":...,"tid":...` of the next event, after writing out what is complete.
  void begin_event(char phase, std::int32_t thread) {
    if (out_.size() > enough_to_write) {
      file_.write(out_);
      out_.clear();
    }
    out_ += first_ ? "\n{\"ph\":\"" : ",\n{\"ph\":\"";
    first_ = false;
    out_ += phase;
    out_ += "\",\"pid\":";
    append_json(out_, std::int64_t{process_});
    out_ += ",\"tid\":";
    append_json(out_, std::int64_t{thread});
  }

  void begin_event(char phase, std::int32_t thread, std::int64_t time_ns) {
    begin_event(phase, thread);
    out_ += ",\"ts\":";
    append_microseconds(out_, time_ns);
  }

  // ---- arrows ----------------------------------------------------------------------------------

  void write_arrows(char phase, std::int32_t thread, std::int64_t time_ns, const TraceArrows::Ids& ids) {
    for (const auto id : ids) {
      begin_event(phase, thread, time_ns);
      out_ += ",\"name\":\"dependency\",\"cat\":\"dependency\",\"id\":";
      append_json(out_, id);
      out_ += phase == 'f' ? ",\"bp\":\"e\"}" : "}";
    }
  }

  // ---- counters --------------------------------------------------------------------------------

  void write_memory(std::int32_t rank) {
    for (const auto& [time, point] : content_.memory(rank)) {
      begin_event('C', 0, time);
      out_ += ",\"name\":\"memory (bytes)\",\"args\":{";
      std::string separator;
      for (const auto kind : workloads::all_memory_kinds) {
        if (kind == workloads::MemoryKind::host) continue;
        out_ += std::exchange(separator, ",") + "\"" + std::string(name(kind)) + "\":";
        append_json(out_, point.of(kind).value());
      }
      out_ += "}}";
    }
  }

  void write_links() {
    const auto links = content_.links();
    if (links.empty()) return;
    ++process_;
    label("process_name", 0, "name", "links");
    place("process_sort_index", 0, process_);
    for (const auto& link : links) {
      for (std::size_t part = 0; part < link.share.size(); ++part) {
        begin_event('C', 0,
                    nanoseconds(step_time_ * (static_cast<double>(part) / static_cast<double>(link.share.size()))));
        out_ += ",\"name\":";
        append_json(out_, link.name);
        out_ += ",\"args\":{\"share\":";
        append_json(out_, link.share[part]);
        out_ += "}}";
      }
    }
  }

  GzipFile file_;
  TraceContent content_;
  Seconds step_time_;
  OpText text_;
  TraceArrows arrows_;
  bool flows_;
  std::vector<std::string> phrases_;  ///< encoded, by number
  std::string out_;
  bool first_ = true;
  std::int32_t process_ = 0;
};

}  // namespace

void write_chrome_trace(output::NewFiles& files, const std::filesystem::path& place, const scenario::Scenario& scenario,
                        const Simulation& simulation, const TraceOptions& options) {
  auto& file = files.open(place);
  ChromeTrace(file, simulation, options).write(scenario);
  file.close();
}

}  // namespace lockstep::trace
