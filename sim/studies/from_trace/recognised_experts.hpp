#pragma once
/// A mixture of experts, from the shapes of its router, of its choice of experts and of the experts' products.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/studies/from_trace/recognised_degrees.hpp"
#include "sim/studies/from_trace/timed_kernels.hpp"

namespace lockstep::from_trace {

struct RecognisedExperts {
  std::int64_t experts = 0, per_token = 0, d_ff = 0;  ///< of all ranks; the width inside one expert
  bool gated = true;
  bool over_tensor = false;          ///< the tensor axis distributes experts too, instead of splitting each
  double layers = 1;                 ///< share of the layers that have experts
  std::vector<std::string> reasons;  ///< sentences
};

/// What is known of the model and its batch by now.
struct ModelSoFar {
  std::int64_t rows = 0;     ///< tokens of a microbatch on one rank
  std::int64_t d_model = 0;  ///< numbers of a token
  double passes = 0;         ///< layers times microbatches that a step of the rank runs
  bool recomputes = false;
  double steps = 1;  ///< that were recorded
};

/// Whether a trace has operators that only a mixture of experts calls: grouped products, or the choice of the experts
/// with the largest scores.
[[nodiscard]] bool computes_experts(const workloads::RecordedJob& job);

/// Of the first recorded rank, whose `kernels` these are. Nothing for a trace without experts.
[[nodiscard]] std::optional<RecognisedExperts> recognised_experts(const workloads::RecordedJob& job,
                                                                  const Degrees& degrees,
                                                                  const std::vector<TimedKernel>& kernels,
                                                                  const ModelSoFar& model);

}  // namespace lockstep::from_trace
