#pragma once
/// Files that tell what a job did, whatever wrote them, to a RecordedJob. A format is one file of this folder and one
/// line of the table in trace_formats.cpp.
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/errors.hpp"
#include "workloads/traces/recorded_job.hpp"

namespace lockstep::workloads {

/// Called now and then while files are read, with the share of their bytes that is done; may be empty.
using TraceProgress = std::function<void(double)>;

/// One file for each rank, plain or packed by gzip; beside a rank's Kineto trace may stand its PyTorch execution trace,
/// which then completes what the former says of collectives. A rank's number is what its trace says, else what its
/// file's name ends in (job.3.et, rank-3.json), else its place in the list. What is wrong, in any of the files, is one
/// ConfigError.
[[nodiscard]] RecordedJob read_traces(const std::vector<std::filesystem::path>& files,
                                      const TraceProgress& progress = {});
/// The same for one trace in memory; `name` stands in problems. `format`, as RecordedJob::format: read as such,
/// whatever it looks like.
[[nodiscard]] RecordedJob read_trace_bytes(std::string_view bytes, const std::string& name,
                                           std::string_view format = {});

/// Groups of ranks from a file beside traces that only name them, as ASTRA-sim reads it: {"0": [0, 1, 2, 3]}.
void read_trace_groups(const std::filesystem::path& file, RecordedJob& job);

}  // namespace lockstep::workloads
