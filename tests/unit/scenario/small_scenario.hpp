#pragma once
/// Scenarios in a few lines, with keys put over them.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "sim/scenario/scenario.hpp"

namespace lockstep::test {

using Keys = std::vector<std::pair<std::string, std::string>>;

/// 4 chips of a TPU v5p in a ring at the rates of the data sheet, 6 layers of two products. `keys` replace or add
/// top-level keys: {"batch", "{...}"}.
inline scenario::Scenario small_scenario(const Keys& keys = {}) {
  Keys all{{"format", "1"},
           {"model", "{type: two-matmul, layers: 6, d_model: 64, d_ff: 128}"},
           {"cluster", "tpu-v5p:4x1x1"},
           {"parallel", "{data: 4}"},
           {"batch", "{sequences: 8, sequence_length: 16}"},
           {"model_of_time", "ideal"}};
  for (const auto& [key, value] : keys) {
    const auto known =
        std::find_if(all.begin(), all.end(), [&, &name = key](const auto& one) { return one.first == name; });
    if (known != all.end()) {
      known->second = value;
    } else {
      all.emplace_back(key, value);
    }
  }
  std::string text;
  for (const auto& [key, value] : all) text += key + ": " + value + "\n";
  return scenario::scenario_of_text(text, "small.yaml", ".");
}

/// The problems that `make` refuses with, one a line: "batch: what [expected]".
template <class Make>
std::string refused(Make make) {
  try {
    make();
  } catch (const ConfigError& error) {
    std::string text;
    for (const auto& problem : error.problems())
      text += (text.empty() ? "" : "\n") + problem.key + ": " + problem.what + " [" + problem.expected + "]";
    return text;
  }
  return "";
}

/// A transformer of 6 layers that 4 stages can share: N = 8 heads, V = 96.
inline const std::string small_transformer =
    "{layers: 6, d_model: 32, d_ff: 128, heads: 8, kv_heads: 4, head_size: 4, vocabulary: 96}";

/// 8 experts of width 24 in every layer, 2 for a token.
inline const std::string small_mixture =
    "{layers: 2, d_model: 32, heads: 8, kv_heads: 4, head_size: 4, vocabulary: 96, moe: {experts: 8, "
    "experts_per_token: 2, d_ff: 24}}";

}  // namespace lockstep::test
