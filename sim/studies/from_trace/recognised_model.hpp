#pragma once
/// The shape of a transformer and its batch, from the shapes of a rank's products and attention: how wide it is, how
/// many layers a stage has, how many microbatches ran.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/studies/from_trace/recognised_degrees.hpp"
#include "sim/studies/from_trace/recognised_experts.hpp"
#include "sim/studies/from_trace/timed_kernels.hpp"

namespace lockstep::from_trace {

struct RecognisedModel {
  std::optional<std::int64_t> layers_of_stage, d_model, d_ff, heads, kv_heads, head_size, vocabulary;  ///< of all ranks
  bool gated = true;
  std::optional<RecognisedExperts> experts;
  std::optional<std::int64_t> shared_d_ff;  ///< of a mixture of experts: the width of what every token passes through
  std::optional<std::int64_t> microbatches, sequences_of_microbatch, sequence_length;
  bool recomputes = false;
  std::optional<std::int64_t> forwards_first;  ///< microbatches whose forward ran before the first backward
  topologies::Precision precision = topologies::Precision::bf16;
  std::vector<std::string> reasons;  ///< sentences

  /// The keys of a scenario's model block that are not known; empty if it can be written.
  [[nodiscard]] std::vector<std::string> unknown_of_model() const;
};

/// Of the first recorded rank, whose `kernels` these are. `layers`: of its stage, if they are known from elsewhere.
[[nodiscard]] RecognisedModel recognised_model(const workloads::RecordedJob& job, const Degrees& degrees,
                                               const std::vector<TimedKernel>& kernels,
                                               std::optional<std::int64_t> layers);

}  // namespace lockstep::from_trace
