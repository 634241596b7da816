#pragma once
/// An operation in the words of a Chrome trace: its name, category, colour and arguments.
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "sim/collectives/collective_model.hpp"
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
  CollectiveModel collectives_;
  std::map<std::tuple<std::int32_t, CollectiveKind, Bytes>, std::string> algorithms_;  ///< by communicator, kind and size
};

}  // namespace lockstep
