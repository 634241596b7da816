#pragma once
/// Several scenarios side by side: files, and keys that take several values.
#include <string>
#include <vector>

#include "sim/scenario/scenario.hpp"

namespace lockstep::commands {

class Command;

struct VariedScenarios {
  std::vector<std::string> files, overrides, varied;
  std::string fabrics;
};

/// Files as positional arguments, --set, --vary and --fabrics. `more` ends the line of the argument in --help.
void add_varied_scenarios(Command& command, VariedScenarios& given, const std::string& more);

/// One of the scenarios: a file with keys replaced.
struct Variant {
  std::string file, label;  ///< label: the varied keys, "" without
  std::vector<scenario::KeyOverride> overrides;
};

/// Every file with every combination of fabrics and varied values, the last --vary fastest. Throws ConfigError for
/// values that cannot be read and for more scenarios than anybody reads.
[[nodiscard]] std::vector<Variant> variants_of(const VariedScenarios& given);

/// The file's stem, its folder too where stems are equal, and the varied keys.
[[nodiscard]] std::string variant_name(const Variant& variant, const std::vector<Variant>& all);

}  // namespace lockstep::commands
