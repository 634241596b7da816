#include "tools/output/results/operation_words.hpp"

namespace lockstep::output {

std::string axes_text(const workloads::StepOp& op) {
  if (op->kind == workloads::StepOp::Kind::compute) return "";
  if (op->given_time) return op->stream;
  std::string text;
  for (const auto& axis : op->axes) text += (text.empty() ? "" : "+") + axis;
  return text;
}

std::string coloured_as(const workloads::StepOp& op) {
  return op->kind == workloads::StepOp::Kind::compute ? std::string(name(op.pass)) : axes_text(op);
}

}  // namespace lockstep::output
