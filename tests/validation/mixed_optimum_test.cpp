// The book's second figure by simulation: at a small batch on 16x16x16 chips with D = 8192, F = 32768 neither
// FSDP alone nor TP alone is best. X_opt = sqrt(B/F M_X/M_Y N): 181 at 131,072 tokens, 256 at 262,144.
#include <gtest/gtest.h>

#include <map>

#include "tests/validation/validated.hpp"

namespace lockstep {
namespace {

std::map<int, double> step_by_tensor_size(const char* tokens) {
  std::map<int, double> steps;
  for (const int tensor : {4, 8, 16, 32, 64}) {
    const auto parallel = "{tensor: " + std::to_string(tensor) + ", fsdp: " + std::to_string(4096 / tensor) + "}";
    steps[tensor] = test::contended(test::validation("validation_mixed.yaml",
                                                     {{"parallel", parallel}, {"batch.sequences", tokens}}))
                        .step_s;
  }
  return steps;
}

// TP 16 has a whole axis to itself and leaves FSDP the other two; every other size shares links with FSDP.
TEST(MixedOptimum, Is256By16) {
  for (const char* tokens : {"131072", "262144"}) {
    const auto steps = step_by_tensor_size(tokens);
    for (const auto& [tensor, step] : steps) {
      EXPECT_LE(steps.at(16), step) << "TP " << tensor << " at " << tokens;
    }
  }
}

// Away from the optimum the step only gets longer, on both sides.
TEST(MixedOptimum, IsAValley) {
  const auto steps = step_by_tensor_size("131072");
  EXPECT_GT(steps.at(4), steps.at(8));
  EXPECT_GT(steps.at(8), steps.at(16));
  EXPECT_LT(steps.at(16), steps.at(32));
  EXPECT_LT(steps.at(32), steps.at(64));
}

}  // namespace
}  // namespace lockstep
