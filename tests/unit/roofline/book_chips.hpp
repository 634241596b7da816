#pragma once
/// The chip and the models that the book's worked numbers are about.
#include "sim/scenario/scenario.hpp"
#include "sim/studies/roofline/closed_forms.hpp"

namespace lockstep::test {

inline roofline::ChipBalance v5p() {
  Problems problems;
  const auto chip = topologies::load_chip(scenario::data_root() / "topologies" / "catalog", "tpu-v5p", problems);
  problems.throw_if_any();
  return roofline::balance_of(chip, topologies::Precision::bf16);
}

constexpr double llama3_70b_ff = 28672;
constexpr double v5p_pod = 8960;  // 16 x 20 x 28

}  // namespace lockstep::test
