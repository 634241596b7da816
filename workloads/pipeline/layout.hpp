#pragma once
/// Which parts of a model stand on which stages of a pipeline, as Megatron Core writes it
/// (megatron/core/transformer/pipeline_parallel_layer_layout.py): "Et*3|(tt|)*29,m|L".
#include <string>
#include <string_view>
#include <variant>

#include "sim/core/indexed.hpp"
#include "workloads/pipeline/ids.hpp"

namespace lockstep::workloads {

/// The letters of each virtual stage in forward order: E the embedding, t a layer, m a prediction module, L the loss
/// with the head before it.
using PipelineLayout = Indexed<VirtualStageId, std::string>;

/// Why a text is no layout, or why a layout does not suit a model.
struct LayoutProblem {
  std::string what, expected;
};

/// A bar ends a stage, `x*N` and `(...)*N` repeat, commas and spaces mean nothing. At most 300,000 letters and bars.
[[nodiscard]] std::variant<PipelineLayout, LayoutProblem> parse_layout(std::string_view text);
/// A short text that parse_layout reads as the same layout.
[[nodiscard]] std::string layout_text(const PipelineLayout& layout);

}  // namespace lockstep::workloads
