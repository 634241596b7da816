#pragma once
/// An operation in the words of a trace.
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <variant>
#include <vector>

#include "sim/simulate.hpp"

namespace lockstep {

/// Views are of the simulation and of the OpText that made them.
struct OpWords {
  using Value = std::variant<std::int64_t, double, std::string_view>;
  std::string name;                      ///< "layer 12 | query projection"
  std::vector<std::string> categories;   ///< "compute"; or "comm" and its mesh axes
  std::string_view colour;               ///< of those that Chrome's viewer has names for
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

  [[nodiscard]] OpWords words(std::int32_t op);
  [[nodiscard]] std::string name(std::int32_t op) const;

 private:
  const std::string& algorithm(const ProgramOp& op, const StepOp& vertex);

  const Program& program_;
  const StepGraph& step_;
  CollectiveModel& collectives_;
  std::map<std::tuple<std::int32_t, CollectiveKind, Bytes>, std::string> algorithms_;  ///< by communicator, kind and size
  std::map<AxisNames, std::string> joined_;
};

}  // namespace lockstep
