#pragma once
/// The chip and the models that the book's worked numbers are about.
#include "sim/scenario/scenario.hpp"
#include "sim/studies/roofline/closed_forms.hpp"

namespace lockstep::test {

inline ChipBalance v5p() {
  Problems problems;
  const auto chip = load_chip(data_root() / "topologies" / "catalog", "tpu-v5p", problems);
  problems.throw_if_any();
  return balance_of(chip, Precision::bf16);
}

constexpr double llama3_70b_ff = 28672;
constexpr double v5p_pod = 8960;  // 16 x 20 x 28

}  // namespace lockstep::test
