#pragma once
/// What a scenario's step takes, asked of the library and of the program.
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "sim/engine/engine.hpp"

namespace lockstep::test {

/// Of one step; seconds and bytes.
struct Figures {
  double step_s = 0, compute_s = 0, exposed_s = 0, bubble_s = 0, peak_bytes = 0;
  double operations = 0;  ///< of all ranks, had nothing been folded
  std::string mesh;       ///< where its axes lie, as a scenario's `mesh`
  friend bool operator==(const Figures&, const Figures&) = default;
};
[[nodiscard]] std::string to_string(const Figures& figures);

/// In a process of its own. None where the scenario is refused; throws for defects.
[[nodiscard]] std::optional<Figures> simulated(const std::string& text, const std::filesystem::path& folder,
                                               bool fold = true,
                                               engine::EngineKind engine = engine::EngineKind::simgrid);

struct Ended {
  int code = 0;        ///< of a signal its negative number
  std::string output;  ///< of stdout
  std::string errors;  ///< of stderr
};
/// Runs a program in `folder`, which also takes what it prints.
[[nodiscard]] Ended run_program(const std::vector<std::string>& arguments, const std::filesystem::path& folder);

void write_text(const std::filesystem::path& file, const std::string& text);
[[nodiscard]] std::string read_text(const std::filesystem::path& file);

}  // namespace lockstep::test
