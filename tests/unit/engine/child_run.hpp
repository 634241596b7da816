#pragma once
/// Runs an engine in a child process, because SimGrid allows one simulation per process.
#include <functional>
#include <vector>

#include "sim/engine/engine.hpp"

namespace lockstep::test {

/// What `body` returns, run in a child process. Throws std::runtime_error with its message if it throws.
std::vector<double> in_child(const std::function<std::vector<double>()>& body);

/// All spans of a run.
class Spans {
 public:
  Spans(std::int32_t ranks, std::vector<double> values) : ranks_(ranks), values_(std::move(values)) {}
  [[nodiscard]] double start(std::int32_t op, std::int32_t rank = 0) const { return values_[at(op, rank)]; }
  [[nodiscard]] double end(std::int32_t op, std::int32_t rank = 0) const { return values_[at(op, rank) + 1]; }
  /// Start and end of every (op, rank), op by op; -1 where a rank took no part.
  [[nodiscard]] const std::vector<double>& values() const { return values_; }

 private:
  [[nodiscard]] std::size_t at(std::int32_t op, std::int32_t rank) const {
    return static_cast<std::size_t>(2 * (op * ranks_ + rank));
  }
  std::int32_t ranks_;
  std::vector<double> values_;
};

Spans run_in_child(const program::Program& program, engine::EngineKind kind);

/// In this process, without contention.
engine::EngineResult run_reference(const program::Program& program);

}  // namespace lockstep::test
