#pragma once
/// The published schedules as orders of a design problem.
#include <string>
#include <vector>

#include "workloads/pipeline/design/design_problem.hpp"

namespace lockstep::workloads {

struct PublishedWords {
  std::string name;     ///< "interleaved", with its group where it is not the usual one: "interleaved N=8"
  Words words;          ///< with whole backwards split, as a start for the search
  PipelineOrder order;  ///< as it is published
};

/// Every published schedule that stands as the problem's stages do, takes the request's sizes and stays within its
/// limits, in the order of the table; a schedule that holds too much is not among them.
[[nodiscard]] std::vector<PublishedWords> published_words(const DesignProblem& problem, const ScheduleRequest& request);

}  // namespace lockstep::workloads
