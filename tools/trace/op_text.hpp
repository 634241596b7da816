#pragma once
/// An operation in the words of a trace.
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <variant>
#include <vector>

#include "sim/simulate.hpp"
#include "sim/timing/whole_step.hpp"
#include "tools/trace/lanes.hpp"

namespace lockstep::trace {

/// All that is said of an operation but its number and its microbatch. Views are of the simulation and of the OpText
/// that made them.
struct OpWords {
  using Value = std::variant<std::int64_t, double, std::string_view>;
  std::string name;                     ///< "layer 12 | query projection"
  std::vector<std::string> categories;  ///< "compute"; or "comm" and its mesh axes
  std::string_view colour;              ///< of those that Chrome's viewer has names for
  struct Argument {
    std::string_view key;
    Value value;
    bool told = false;  ///< by the name and the categories too: formats may leave it out
  };
  std::vector<Argument> arguments;
};

class OpText {
 public:
  explicit OpText(const Simulation& simulation);

  /// Operations of which the same is said have one number, counted from 0 in the order in which they are asked for: a
  /// layer of a long step says the same in every microbatch, so formats encode it once.
  [[nodiscard]] std::size_t phrase(std::int32_t op);
  [[nodiscard]] OpWords words(std::int32_t op);
  /// In the whole step.
  [[nodiscard]] std::int64_t number(const LaneSpan& span) const { return whole_.number({span.op, span.copy}); }
  [[nodiscard]] std::int64_t microbatch(const LaneSpan& span) const {
    return repetition_.microbatch(span.op, span.copy, vertex(span.op).microbatch);
  }

 private:
  struct Hash {
    const OpText* text;
    std::size_t operator()(std::int32_t op) const;
  };
  struct Equal {
    const OpText* text;
    bool operator()(std::int32_t a, std::int32_t b) const;
  };
  [[nodiscard]] const program::ProgramOp& lowered(std::int32_t op) const { return program_.ops[op]; }
  [[nodiscard]] const workloads::StepOp& vertex(std::int32_t op) const { return step_.op(lowered(op).vertex); }
  const std::string& algorithm(const program::ProgramOp& op, const workloads::StepOp& vertex);

  const program::Program& program_;
  const workloads::StepGraph& step_;
  const timeline::Repetition& repetition_;
  timing::WholeStep whole_;
  collectives::CollectiveModel& collectives_;
  std::unordered_map<std::int32_t, std::size_t, Hash, Equal>
      phrases_;  ///< by an operation of each; looked up, never walked through
  std::map<std::tuple<std::int32_t, workloads::CollectiveKind, Bytes>, std::string>
      algorithms_;  ///< by communicator, kind and size
  std::map<workloads::AxisNames, std::string> joined_;
};

}  // namespace lockstep::trace
