// Kineto: the JSON that torch.profiler writes of one rank. Times are microseconds since some date, with fractions.
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>

#include "workloads/traces/kineto_private.hpp"

namespace lockstep::workloads {
namespace {

constexpr std::size_t most_events = 20'000'000, most_problems = 20;

bool recognises(std::string_view head) {
  return head.find("\"traceEvents\"") != std::string_view::npos ||
         (head.find("\"ph\"") != std::string_view::npos && head.find("\"ts\"") != std::string_view::npos);
}

bool is_one_of(std::string_view word, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

bool launches(std::string_view call) {
  return call.find("Launch") != std::string_view::npos || call.find("Memcpy") != std::string_view::npos ||
         call.find("Memset") != std::string_view::npos;
}

bool waits(std::string_view call) {
  return is_one_of(call, {"cudaDeviceSynchronize", "cudaStreamSynchronize", "cudaEventSynchronize", "cudaMemcpy",
                          "hipDeviceSynchronize", "hipStreamSynchronize", "hipEventSynchronize", "hipMemcpy",
                          "hipMemcpyWithStream", "cuStreamSynchronize", "cuEventSynchronize", "cuCtxSynchronize"});
}

bool communicates(std::string_view name) {
  return name.starts_with("nccl") || name.starts_with("rccl") || name.starts_with("mscclKernel");
}

/// Operators whose kernels are products or attention, or choose experts.
bool has_wanted_shapes(std::string_view name) {
  if (is_one_of(name, {"aten::mm", "aten::addmm", "aten::bmm", "aten::baddbmm", "aten::linear", "aten::_scaled_mm",
                       "aten::_grouped_mm", "aten::topk", "gmm", "grouped_gemm::gmm"}))
    return true;
  return name.size() < 100 &&
         (name.find("attention_forward") != std::string_view::npos ||
          name.find("attention_backward") != std::string_view::npos ||
          name.find("_scaled_dot_product_") != std::string_view::npos ||
          name.find("flash_attn_") != std::string_view::npos || name.find("FlashAttn") != std::string_view::npos);
}

class Reading {
 public:
  Reading(TraceText& text, JobWriter& writer) : text_(text), writer_(writer) {}

  void run() {
    read_json_lists(
        text_, {{"traceEvents", ""},
                [&](std::string_view /*list*/, const JsonFields& event, const Location& where) { take(event, where); },
                [&](const JsonFields& rest) { take_header(rest); }});
    problems_.throw_if_any();
    join_kineto(events_, writer_);
  }

 private:
  void refuse(const Location& where, const std::string& key, std::string what, std::string expected) {
    problems_.add({where, "traceEvents." + key, std::move(what), std::move(expected)});
    if (problems_.size() >= most_problems) problems_.throw_if_any();
  }

  void refuse_header(const std::string& key, std::string what, std::string expected) {
    problems_.add({{text_.name(), 0, 0}, "distributedInfo." + key, std::move(what), std::move(expected)});
  }

  /// A number of the header in a range; nothing where it is missing or refused.
  std::optional<std::int64_t> header_number(const JsonFields& rest, const std::string& key, std::int64_t most) {
    const auto* field = rest.find("distributedInfo." + key);
    if (field == nullptr || field->kind == JsonFields::Kind::null) return std::nullopt;
    const auto number = rest.integer("distributedInfo." + key);
    if (number && *number >= 0 && *number <= most) return number;
    refuse_header(key, field->text.substr(0, 40) + " is no such number", "0 to " + std::to_string(most));
    return std::nullopt;
  }

  void take_header(const JsonFields& rest) {
    if (const auto rank = header_number(rest, "rank", most_recorded_ranks - 1)) {
      writer_.rank.rank = static_cast<std::int32_t>(*rank);
      writer_.rank.is_numbered = true;
    }
    const auto world = header_number(rest, "world_size", most_recorded_ranks);
    if (world && !writer_.world(*world)) {
      refuse_header("world_size",
                    "the job has " + std::to_string(*world) + " ranks, the other traces' job has " +
                        std::to_string(writer_.job().world),
                    "traces of one job");
    }
    take_groups(rest);
  }

  /// "distributedInfo": {"pg_config": [{"pg_name": "0", "ranks": [0, 1], ...}, ...]}
  void take_groups(const JsonFields& rest) {
    const auto* list = rest.find("distributedInfo.pg_config");
    if (list == nullptr || list->text.size() < 3 || list->text[1] != '{') return;
    const auto text = TraceText::of_bytes(list->text, text_.name());
    read_json_lists(
        *text, {{""},
                [&](std::string_view /*list*/, const JsonFields& group, const Location& /*where*/) { describe(group); },
                [](const JsonFields& /*rest*/) {}});
  }

  void describe(const JsonFields& group) {
    auto ranks = as_ranks(group.integers("ranks"));
    const auto size = group.integer("pg_size").value_or(0);
    const auto name = std::string(group.text("pg_name"));
    if (!ranks || size < 0 || size > most_recorded_ranks) {
      return refuse_header("pg_config",
                           "the " + std::string(ranks ? "size" : "ranks") + " of group '" + name + "' cannot be",
                           "different ranks from 0 up, and how many they are");
    }
    if (size > 0 && size != std::ssize(*ranks)) ranks->clear();  // a shortened list
    writer_.describe({name, std::string(group.text("pg_desc")), *ranks, static_cast<std::int32_t>(size)});
  }

  /// What the arguments say about a collective; those that cannot be are refused.
  KinetoCollective collective(const JsonFields& event, const Location& where, std::string_view name) {
    const auto number = [&](const std::string& key, std::int64_t least, std::int64_t most) {
      const auto told = event.integer("args." + key);
      if (told && (*told < least || *told > most))
        refuse(where, "args." + key, std::to_string(*told) + " is out of range",
               std::to_string(least) + " to " + std::to_string(most));
    };
    number("Group size", 0, most_recorded_ranks);
    number("In msg nelems", -1, std::numeric_limits<std::int64_t>::max());  // -1: not told
    number("Out msg nelems", -1, std::numeric_limits<std::int64_t>::max());
    const auto ranks = as_ranks(event.integers("args.Process Group Ranks"));
    const auto size = event.integer("args.Group size").value_or(0);
    if (ranks && size > 0 && std::ssize(*ranks) > size)
      refuse(where, "args.Process Group Ranks", "has more ranks than the group",
             std::to_string(size) + ", as Group size says");
    if (event.find("args.Process Group Ranks") != nullptr && !ranks)
      refuse(where, "args.Process Group Ranks", "is no list of ranks", "different numbers from 0 up");
    return kineto_collective(event, name);
  }

  void take(const JsonFields& event, const Location& where) {
    if (event.text("ph") != "X") return;
    const auto category = event.text("cat");
    const auto name = event.text("name");
    const bool kernel = is_one_of(category, {"kernel", "Kernel"});
    const bool copy = is_one_of(category, {"gpu_memcpy", "gpu_memset", "Memcpy", "Memset"});
    const bool call = is_one_of(category, {"cuda_runtime", "cuda_driver", "hip_runtime", "Runtime"});
    const bool host = is_one_of(category, {"cpu_op", "user_annotation", "Operator"});
    if (!kernel && !copy && !call && category != "cuda_sync") {
      if (!host) return;
      if (has_wanted_shapes(name)) return operation(event, name);
      const bool wanted = name.starts_with("ProfilerStep#") || name.starts_with("nccl:") ||
                          name == "record_param_comms" || event.find("args.Collective name") != nullptr;
      if (!wanted) return;
    }
    const auto start = nanoseconds_of(event, "ts");
    for (const auto* key : {"ts", "dur"}) {
      if (const auto* field = event.find(key); field != nullptr && field->kind == JsonFields::Kind::text)
        writer_.guessed("Times stand in the trace as text; read as microseconds.");
    }
    auto duration = nanoseconds_of(event, "dur");
    if (!start) return refuse(where, "ts", "the event has no time", "microseconds such as 1712195495505583.25");
    if (!duration) {
      if (event.find("dur") != nullptr) return refuse(where, "dur", "is no duration", "microseconds such as 12.5");
      duration = 0;
      if (kernel) writer_.missing("Of some kernels the trace has no duration; they take no time.");
    }
    if (*duration < 0) return refuse(where, "dur", "a negative duration", "microseconds from 0 up");
    if (kernel || copy) return device(event, where, name, kernel, *start, *duration);
    if (call) return runtime(event, name, *start, *duration);
    if (category == "cuda_sync") return synchronised(event, name);
    annotation(event, where, name, *start, *duration);
  }

  void device(const JsonFields& event, const Location& where, std::string_view name, bool kernel, std::int64_t start,
              std::int64_t duration) {
    if (events_.device.size() == most_events) text_.refuse("has too many kernels", "at most 20 million");
    KinetoEvents::Device made;
    made.start = start;
    made.duration = duration;
    made.name = writer_.name(name);
    made.kind = kernel ? RecordedEvent::Kind::kernel : RecordedEvent::Kind::copy;
    made.correlation = event.integer("args.correlation").value_or(-1);
    const auto stream = event.integer("args.stream");
    made.stream = stream ? *stream : event.integer("tid").value_or(-1);
    made.call = event.integer("args.External id").value_or(-1);
    made.device = event.integer("args.device").value_or(event.integer("pid").value_or(0));
    if (made.stream < 0) return refuse(where, "args.stream", "the kernel has no stream", "a number from 0 up");
    if (kernel && (communicates(name) || event.find("args.Collective name") != nullptr)) {
      made.kind = RecordedEvent::Kind::collective;
      made.collective = static_cast<std::int32_t>(events_.collectives.size());
      events_.collectives.push_back(collective(event, where, name));
    }
    events_.device.push_back(made);
  }

  void runtime(const JsonFields& event, std::string_view name, std::int64_t start, std::int64_t duration) {
    const auto correlation = event.integer("args.correlation").value_or(-1);
    if (launches(name) && correlation >= 0) events_.launches[correlation] = {start, event.integer("tid").value_or(0)};
    if (waits(name)) events_.waits.push_back({start, start + duration, correlation});
    if (name == "cudaStreamWaitEvent" || name == "hipStreamWaitEvent") events_.unnamed_stream_waits.push_back(start);
  }

  void synchronised(const JsonFields& event, std::string_view name) {
    const auto kind = event.text("args.cuda_sync_kind");
    if (kind != "Stream Wait Event" && name != "Stream Wait Event") return;
    const auto other = event.integer("args.wait_on_stream").value_or(-1);
    const auto recorded = event.integer("args.wait_on_cuda_event_record_corr_id").value_or(-1);
    if (other < 0 || recorded < 0) return;
    events_.stream_waits.push_back(
        {event.integer("args.stream").value_or(-1), event.integer("args.correlation").value_or(-1), other, recorded});
  }

  void operation(const JsonFields& event, std::string_view name) {
    constexpr std::size_t longest = 1000;
    const auto call = event.integer("args.External id");
    const auto* dims = event.find("args.Input Dims");
    if (dims == nullptr) dims = event.find("args.Input dims");
    if (!call || dims == nullptr || dims->text.size() > longest) return;
    std::string type;
    if (const auto* types = event.find("args.Input type"); types != nullptr) {
      const auto begin = types->text.find('"');
      const auto end = types->text.find('"', begin + 1);
      if (begin != std::string::npos && end != std::string::npos) type = types->text.substr(begin + 1, end - begin - 1);
    }
    const auto* values = name == "aten::topk" ? event.find("args.Concrete Inputs") : nullptr;
    const bool has_values = values != nullptr && values->text.size() <= longest;
    events_.operators[*call] =
        writer_.called({std::string(name), dims->text, std::move(type), has_values ? values->text : ""});
  }

  void annotation(const JsonFields& event, const Location& where, std::string_view name, std::int64_t start,
                  std::int64_t duration) {
    if (name.starts_with("ProfilerStep#")) {
      events_.steps.push_back({start, start + duration, std::string(name)});
      return;
    }
    const auto told = event.text("args.Collective name");
    if (told == "wait" || told == "init") return;
    events_.annotations.push_back({event.integer("tid").value_or(0), start, start + duration,
                                   static_cast<std::int32_t>(events_.collectives.size())});
    events_.collectives.push_back(collective(event, where, name));
  }

  TraceText& text_;
  JobWriter& writer_;
  KinetoEvents events_;
  Problems problems_;
};

void read(TraceText& text, JobWriter& writer) { Reading(text, writer).run(); }

}  // namespace

std::optional<std::int64_t> nanoseconds_of(const JsonFields& event, std::string_view key) {
  constexpr std::int64_t most = 3'000'000'000'000'000;  // the end of one less the start of another fits into 64 bits
  const auto* field = event.find(key);
  if (field == nullptr || (field->kind != JsonFields::Kind::number && field->kind != JsonFields::Kind::text))
    return std::nullopt;
  std::string_view text = field->text;
  const bool negative = text.starts_with('-');
  if (negative) text.remove_prefix(1);
  std::int64_t whole = 0, fraction = 0;
  const auto* end = text.data() + text.size();
  auto [at, error] = std::from_chars(text.data(), end, whole);
  if (error != std::errc() || whole > most || whole < 0) return std::nullopt;
  if (at != end && *at == '.') {
    ++at;
    for (std::int64_t place = 100; at != end && *at >= '0' && *at <= '9'; ++at, place /= 10)
      fraction += place * (*at - '0');
  }
  std::int64_t nanoseconds = whole * 1000 + fraction;
  if (at != end) {  // an exponent
    double value = 0;
    const auto [rest, wrong] = std::from_chars(text.data(), end, value);
    if (wrong != std::errc() || rest != end || !(value <= static_cast<double>(most))) return std::nullopt;
    nanoseconds = std::llround(value * 1000);
  }
  return negative ? -nanoseconds : nanoseconds;
}

extern const TraceFormat kineto_format;
const TraceFormat kineto_format{"Kineto", recognises, read, true};

}  // namespace lockstep::workloads
