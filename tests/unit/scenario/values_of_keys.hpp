#pragma once
#include <map>
#include <string>

namespace lockstep::test {

/// A value for every key of a scenario, one that is not its default where there is a choice.
[[nodiscard]] const std::map<std::string, std::string>& values_of_keys();

}  // namespace lockstep::test
