#pragma once
/// Orders written out by hand in tests: "0F0 (0F1;0B0) 0B1" per rank. Nothing is checked.
#include <string>
#include <vector>

#include "workloads/pipeline/pipeline_order.hpp"

namespace lockstep {

[[nodiscard]] inline workloads::PipelineAction action_of(const std::string& text) {
  const auto at = text.find_first_of("FBIW");
  const auto work = text[at] == 'F'   ? workloads::PipelineWork::forward
                    : text[at] == 'B' ? workloads::PipelineWork::backward
                    : text[at] == 'I' ? workloads::PipelineWork::input_gradient
                                      : workloads::PipelineWork::weight_gradient;
  return {work, std::stoi(text.substr(0, at)), std::stoi(text.substr(at + 1))};
}

[[nodiscard]] inline workloads::PipelineOrder order_of(workloads::StagePlacement placement, std::int32_t chunks,
                                                       std::int32_t microbatches,
                                                       const std::vector<std::string>& rows) {
  workloads::PipelineOrder order;
  order.shape = {placement, static_cast<std::int32_t>(rows.size()), chunks, microbatches};
  for (const auto& row : rows) {
    auto& cells = order.ranks.emplace_back();
    for (std::size_t begin = 0; begin < row.size();) {
      const auto end = std::min(row.find(' ', begin), row.size());
      const auto text = row.substr(begin, end - begin);
      const auto middle = text.find(';');
      if (middle == std::string::npos)
        cells.push_back({action_of(text), {}});
      else
        cells.push_back(
            {action_of(text.substr(1, middle - 1)), action_of(text.substr(middle + 1, text.size() - middle - 2))});
      begin = end + 1;
    }
  }
  return order;
}

}  // namespace lockstep
