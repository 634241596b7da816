#pragma once
/// The documents that a step's sequences hold, drawn from the scenario's histogram of lengths, and what their attention
/// costs the ranks.
#include <cstdint>
#include <vector>

#include "sim/scenario/scenario.hpp"
#include "workloads/sharded_layers/plan.hpp"
#include "workloads/step/sequence_load.hpp"

namespace lockstep::preparation {

/// Lengths of the documents in each sequence of the step, in the order in which microbatches and replicas take them; a
/// part of a document that is cut counts as one. The same seed draws the same documents.
[[nodiscard]] std::vector<std::vector<std::int64_t>> documents_of_step(const scenario::Scenario& scenario);

/// Attention of each microbatch on the ranks that the others wait for. Ranks that meet in every layer or reduce
/// gradients in every microbatch wait for the one with the most work in each; the rest meet at the step's end, so that
/// the ranks with the most work in all microbatches count. Empty without lengths.
[[nodiscard]] workloads::SequenceLoad sequence_load(const scenario::Scenario& scenario,
                                                    const workloads::Parallel& parallel);

/// The least work of attention that a sequence of the step has in layers of that reach, over that of a sequence which
/// is one document. Where documents lie on all context ranks, no rank has less for each of its sequences, however the
/// step is split.
[[nodiscard]] double least_attended(const scenario::Scenario& scenario,
                                    const std::vector<std::vector<std::int64_t>>& documents,
                                    const workloads::LayerKind& reach);

/// FLOPs that MFU counts: those of the documents, without padding.
[[nodiscard]] Flops flops_of_documents(const scenario::Scenario& scenario);

/// Refuses lengths with a model or plan whose attention they cannot be had with.
void check_lengths(const scenario::Scenario& scenario, const workloads::Parallel& parallel);

}  // namespace lockstep::preparation
