#pragma once
/// Rules by which models spread windows and experts over their layers, as files write them.
#include <cstdint>
#include <functional>

#include "workloads/model/model.hpp"

namespace lockstep::workloads {

/// Which layers have the window: all but the first few, and but every full_every-th (counted from 1; 0: none).
struct WindowRule {
  AttentionReach reach = AttentionReach::full;
  std::int64_t span = 0;
  std::int64_t full_every = 0;
  std::int64_t full_first = 0;
};
void spread_window(const WindowRule& rule, Model& model);

/// Experts where `here` says so of a layer, counted from 0. Returns how many layers have them.
std::int64_t spread_experts(const std::function<bool(std::int64_t)>& here, Model& model);

/// Whether any layer has the dense MLP.
[[nodiscard]] bool has_dense_layer(const Model& model);

/// Layers that are all of the plain kind are written as an empty list, so that equal models compare equal.
void drop_plain_layer_kinds(Model& model);

}  // namespace lockstep::workloads
