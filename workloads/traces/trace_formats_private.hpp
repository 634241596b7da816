#pragma once
/// The table of formats, and which of them a text is of.
#include "workloads/traces/job_writer_private.hpp"

namespace lockstep::workloads {

extern const TraceFormat kineto_format;
extern const TraceFormat chakra_format;
extern const TraceFormat chakra_json_format;
extern const TraceFormat execution_trace_format;
extern const TraceFormat flight_recorder_format;
extern const TraceFormat nccl_inspector_format;

[[nodiscard]] const std::vector<const TraceFormat*>& trace_formats();

/// By how the text begins. Throws ConfigError for a text of no format that is read.
[[nodiscard]] const TraceFormat& format_of(TraceText& text);

}  // namespace lockstep::workloads
