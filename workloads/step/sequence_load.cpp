#include "workloads/step/sequence_load.hpp"

namespace lockstep::workloads {

double SequenceLoad::attended(const LayerKind& reach, MicrobatchId microbatch) const {
  const auto& own = microbatches[microbatch];
  const auto of_document = [&](std::int64_t tokens) {
    const auto length = static_cast<double>(tokens);
    return length * attended_tokens(reach, length, causal);
  };
  double sum = 0;
  for (const auto& [length, count] : own.documents) sum += static_cast<double>(count) * of_document(length);
  return own.attention * sum / (static_cast<double>(sequences) * of_document(sequence_length));
}

}  // namespace lockstep::workloads
