#include "sim/studies/megatron_order.hpp"

#include <algorithm>
#include <array>

namespace lockstep::studies {

std::vector<MeshEntry> megatron_order(std::int64_t chips_of_a_node,
                                      const std::function<std::int64_t(std::string_view axis)>& size_of,
                                      bool pipeline_before_data) {
  std::array<std::string_view, 6> order{"tensor", "context", "expert", "fsdp", "data", "pipeline"};
  if (pipeline_before_data) std::rotate(order.begin() + 3, order.end() - 1, order.end());
  auto chips = chips_of_a_node;  // that no axis has yet
  std::vector<MeshEntry> mesh;
  for (const auto axis : order) {
    const auto size = size_of(axis);
    if (size <= 1) continue;
    if (size % chips != 0 && chips % size != 0) return {};
    const auto inside = std::min(size, chips), nodes = size / inside;
    chips /= inside;
    std::string parts;
    if (nodes > 1) parts = "node/" + std::to_string(nodes);
    if (inside > 1) parts += (parts.empty() ? "gpu/" : ", gpu/") + std::to_string(inside);
    mesh.push_back({std::string(axis), "[" + parts + "]"});
  }
  return mesh;
}

std::optional<ExpertRanks> ranks_of_experts(std::int64_t experts, std::int64_t inside, std::int64_t context,
                                            std::int64_t replicas) {
  const auto lie_on = [&](std::int64_t ranks) { return experts % ranks == 0 && replicas % (experts / ranks) == 0; };
  const std::string with_tensor = inside > 1 ? "[expert, tensor" : "[expert";
  if (lie_on(inside)) return ExpertRanks{experts / inside, with_tensor + "]"};
  if (lie_on(inside * context)) return ExpertRanks{experts / (inside * context), with_tensor + ", context]"};
  return std::nullopt;
}

}  // namespace lockstep::studies
