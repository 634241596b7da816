#pragma once
/// Summaries of plans, derived once for all plans that share them.
#include <map>
#include <memory>
#include <tuple>

#include "sim/studies/planning/plan_space.hpp"
#include "sim/studies/planning/plan_summary.hpp"

namespace lockstep {

class SummaryBook {
 public:
  explicit SummaryBook(const PlanSpace& space) : space_(space) { number(norm_over_stages_); }

  /// Depend on the axes that split layers, on the sequences of a microbatch on one rank, on whether there are several,
  /// on recomputation and on whether weights are gathered; not on how many ranks share the batch: those are taken for
  /// the smallest prime factor of their number, which leaves the tokens of a rank as they are, and what gathers pad
  /// arrays to no larger.
  [[nodiscard]] const PassesSummary& passes(const PlanChoice& choice);
  /// Depend on the axes and the ZeRO stage; on tokens only where products of weight gradients choose by them whether to
  /// gather an operand or to add up results: more tokens can only change them from the one to the other.
  [[nodiscard]] const StateSummary& state(const PlanChoice& choice);
  /// The sum of gradient norms over the stages.
  [[nodiscard]] const CollectiveList& norm_over_stages() const { return norm_over_stages_; }
  /// The kind of each block of the model, in forward order.
  [[nodiscard]] const std::vector<int>& order() const { return space_.kinds(); }

 private:
  const PlanSpace& space_;
  std::map<std::tuple<Degrees, std::int32_t, std::int32_t, std::int64_t, std::int64_t>, PassesSummary>
      passes_;  ///< axes, ZeRO, recomputation, sequences, one microbatch or more
  /// Of the most sequences, and of others if those are unlike.
  struct States {
    StateSummary most;
    bool alike = true;
    std::map<std::int64_t, StateSummary> others;
  };
  [[nodiscard]] StateSummary state(const PlanChoice& choice, std::int64_t sequences) const;
  [[nodiscard]] std::int64_t sequences(const PlanChoice& choice) const;  ///< of a microbatch on one rank
  std::map<std::pair<Degrees, std::int32_t>, States> states_;            ///< axes, ZeRO
  void number(CollectiveList& list);
  CollectiveList norm_over_stages_{{{CollectiveKind::all_reduce, 1U << pipeline_axis_number, Bytes(4), {}}}, {}};
  std::map<std::tuple<CollectiveKind, std::uint32_t, std::int64_t, std::int64_t, std::int64_t, std::int64_t>,
           std::int32_t>
      numbers_;  ///< of all collectives
};

}  // namespace lockstep
