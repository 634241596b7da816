#include "workloads/traces/trace_formats_private.hpp"

namespace lockstep::workloads {
namespace {

/// Files that hold a trace, in a form that is not read.
void refuse_other_forms(const TraceText& text, std::string_view head) {
  const auto refuse = [&](std::string what, std::string expected) {
    throw ConfigError({{{text.name(), 0, 0}, "", std::move(what), std::move(expected)}});
  };
  const auto byte = [&](std::size_t at) { return at < head.size() ? static_cast<unsigned char>(head[at]) : 0U; };
  // A protocol number, and then no field of Chakra's messages.
  if (byte(0) == 0x80 && byte(1) >= 2 && byte(1) <= 5 && byte(2) != 0x0A && byte(2) != 0x08 && byte(2) != 0x12)
    refuse(
        "is a pickle, such as PyTorch's flight recorder writes",
        "JSON: python3 -c 'import json, pickle, sys; json.dump(pickle.load(open(sys.argv[1], \"rb\")), sys.stdout)' " +
            text.name() + " > trace.json");
  if (head.starts_with("SQLite format 3"))
    refuse("is a database, such as nsys exports, which does not hold the sizes of collectives",
           "the trace of torch.profiler");
}

}  // namespace

const std::vector<const TraceFormat*>& trace_formats() {
  static const std::vector<const TraceFormat*> all{&kineto_format,          &nccl_inspector_format,
                                                   &flight_recorder_format, &chakra_json_format,
                                                   &execution_trace_format, &chakra_format};
  return all;
}

const TraceFormat& format_of(TraceText& text) {
  const auto head = text.head();
  refuse_other_forms(text, head);
  for (const auto* format : trace_formats()) {
    if (format->recognises(head)) return *format;
  }
  std::string names;
  for (const auto* format : trace_formats()) names += (names.empty() ? "" : ", ") + std::string(format->name);
  throw ConfigError({{{text.name(), 0, 0}, "", "is no trace of a known format", "one of " + names}});
}

}  // namespace lockstep::workloads
