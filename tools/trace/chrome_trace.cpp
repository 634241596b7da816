#include "tools/trace/chrome_trace.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "tools/trace/gzip_file.hpp"
#include "tools/trace/json_text.hpp"
#include "tools/trace/lanes.hpp"
#include "tools/trace/op_text.hpp"
#include "tools/trace/shown_ranks.hpp"

namespace lockstep {
namespace {

constexpr std::size_t enough_to_write = 1u << 16;

class ChromeTrace {
 public:
  ChromeTrace(const std::filesystem::path& file, const Simulation& simulation, bool flows)
      : file_(file), simulation_(simulation), text_(simulation), flows_(flows) {}

  void write(const Scenario& scenario, int max_ranks) {
    auto ranks = distinct_ranks(simulation_);
    const auto distinct = ranks.size();
    ranks.resize(std::min(distinct, std::max(static_cast<std::size_t>(std::max(max_ranks, 1)), stages())));
    out_ = "{\"displayTimeUnit\":\"ms\",\"otherData\":{\"scenario\":";
    append_json(out_, scenario.name);
    out_ += ",\"distinct_ranks\":" + std::to_string(distinct) + ",\"shown_ranks\":" + std::to_string(ranks.size()) +
            "},\n\"traceEvents\":[";
    for (const auto& rank : ranks) write_process(rank);
    out_ += "\n]}\n";
    file_.write(out_);
    file_.finish();
  }

 private:
  /// Processes and threads count from 1: viewers keep 0 for the idle task.
  void write_process(const ShownRank& rank) {
    ++process_;
    const auto lanes = lanes_of(simulation_.program, simulation_.run.timeline, rank.rank);
    name_process(rank, lanes);
    if (flows_) connect(rank.rank);
    for (std::size_t stream = 0; stream < lanes.size(); ++stream)
      write_lane(static_cast<std::int32_t>(stream), lanes[stream]);
    if (process_ == 1 || stages() > 1) write_memory(rank.rank);
  }

  // ---- names -----------------------------------------------------------------------------------

  [[nodiscard]] std::size_t stages() const { return simulation_.metrics.stages.size(); }

  void name_process(const ShownRank& rank, const std::vector<TraceLane>& lanes) {
    std::string name = "rank " + std::to_string(rank.number);
    if (stages() > 1) name = "stage " + std::to_string(simulation_.program.stage_of_rank[static_cast<std::size_t>(rank.rank)]) + ", " + name;
    if (rank.alike > 1) name += " (x " + std::to_string(rank.alike) + ")";
    label("process_name", 0, "name", name);
    label("process_labels", 0, "labels", rank.alike == 1 ? "1 rank" : std::to_string(rank.alike) + " ranks alike");
    place("process_sort_index", 0, process_);
    const auto& streams = simulation_.program.streams;
    for (std::size_t stream = 0; stream < streams.size(); ++stream) {
      if (stages() > 1 && lanes[stream].empty()) continue;  // sends between other stages
      const auto thread = static_cast<std::int32_t>(stream) + 1;
      label("thread_name", thread, "name", streams[stream]);
      place("thread_sort_index", thread, thread);
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

  void write_lane(std::int32_t stream, const TraceLane& lane) {
    const auto thread = stream + 1;
    for (const auto& span : lane) {
      const bool instant = span.start_ns == span.end_ns;
      begin_event(instant ? 'i' : 'B', thread, span.start_ns);
      out_ += instant ? ",\"s\":\"t\"," : ",";
      text_.append(out_, span.op);
      out_ += '}';
      if (instant) continue;
      // Arrows bind to the span that is open: after its begin, before its end.
      const bool arrows =
          flows_ && simulation_.program.ops[static_cast<std::size_t>(span.op)].streams.front() == stream;
      if (arrows) write_arrows('f', thread, span.start_ns, arriving_[static_cast<std::size_t>(span.op)]);
      if (arrows) write_arrows('s', thread, span.end_ns, leaving_[static_cast<std::size_t>(span.op)]);
      begin_event('E', thread, span.end_ns);
      out_ += '}';
    }
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

  using FlowIds = std::vector<std::int64_t>;

  /// Numbers the dependencies between the spans of one rank; instants have nothing that an arrow could bind to.
  void connect(std::int32_t rank) {
    const auto& ops = simulation_.program.ops;
    arriving_.assign(ops.size(), {});
    leaving_.assign(ops.size(), {});
    for (std::size_t after = 0; after < ops.size(); ++after) {
      if (!has_span(static_cast<std::int32_t>(after), rank)) continue;
      for (const auto before : ops[after].predecessors) {
        if (!has_span(before, rank)) continue;
        arriving_[after].push_back(++flow_);
        leaving_[static_cast<std::size_t>(before)].push_back(flow_);
      }
    }
  }

  [[nodiscard]] bool has_span(std::int32_t op, std::int32_t rank) const {
    const auto& timeline = simulation_.run.timeline;
    if (!timeline.took_part(op, rank)) return false;
    const auto span = timeline.span(op, rank);
    return nanoseconds(span.start) < nanoseconds(span.end);
  }

  void write_arrows(char phase, std::int32_t thread, std::int64_t time_ns, const FlowIds& ids) {
    for (const auto id : ids) {
      begin_event(phase, thread, time_ns);
      out_ += ",\"name\":\"dependency\",\"cat\":\"dependency\",\"id\":";
      append_json(out_, id);
      out_ += phase == 'f' ? ",\"bp\":\"e\"}" : "}";
    }
  }

  // ---- memory ----------------------------------------------------------------------------------

  void write_memory(std::int32_t rank) {
    const auto curve = memory_curve(simulation_.preparation.step, simulation_.program, simulation_.run.timeline, rank);
    for (std::size_t i = 0; i < curve.size(); ++i) {
      const auto time = nanoseconds(curve[i].time);
      if (i + 1 < curve.size() && nanoseconds(curve[i + 1].time) == time) continue;  // the last of a nanosecond counts
      begin_event('C', 0, time);
      out_ += ",\"name\":\"memory (bytes)\",\"args\":{\"weights\":";
      append_json(out_, curve[i].weights.value());
      count("optimizer", curve[i].optimizer);
      count("gradients", curve[i].gradients);
      count("activations", curve[i].activations);
      count("other", curve[i].other);
      out_ += "}}";
    }
  }

  void count(std::string_view kind, Bytes size) {
    out_ += ",\"";
    out_ += kind;
    out_ += "\":";
    append_json(out_, size.value());
  }

  GzipFile file_;
  const Simulation& simulation_;
  OpText text_;
  bool flows_;
  std::string out_;
  bool first_ = true;
  std::int32_t process_ = 0;
  std::int64_t flow_ = 0;
  std::vector<FlowIds> arriving_, leaving_;  ///< by operation, of the current rank
};

}  // namespace

void write_chrome_trace(const std::filesystem::path& file, const Scenario& scenario, const Simulation& simulation,
                        const ChromeTraceOptions& options) {
  ChromeTrace(file, simulation, options.flows).write(scenario, options.max_ranks);
}

}  // namespace lockstep
