#pragma once
/// Small random steps on machines that are not alike everywhere, or whose work is not: dealt out over all fabrics, all
/// schedules and all kinds of irregularity, the rest drawn as for the metamorphic tests.
#include <string>

#include "sim/program/program.hpp"

namespace lockstep::test {

/// The properties that are assigned to the random steps in turn.
struct IrregularDeal {
  std::string fabric;        ///< "torus", "pods" (over the DCN), "halls", or the kind of network between nodes
  std::string schedule;      ///< empty: no pipeline
  std::string irregularity;  ///< "slow chips", ...
};

struct IrregularStep {
  std::string text;          ///< of the scenario
  bool perturbed;            ///< chips or links are not alike
  program::Program program;  ///< of all ranks
};

/// Every fabric with every irregularity within 42, every schedule within 60.
[[nodiscard]] IrregularDeal irregular_deal(int number);
/// The same on every machine: drawn until the program accepts one of its deal.
[[nodiscard]] IrregularStep irregular_step(int number);

}  // namespace lockstep::test
