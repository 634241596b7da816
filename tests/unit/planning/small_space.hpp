#pragma once
/// Spaces of two products per layer, In[B, D] Win[D, F] Wout[F, D] with D = 64 and F = 256, on a few TPU v5p.
#include <string>

#include "sim/studies/planning/plan_space.hpp"

namespace lockstep::test {

inline constexpr std::int64_t small_d = 64, small_f = 256;
inline constexpr double peak_flops = 459e12;        ///< of a TPU v5p in bf16
inline constexpr double memory_bandwidth = 2765e9;  ///< of a TPU v5p, bytes/s

/// A scenario whose parts may be chosen one by one.
struct SmallSpace {
  int layers = 8;
  std::string cluster = "tpu-v5p:4";
  int sequences = 16;    ///< of 8 tokens
  std::string search{};  ///< what stands between the braces
  std::string more{};    ///< further lines

  [[nodiscard]] std::string text() const;
  [[nodiscard]] scenario::Scenario load() const;
};

}  // namespace lockstep::test
