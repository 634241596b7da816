#pragma once
/// HTTP on the loopback address, for one page and its questions.
#include <functional>
#include <string>

namespace lockstep::explore {

struct Site {
  std::string page;                                          ///< HTML
  std::string token;                                         ///< questions must have it in X-Lockstep-Token
  std::function<std::string(const std::string&)> answer_of;  ///< JSON from JSON; one call at a time
};

/// 32 hexadecimal digits from the system's source of randomness.
[[nodiscard]] std::string new_token();

/// Serves until the process is told to end. `port`: 0 for any that is free. `ready` gets the port. Answers GET / with
/// the page, which holds nothing of the scenario, and POST /answer. Refuses with 403 whatever names another host than
/// the loopback address (names of others may be made to lead here), comes from a page of another origin, or lacks the
/// token. Throws ConfigError if the port cannot be had.
void serve(const Site& site, int port, const std::function<void(int port)>& ready);

}  // namespace lockstep::explore
