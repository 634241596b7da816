#pragma once
/// What holds of every step with a pipeline, whatever schedule and mesh. Each function adds test failures.
#include "tests/property/simulated_step.hpp"

namespace lockstep::test {

/// Every operation stands on ranks of its own stage, and every dependency joins operations that share a rank: one
/// that did not would be waited for by nobody.
void expect_dependencies_meet(const SimulatedStep& step);
/// Every compute step of every block runs once in each microbatch, forwards and backwards, and all ranks together
/// compute the model's FLOPs.
void expect_every_pass_once(const SimulatedStep& step);
/// On every rank the actions run as in the schedule: no cell begins before the one before it has ended.
void expect_schedules_order(const SimulatedStep& step);
/// Between stages go each microbatch's activations and their gradient, once per border with two sides.
void expect_sends(const SimulatedStep& step);
/// The stages together hold the model once, tied embeddings once per stage that has them, all twice with two
/// directions.
void expect_held_weights(const SimulatedStep& step);
/// Computing and idle time of all causes are the makespan on every rank.
void expect_idle_adds_up(const SimulatedStep& step);
/// What comes into memory during the step is gone at its end.
void expect_memory_returns(const SimulatedStep& step);
/// Folded = unfolded, bit for bit.
void expect_folding_is_exact(const SimulatedStep& step);

}  // namespace lockstep::test
