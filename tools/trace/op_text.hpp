#pragma once
/// An operation in the words of a Chrome trace: its name, category, colour and arguments.
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "sim/simulate.hpp"

namespace lockstep {

class OpText {
 public:
  explicit OpText(const Simulation& simulation);

  /// `"name":...,"cat":...,"cname":...,"args":{...}`, appended.
  void append(std::string& out, std::int32_t op);
  [[nodiscard]] std::string name(std::int32_t op) const;  ///< "layer 12 | query projection"

 private:
  const std::string& algorithm(const ProgramOp& op, const StepOp& vertex);

  const Program& program_;
  const StepGraph& step_;
  const Mesh& mesh_;
  std::map<std::pair<std::int32_t, CollectiveKind>, std::string> algorithms_;  ///< by communicator
};

}  // namespace lockstep
