#pragma once
/// What `lockstep calibrate` says of published steps, as the part of a machine's own steps that it believes.
#include <gtest/gtest.h>

#include <cstdio>
#include <string>

namespace lockstep::test {

/// Steps lie s about their machine's others and machines t about the catalog, so of what n steps are off
/// n t^2 / (n t^2 + s^2) is the machine's. `calibrated`: the text that the command prints, with s and t in percent to a
/// tenth.
inline double share_of_the_machine(const std::string& calibrated, int steps) {
  const std::string before = "a step lies ";
  const auto at = calibrated.find(before);
  double s = 0, t = 0;
  const int read = at == std::string::npos ? 0
                                           : std::sscanf(calibrated.c_str() + at + before.size(),
                                                         "%lf %% about its machine's others, a machine %lf", &s, &t);
  EXPECT_EQ(read, 2) << calibrated;
  return steps * t * t / (steps * t * t + s * s);
}

}  // namespace lockstep::test
