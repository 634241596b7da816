#pragma once
/// A pipeline schedule as a value: which rank does which work on which virtual stage and microbatch, in what order.
/// It holds no times; those come from time_order (pipeline_timing.hpp).
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/indexed.hpp"
#include "workloads/pipeline/ids.hpp"

namespace lockstep::workloads {

/// Backward is whole (`backward`), or split into the gradient of the stage's input, which the stage before waits for,
/// and the gradient of its weights, for which only the optimizer waits.
enum class PipelineWork : std::uint8_t { forward, backward, input_gradient, weight_gradient };
[[nodiscard]] std::string_view name(PipelineWork work);  ///< "F", "B", "I", "W"

struct PipelineAction {
  PipelineWork work{};
  VirtualStageId stage = 0;
  MicrobatchId microbatch = 0;
  friend bool operator==(const PipelineAction&, const PipelineAction&) = default;
  [[nodiscard]] std::string to_string() const;  ///< "3F7"
};

/// An entry of a rank's order: one action, or a forward and a backward that run overlapped.
struct PipelineCell {
  PipelineAction first;
  std::optional<PipelineAction> second;
  friend bool operator==(const PipelineCell&, const PipelineCell&) = default;
  [[nodiscard]] std::string to_string() const;  ///< "3F7" or "(0F7;3B3)OVERLAP_F_B"
};

/// Which rank runs which virtual stage. With P ranks:
/// linear         virtual stage s on rank s;
/// loop           virtual stage s on rank s mod P;
/// v, wave        every other run of P virtual stages backwards: 0..P-1, P-1..0, 0..P-1, ... (v: two runs);
/// bidirectional  microbatches of the first half run virtual stage s on rank s, the others on rank P-1-s, so
///                every virtual stage stands twice.
enum class StagePlacement : std::uint8_t { linear, loop, v, wave, bidirectional };
[[nodiscard]] std::string_view name(StagePlacement placement);
inline constexpr StagePlacement all_stage_placements[] = {StagePlacement::linear, StagePlacement::loop,
                                                          StagePlacement::v, StagePlacement::wave,
                                                          StagePlacement::bidirectional};

struct PipelineShape {
  StagePlacement placement = StagePlacement::linear;
  std::int32_t ranks = 1;         ///< P
  std::int32_t chunks = 1;        ///< V, virtual stages of one rank and direction
  std::int32_t microbatches = 1;  ///< M; M n where slices pass through the pipeline one by one, as microbatches do
  std::int32_t slices = 1;        ///< n: so many in a row are the slices of one microbatch's sequence, first to last

  [[nodiscard]] std::int32_t virtual_stages() const { return ranks * chunks; }
  [[nodiscard]] std::int32_t whole_microbatches() const { return microbatches / slices; }  ///< M
  [[nodiscard]] SliceId slice_of(MicrobatchId microbatch) const { return microbatch % slices; }
  [[nodiscard]] StageId rank_of(VirtualStageId stage, MicrobatchId microbatch) const;
  /// The virtual stages on a rank, ascending; a bidirectional rank has both its own and its mirror's.
  [[nodiscard]] std::vector<VirtualStageId> virtual_stages_of(StageId rank) const;
  /// `visit(virtual stage, microbatches that run it there)` for each virtual stage on a rank, ascending.
  template <class Visit>
  void for_each_virtual_stage_of(StageId rank, Visit visit) const;
};

template <class Visit>
void PipelineShape::for_each_virtual_stage_of(StageId rank, Visit visit) const {
  const auto mirrored = ranks - 1 - rank;
  const auto of_first_half = placement == StagePlacement::bidirectional && mirrored != rank ? microbatches / 2 : 0;
  for (VirtualStageId first = 0; first < virtual_stages(); first += ranks) {
    if (of_first_half > 0 && rank < mirrored) visit(first + rank, of_first_half);
    const bool forwards = placement == StagePlacement::linear || placement == StagePlacement::loop ||
                          (placement != StagePlacement::bidirectional && first / ranks % 2 == 0);
    visit(first + (forwards ? rank : mirrored), microbatches - of_first_half);
    if (of_first_half > 0 && rank > mirrored) visit(first + rank, of_first_half);
  }
}

using PipelineCells = Indexed<CellId, PipelineCell>;

struct PipelineOrder {
  std::string schedule;  ///< "1f1b"; "" for a user's own
  PipelineShape shape;
  Indexed<StageId, PipelineCells> ranks;
  [[nodiscard]] std::string to_string() const;  ///< one line per rank, cells separated by commas
  [[nodiscard]] std::int64_t cells() const;
};

/// Actions of a cell, one or two.
template <class Visit>
void for_each_action(const PipelineCell& cell, Visit visit) {
  visit(cell.first);
  if (cell.second) visit(*cell.second);
}

/// Thrown for a request that no schedule can fulfil: an illegal P, M or V, or a limit that nothing fits under.
class ScheduleError : public std::runtime_error {
 public:
  /// `about` names what is at fault: "stages", "microbatches", "chunks", "group", "memory-limit", "schedule".
  ScheduleError(std::string about, std::string what, std::string expected);
  [[nodiscard]] const std::string& about() const { return about_; }
  [[nodiscard]] const std::string& what_is_wrong() const { return what_; }
  [[nodiscard]] const std::string& expected() const { return expected_; }

 private:
  std::string about_, what_, expected_;
};

}  // namespace lockstep::workloads
