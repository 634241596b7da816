#pragma once
/// The timeline as a trace for Perfetto: gzip-compressed protocol buffers. A track group per shown rank, a track per
/// stream, in the order of TraceContent; counters of memory and of the most used links. Times are whole nanoseconds.
/// The fields written, and no others, are those of tests/data/perfetto_subset.proto.
#include <filesystem>

#include "sim/simulate.hpp"
#include "tools/output/files/new_file.hpp"
#include "tools/trace/trace_content.hpp"

namespace lockstep::trace {

/// Equal simulations give equal bytes. Throws as NewFiles does.
void write_perfetto_trace(output::NewFiles& files, const std::filesystem::path& place,
                          const scenario::Scenario& scenario, const Simulation& simulation,
                          const TraceOptions& options = {});

}  // namespace lockstep::trace
