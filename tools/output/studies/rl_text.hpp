#pragma once
/// An iteration of a loop of reinforcement learning, as text and JSON.
#include <string>
#include <vector>

#include "sim/studies/rl/loop_study.hpp"

namespace lockstep::output {

[[nodiscard]] std::string rl_text(const rl::LoopSpec& spec, const rl::Loop& loop);
[[nodiscard]] std::string rl_json(const rl::LoopSpec& spec, const rl::Loop& loop);
/// A line for each split; the best is named below.
[[nodiscard]] std::string splits_text(const rl::LoopSpec& spec, const std::vector<rl::Split>& splits);
[[nodiscard]] std::string splits_json(const rl::LoopSpec& spec, const std::vector<rl::Split>& splits);

}  // namespace lockstep::output
