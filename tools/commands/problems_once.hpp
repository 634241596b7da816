#pragma once
/// The problems of several files together.
#include <functional>
#include <set>
#include <string>

#include "sim/core/errors.hpp"

namespace lockstep::commands {

/// Collects what is wrong with one file after another; what several of them have in common is told once.
class ProblemsOnce {
 public:
  /// Whether the work had no problem.
  bool take(const std::function<void()>& work);
  /// All of them, in the order in which they were met.
  void throw_if_any() const { problems_.throw_if_any(); }

 private:
  Problems problems_;
  std::set<std::string> told_;
};

}  // namespace lockstep::commands
