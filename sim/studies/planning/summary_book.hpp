#pragma once
/// Summaries of plans, derived once for all plans that share them.
#include <map>
#include <memory>
#include <tuple>

#include "sim/studies/planning/plan_space.hpp"
#include "sim/studies/planning/plan_summary.hpp"

namespace lockstep::planning {

class SummaryBook {
 public:
  explicit SummaryBook(const PlanSpace& space);

  /// Passes depend on the axes that split layers, on the sequences of a microbatch on one rank, on whether there are
  /// several microbatches, on recomputation and on whether weights are gathered. They do not depend on how many ranks
  /// share the batch: the summary assumes the smallest prime factor of that number, which does not change the tokens of
  /// a rank and never makes padded arrays larger. With documents, attention has the work of the sequence that has the
  /// least: the bounds stay bounds, whichever documents a microbatch gets.
  [[nodiscard]] const PassesSummary& passes(const PlanChoice& choice);
  /// States depend on the axes and the ZeRO stage. They depend on tokens only if a product of a weight gradient chooses
  /// by the tokens whether to gather an operand or to add up results; more tokens can only change the choice from
  /// gathering to adding up. So states that are alike for two numbers of sequences are alike for all between them.
  [[nodiscard]] const StateSummary& state(const PlanChoice& choice);
  /// The sum of gradient norms over the stages.
  [[nodiscard]] const CollectiveList& norm_over_stages() const { return norm_over_stages_; }
  /// The kind of each block of the model, in forward order.
  [[nodiscard]] const std::vector<int>& order() const { return space_.kinds(); }

 private:
  const PlanSpace& space_;
  std::map<std::tuple<Degrees, std::int32_t, std::int32_t, std::int64_t, std::int64_t>, PassesSummary>
      passes_;  ///< axes, ZeRO, recomputation, sequences, one microbatch or more
  /// By numbers of sequences, one and the most of them included; those that are alike are one.
  using States = std::map<std::int64_t, std::shared_ptr<const StateSummary>>;
  [[nodiscard]] StateSummary state(const PlanChoice& choice, std::int64_t sequences);
  [[nodiscard]] std::int64_t sequences(const PlanChoice& choice) const;  ///< of a microbatch on one rank
  std::map<std::pair<Degrees, std::int32_t>, States> states_;            ///< axes, ZeRO
  void number(CollectiveList& list);
  void leave_least_attention(workloads::ShardedLayers& layers) const;
  std::vector<std::vector<std::int64_t>> documents_;  ///< of each sequence of the step; empty: each is one
  CollectiveList norm_over_stages_{{{workloads::CollectiveKind::all_reduce, 1U << pipeline_axis_number, Bytes(4), {}}},
                                   {}};
  std::map<std::tuple<workloads::CollectiveKind, std::uint32_t, std::int64_t, std::int64_t, std::int64_t, std::int64_t>,
           std::int32_t>
      numbers_;  ///< of all collectives
};

}  // namespace lockstep::planning
