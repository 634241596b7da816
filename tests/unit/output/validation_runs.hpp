#pragma once
/// Validated runs in one line each.
#include <string>

#include "sim/studies/validation/validate.hpp"

namespace lockstep::test {

/// Measured 1 s unless said, predicted with that error.
inline validation::ValidatedRun run(const std::string& table, const std::string& family, const std::string& name,
                                    double error, double measured = 1) {
  validation::ValidatedRun made;
  made.run.table = table;
  made.run.family = family;
  made.run.name = name;
  made.measured_s = measured;
  made.predicted_s = measured * (1 + error);
  return made;
}

inline validation::ValidatedRun skipped(const std::string& table, const std::string& family,
                                        const std::string& because) {
  auto made = run(table, family, "skipped", 0, 0);
  made.run.skipped_because = because;
  return made;
}

}  // namespace lockstep::test
