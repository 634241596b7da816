#pragma once
/// The timeline as a trace for Chrome's viewer, which many other programs read too: gzip-compressed JSON, a process per
/// shown rank, a thread per stream. Times are microseconds with the nanoseconds as fraction, printed exactly; a span is
/// a begin and an end, because viewers add start and duration in floating point and then take spans that touch for
/// nested ones. A span that takes no time at this resolution is an instant.
#include <filesystem>

#include "sim/simulate.hpp"
#include "tools/output/files/new_file.hpp"
#include "tools/trace/trace_content.hpp"

namespace lockstep::trace {

/// Equal simulations give equal bytes. Throws as NewFiles does.
void write_chrome_trace(output::NewFiles& files, const std::filesystem::path& place, const scenario::Scenario& scenario,
                        const Simulation& simulation, const TraceOptions& options = {});

}  // namespace lockstep::trace
