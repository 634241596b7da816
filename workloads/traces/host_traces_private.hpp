#pragma once
/// Execution traces of the host beside traces of the device: what the ones know of collectives that the others do not.
#include "workloads/traces/recorded_job.hpp"

namespace lockstep::workloads {

/// Completes the kinds, sizes and groups of a job's collectives from those of the same ranks as their hosts called
/// them, in the order of the calls. Throws ConfigError where the two do not have the same collectives.
void complete_collectives(RecordedJob& job, const RecordedJob& host);

}  // namespace lockstep::workloads
