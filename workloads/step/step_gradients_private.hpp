#pragma once
/// Gradients from their first contribution to the optimizer: reduced in buckets, exchanged between stages that
/// hold copies of a weight, and used up by the update.
#include <map>
#include <set>

#include "workloads/step/collective_chains_private.hpp"
#include "workloads/step/reductions_in_flight_private.hpp"
#include "workloads/step/weight_copies_private.hpp"

namespace lockstep::workloads {

class StepGradients {
 public:
  explicit StepGradients(StepWriter& writer);

  /// To be called when one block's weight gradients of one microbatch are written; `backward` is the block's backward
  /// pass.
  void take(const StepPlace& place, const PassVertices& backward);
  /// Sends the gradients that wait in a stage's buckets.
  void flush(std::int32_t stage);
  /// Reductions that must have ended before the stage computes any further.
  [[nodiscard]] const OpIds& wait(const StepPlace& place) { return in_flight_.wait(place.stage, place.half); }
  /// Writes the optimizer, after everything else.
  void update();
  /// The gathers of updated weights that a block's forward waits for, if they are gathered ahead and the forward is the
  /// block's first on its stage.
  [[nodiscard]] OpIds published_ahead(const StepPlace& place);

 private:
  /// A copy of a weight: on a stage, and whose weight it is.
  using Copy = std::pair<std::int32_t, Owner>;
  struct State {
    Gradient gradient;
    std::vector<int> contributors;  ///< blocks that add to it here, on any microbatch
    std::int64_t microbatches_left = 0;
    std::map<std::int32_t, int> taken;  ///< contributions so far, by microbatch that is not complete
  };

  void hold_weights();
  void hold_copy(std::int32_t stage, const Owner& owner, int block);
  void hold_outer_state();
  void count_microbatches();
  /// The part that a block's backward on a stage adds to the gradient of one weight, its own or one tied to it.
  struct Contribution {
    Owner owner;
    const WeightUpdate* update;
    std::vector<int> steps;
    State* state;
  };
  /// Gradients waiting to be reduced together.
  struct Bucket {
    ChainsTogether chains;
    std::vector<const Contribution*> contributions;
    Bytes size{0};
    OpIds after;
  };
  const std::vector<Contribution>& contributions(std::int32_t stage, int block);
  void contribute(const StepPlace& place, const Contribution& contribution, const PassVertices& backward);
  void drop_earlier_passes(OpIds& ready, OpId latest) const;
  [[nodiscard]] int expected(const State& state, std::int32_t stage, std::int32_t microbatch) const;
  void send(const StepPlace& place, const Contribution& contribution);
  void flush(std::int32_t stage, const Bucket& bucket);
  [[nodiscard]] std::int32_t last_microbatch() const { return writer_.pipeline.order.shape.microbatches - 1; }
  [[nodiscard]] std::int32_t microbatch_of(const OpIds& after) const;
  void exchange_copies();
  OpIds wait_for_all();
  static StepWork sum_of_norms(const AxisNames& axes);
  void hold_sent_copy(std::int32_t stage, const Bucket& bucket, OpId first, OpId last);
  void send_gradients_down();
  OpId update_op(const StepPlace& place, const std::vector<Owner>& owners, const OpIds& after);
  // step_muon.cpp
  OpIds orthogonalize(const StepPlace& place, const std::vector<Owner>& owners, const OpIds& after);
  [[nodiscard]] double unevenness(std::int32_t stage, std::int64_t owners);
  void hold_uneven_states(std::int32_t stage);
  void outside_the_step(std::int32_t stage, OpId first);
  void update_block(std::int32_t stage, int block, const std::vector<Owner>& owners, const OpIds& barrier);

  StepWriter& writer_;
  WeightCopies copies_;
  CollectiveChains chains_;
  std::map<Copy, State> states_;
  std::map<Owner, std::set<std::int32_t>> stages_of_;                     ///< where copies stand
  std::map<std::int32_t, std::map<int, std::vector<Owner>>> updated_by_;  ///< stage, block: its weights, in order
  std::map<std::pair<std::int32_t, int>, std::vector<Contribution>> contributions_;  ///< by stage and block
  std::map<std::int32_t, std::vector<Bucket>> buckets_;                              ///< by stage
  ReductionsInFlight in_flight_;
  std::map<std::pair<std::int32_t, std::int64_t>, double> unevenness_;  ///< by stage and ranks that own matrices
  std::set<std::pair<std::int32_t, int>> ahead_;  ///< stages and blocks whose weights this step has gathered ahead
  std::map<std::pair<std::int32_t, int>, BufferId> on_host_;  ///< by stage and block: the buffer of offloaded gradients
};

}  // namespace lockstep::workloads
