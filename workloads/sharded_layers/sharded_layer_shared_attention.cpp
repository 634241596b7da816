// Attention of slices that the stages of a pipeline share out (SlimPipe, arXiv 2504.14519, attention context exchange).
// Of n slices of one length the i-th has i + 1/2 blocks of a slice's queries by a slice's keys, n/2 on average. While
// stages work on different slices, one with more than that hands its queries, and the keys and values of the blocks too
// many, to one with less, which sends its results back. So every slice takes as long as the mean, and has the transfers
// of |i + 1/2 - n/2| blocks, as the one that hands over or as the other one.
#include <cmath>

#include "workloads/sharded_layers/sharded_layer_private.hpp"

namespace lockstep::workloads {

std::int64_t BlockDerivation::tokens_before() const {
  return policy_.sharing_slices > 0 ? sizes_.dim("T") * (policy_.sharing_slices - 1) / 2 : policy_.earlier_tokens;
}

double BlockDerivation::blocks_handed_over() const {
  const auto slice = static_cast<double>(policy_.earlier_tokens / sizes_.dim("T"));
  return std::abs(slice + 0.5 - policy_.sharing_slices / 2.0);
}

/// A transfer to another stage of the pipeline, while all of them do the same.
int BlockDerivation::hand_over(const std::string& what, Reads reads, Bytes size) {
  const DerivedCollective derived{
      CollectiveKind::point_to_point, {"pipeline"}, {}, {}, size, "stages share out the attention of slices"};
  const int step = pass().collective(derived, CollectiveRole::activation, std::move(reads.after), Bytes(0));
  pass()[step].name = what;
  pass()[step].saved = std::move(reads.saved);
  pass()[step].output = size;
  return step;
}

/// There queries (in the backward also the gradient of attention's output) with keys and values, beside the own part of
/// attention; back what comes of them, once both are done.
void BlockDerivation::share_attention(const BlockOp& op, Bytes queries, Bytes keys, const Reads& reads, bool backward,
                                      Version& result) {
  if (policy_.sharing_slices == 0 || op.reach.reach != AttentionReach::full) return;
  const Bytes handed(static_cast<std::int64_t>(static_cast<double>(keys.value()) * blocks_handed_over()));
  if (handed == Bytes(0)) return;
  again_ = backward;
  const auto output = bytes(crossing(op.output));
  const auto there = queries + handed + (backward ? output : Bytes(0));
  const auto back = backward ? queries + handed : output;
  const int sent = hand_over(op.name + ": queries, keys and values handed over", reads, there);
  StepIds both = result.producers;
  merge(both, sent);
  const int received = hand_over(op.name + ": results come back", {both, {}}, back);
  again_ = false;
  result.producers = {received};
}

}  // namespace lockstep::workloads
