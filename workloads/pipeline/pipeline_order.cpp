#include "workloads/pipeline/pipeline_order.hpp"

#include <algorithm>
#include <utility>

namespace lockstep::workloads {

std::string_view name(PipelineWork work) {
  switch (work) {
    case PipelineWork::forward: return "F";
    case PipelineWork::backward: return "B";
    case PipelineWork::input_gradient: return "I";
    case PipelineWork::weight_gradient: return "W";
  }
  return "";
}

std::string_view name(StagePlacement placement) {
  switch (placement) {
    case StagePlacement::linear: return "linear";
    case StagePlacement::loop: return "loop";
    case StagePlacement::v: return "v";
    case StagePlacement::wave: return "wave";
    case StagePlacement::bidirectional: return "bidirectional";
  }
  return "";
}

std::string PipelineAction::to_string() const {
  return std::to_string(stage) + std::string(name(work)) + std::to_string(microbatch);
}

std::string PipelineCell::to_string() const {
  if (!second) return first.to_string();
  return "(" + first.to_string() + ";" + second->to_string() + ")OVERLAP_F_B";
}

StageId PipelineShape::rank_of(VirtualStageId stage, MicrobatchId microbatch) const {
  const auto along = stage % ranks;
  switch (placement) {
    case StagePlacement::linear:
    case StagePlacement::loop: return along;
    case StagePlacement::v:
    case StagePlacement::wave: return (stage / ranks) % 2 == 0 ? along : ranks - 1 - along;
    case StagePlacement::bidirectional: return microbatch < microbatches / 2 ? along : ranks - 1 - along;
  }
  return along;
}

std::vector<VirtualStageId> PipelineShape::virtual_stages_of(StageId rank) const {
  std::vector<VirtualStageId> result;
  for_each_virtual_stage_of(rank, [&](VirtualStageId stage, std::int32_t) { result.push_back(stage); });
  return result;
}

std::string PipelineOrder::to_string() const {
  std::string text;
  for (const auto& cells : ranks) {
    for (std::size_t i = 0; i < cells.size(); ++i) text += (i == 0 ? "" : ",") + cells[i].to_string();
    text += "\n";
  }
  return text;
}

std::int64_t PipelineOrder::cells() const {
  std::int64_t count = 0;
  for (const auto& rank : ranks) count += std::ssize(rank);
  return count;
}

ScheduleError::ScheduleError(std::string about, std::string what, std::string expected)
    : std::runtime_error(about + ": " + what + "; expected " + expected),
      about_(std::move(about)),
      what_(std::move(what)),
      expected_(std::move(expected)) {}

}  // namespace lockstep::workloads
