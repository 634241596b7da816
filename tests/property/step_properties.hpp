#pragma once
/// What holds of every simulated step, whatever its plan. Each function adds test failures.
#include "tests/property/simulated_step.hpp"

namespace lockstep::test {

/// On every rank compute + exposed communication + bubble = makespan, and none is negative.
void expect_time_adds_up(const SimulatedStep& step);
/// No operation starts before the operations it depends on have ended on that rank.
void expect_dependencies_hold(const SimulatedStep& step);
/// No stream of a rank carries two operations at once.
void expect_streams_do_one_thing(const SimulatedStep& step);
/// Makespan >= critical path with every operation alone, and >= all compute of one rank.
void expect_not_faster_than_possible(const SimulatedStep& step);
/// Every rank computes FLOPs / peak seconds (or longer for memory), and all ranks together the model's FLOPs.
void expect_compute_is_the_models(const SimulatedStep& step);
/// Contention only slows: no collective is faster than alone, and the step no faster than the same order of
/// operations without contention.
void expect_contention_only_slows(const SimulatedStep& step);
/// The critical path goes from 0 to the makespan without a gap, each operation behind one that it waited for or that
/// held one of its streams; its parts add up to the makespan.
void expect_critical_path_explains(const SimulatedStep& step);
/// The facade, which folds equal ranks together, gives the same step time and breakdown.
void expect_facade_agrees(const SimulatedStep& step);

}  // namespace lockstep::test
