#pragma once
/// Orders made letter by letter in time: whichever rank is free first takes what its rule puts first.
#include <optional>

#include "workloads/pipeline/design/design_problem.hpp"

namespace lockstep::workloads {

struct ListRule {
  Indexed<StageId, double> caps;  ///< most that a rank holds, at most its limit
  double patience = 0;            ///< a weight gradient may delay the next known arrival by this share of itself
  double hold = 0;             ///< a forward waits for an input gradient that arrives within this share of the forward
  bool weights_first = false;  ///< a weight gradient runs right after its input gradient
};

/// Nothing if ranks come to wait for each other's memory.
[[nodiscard]] std::optional<Words> list_words(const DesignProblem& problem, const ListRule& rule);

}  // namespace lockstep::workloads
