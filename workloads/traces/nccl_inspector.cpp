// NCCL's inspector: one JSON object a line for each collective of a communicator. Its size is that of a rank's part of
// an all-gather or reduce-scatter, of which its bandwidth counts one for each rank.
#include "workloads/traces/collective_log_private.hpp"
#include "workloads/traces/json_lists_private.hpp"

namespace lockstep::workloads {
namespace {

constexpr std::size_t most_lines = 20'000'000;

bool recognises(std::string_view head) { return head.find("\"coll_perf\"") != std::string_view::npos; }

class Reading {
 public:
  Reading(TraceText& text, JobWriter& writer) : text_(text), writer_(writer), log_(writer) {}

  void run() {
    const JsonLists document{{}, {}, [&](const JsonFields& line) { take(line); }};
    read_json_lists(text_, document, true);
  }

 private:
  void take(const JsonFields& line) {
    if (++lines_ > most_lines) text_.refuse("has too many lines", "at most 20 million");
    if (line.find("coll_perf.coll") == nullptr) return;  // statistics and transfers stand between collectives
    const auto refuse = [&](std::string key, std::string what, std::string expected) {
      throw ConfigError({{text_.place(), std::move(key), std::move(what), std::move(expected)}});
    };
    const auto members = line.integer("header.n_ranks").value_or(0);
    if (members < 1 || members > most_recorded_ranks)
      refuse("header.n_ranks", "the communicator has " + std::to_string(members) + " ranks", "at least 1");
    const auto rank = line.integer("header.rank").value_or(-1);
    if (rank < 0 || rank >= members)
      refuse("header.rank", "rank " + std::to_string(rank) + " of " + std::to_string(members), "one of its ranks");
    const auto micros = line.number("coll_perf.coll_exec_time_us");
    if (!micros || *micros < 0 || *micros > 1e15)
      refuse("coll_perf.coll_exec_time_us", "is no duration", "microseconds from 0 up");
    const auto size = line.integer("coll_perf.coll_msg_size_bytes");
    if (size && *size < 0) refuse("coll_perf.coll_msg_size_bytes", "a negative size", "bytes from 0 up");
    const auto id = line.text("header.id");
    RecordedCollective made;
    const auto word = collective_named(line.text("coll_perf.coll"));
    made.kind = word.kind;
    if (made.kind == CollectiveKind::point_to_point) made.kind.reset();
    made.group = writer_.group({std::string(id), "", {}, static_cast<std::int32_t>(members)});
    if (size) made.buffer = Bytes(*size);
    made.buffer_is_shard = made.kind == CollectiveKind::all_gather || made.kind == CollectiveKind::reduce_scatter;
    log_.add(line.text("coll_perf.coll"), made, Seconds(*micros * 1e-6));
    if (members > largest_) {  // a rank's number in the job is that in its largest communicator
      largest_ = members;
      writer_.rank.rank = static_cast<std::int32_t>(rank);
      writer_.rank.is_numbered = true;
    }
  }

  TraceText& text_;
  JobWriter& writer_;
  CollectiveLog log_;
  std::size_t lines_ = 0;
  std::int64_t largest_ = 0;
};

void read(TraceText& text, JobWriter& writer) { Reading(text, writer).run(); }

}  // namespace

extern const TraceFormat nccl_inspector_format;
const TraceFormat nccl_inspector_format{"NCCL inspector", recognises, read, false};

}  // namespace lockstep::workloads
