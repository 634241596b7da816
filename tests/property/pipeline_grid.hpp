#pragma once
/// The enumerated grid of small steps with a pipeline.
#include <ostream>
#include <string>
#include <vector>

#include "tests/property/simulated_step.hpp"

namespace lockstep::test {

/// One schedule on pipelines of several sizes, with several numbers of microbatches.
struct PipelineRow {
  std::string name;  ///< letters and digits
  std::string schedule;
  std::vector<Case> cases;
  friend void PrintTo(const PipelineRow& row, std::ostream* out) { *out << row.schedule; }
};

/// Every schedule x every legal size; layouts of the mesh (the pipeline as ring, line, part or remainder of an axis,
/// with other axes in the stages), models (tied embeddings, uneven stages) and options are dealt out over them.
[[nodiscard]] const std::vector<PipelineRow>& pipeline_grid();

/// The pipeline alone on whole axes, where sends share no link: flows take the closed forms.
[[nodiscard]] const std::vector<Case>& lone_pipelines();

}  // namespace lockstep::test
