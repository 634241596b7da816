#pragma once
/// Rules by which models spread windows and experts over their layers, as files write them.
#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "workloads/model/model.hpp"

namespace lockstep::workloads {

/// Which layers with attention have the window: all but the first few, and but every full_every-th (counted from 1; 0:
/// none).
struct WindowRule {
  AttentionReach reach = AttentionReach::full;
  std::int64_t span = 0;
  std::int64_t full_every = 0;
  std::int64_t full_first = 0;
};
void spread_window(const WindowRule& rule, Model& model);

/// Experts where `here` says so of a layer, counted from 0. Returns how many layers have them. Layers without an MLP
/// are left alone.
std::int64_t spread_experts(const std::function<bool(std::int64_t)>& here, Model& model);

/// Layers of one letter each, as hybrid models are written: M a recurrence, * attention, - the dense MLP, E experts.
/// Empty where a letter is another.
[[nodiscard]] std::vector<LayerKind> layers_of_letters(std::string_view letters);

/// The same for a prediction module, in which a mixer and the MLP behind it are one layer.
[[nodiscard]] std::vector<LayerKind> prediction_of_letters(std::string_view letters);

/// A recurrence in place of attention, but where `attends` says so of a layer, counted from 0.
void spread_recurrence(const std::function<bool(std::int64_t)>& attends, Model& model);

/// An index of its own where `own` says so of a layer, counted from 0, else that of the layer before.
void spread_index(const std::function<bool(std::int64_t)>& own, Model& model);

/// Compressed attention, of one letter for each layer: w the window alone, c chosen entries too, a all entries. Whether
/// these are letters for so many layers.
[[nodiscard]] bool spread_compression(std::string_view letters, Model& model);
[[nodiscard]] char letter_of(Compression compression);

/// Whether any layer has the dense MLP.
[[nodiscard]] bool has_dense_layer(const Model& model);

/// Layers that are all of the plain kind are written as an empty list, so that equal models compare equal.
void drop_plain_layer_kinds(Model& model);

}  // namespace lockstep::workloads
