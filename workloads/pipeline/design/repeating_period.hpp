#pragma once
/// Orders in which every rank repeats one period, with the pipeline filled before and drained after.
#include <vector>

#include "workloads/pipeline/design/design_problem.hpp"

namespace lockstep::workloads {

/// For the shortest period in which every rank does its work for one microbatch of every way and that the limits allow,
/// and for some longer ones. In a period a rank runs every letter of its tracks once; which microbatches they belong to
/// follows from how long a microbatch takes to come there. Nothing for ways that differ (bidirectional) and pairs.
[[nodiscard]] std::vector<Words> repeating_period_words(const DesignProblem& problem);

}  // namespace lockstep::workloads
