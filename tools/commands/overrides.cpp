#include "sim/core/errors.hpp"
#include "tools/commands/commands.hpp"

namespace lockstep::commands {

std::vector<scenario::KeyOverride> parse_overrides(const std::vector<std::string>& texts) {
  std::vector<scenario::KeyOverride> result;
  Problems problems;
  for (const auto& text : texts) {
    const auto equals = text.find('=');
    if (equals == std::string::npos || equals == 0) {
      problems.add({{"--set", 0, 0},
                    "",
                    "'" + text + "' has no " + (equals == 0 ? "key" : "value"),
                    "KEY=VALUE such as batch.sequences=1024"});
    } else {
      result.push_back({text.substr(0, equals), text.substr(equals + 1)});
    }
  }
  problems.throw_if_any();
  return result;
}

}  // namespace lockstep::commands
