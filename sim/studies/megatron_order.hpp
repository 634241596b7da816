#pragma once
/// Where Megatron puts its ranks: their order as a mesh, and which of them share out experts.
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::studies {

/// An entry of a scenario's `mesh`: "tensor" and "[gpu/4]".
struct MeshEntry {
  std::string axis, place;
};

/// Megatron numbers its ranks tensor, context, data, pipeline from the inside out, experts those of the data axis first
/// (core/parallel_state.py, `order`: tp-cp-ep-dp-pp; with --use-tp-pp-dp-mapping tp-cp-ep-pp-dp; in 2021
/// megatron/mpu/initialize.py, the same without context and experts). So the axes take neighbours in this order, first
/// the chips of a node, then nodes. `size_of`: of an axis of `parallel`, 1 where there is none. Axes of one rank have
/// no entry. Empty where the chips of a node are no product of sizes or of their parts.
[[nodiscard]] std::vector<MeshEntry> megatron_order(std::int64_t chips_of_a_node,
                                                    const std::function<std::int64_t(std::string_view axis)>& size_of,
                                                    bool pipeline_before_data = false);

/// The ranks over which experts are shared out: so many of an axis of their own, and as `parallel.experts_over` names
/// all axes.
struct ExpertRanks {
  std::int64_t expert = 1;
  std::string over;
};
/// `inside`: tensor ranks with experts of their own. With them first come replicas, and where that does not divide,
/// context ranks and then replicas. None: experts would lie on other ranks.
[[nodiscard]] std::optional<ExpertRanks> ranks_of_experts(std::int64_t experts, std::int64_t inside,
                                                          std::int64_t context, std::int64_t replicas);

}  // namespace lockstep::studies
