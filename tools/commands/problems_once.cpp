#include "tools/commands/problems_once.hpp"

namespace lockstep::commands {

bool ProblemsOnce::take(const std::function<void()>& work) {
  try {
    work();
    return true;
  } catch (const ConfigError& error) {
    for (const auto& problem : error.problems()) {
      if (told_.insert(problem.to_string()).second) problems_.add(problem);
    }
    return false;
  }
}

}  // namespace lockstep::commands
