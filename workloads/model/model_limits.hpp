#pragma once
/// Limits that keep every later product inside 64 bits, and the checks shared by the readers of models.
#include <cstdint>

#include "sim/core/yaml_view.hpp"
#include "workloads/model/model.hpp"

namespace lockstep::workloads {

inline constexpr std::int64_t most_layers = 100'000;
inline constexpr std::int64_t most_size = std::int64_t{1} << 31;  ///< of any one dimension
inline constexpr std::int64_t most_chunk = 65'536;                ///< tokens that a recurrence takes at once
inline constexpr std::int64_t most_streams = 64;                  ///< residual streams of hyper-connections
inline constexpr double most_state = 1e12;                        ///< numbers in the states of one sequence and layer
inline constexpr double most_parameters = 1e15;  ///< leaves a factor 9000 in 64 bits for bytes of state

/// Fills head_size and kv_heads where they are 0 and records what does not fit together.
/// Sizes that could not be read are 0 and checked no further. `place` is where the model was written.
void complete_shape(Model& model, const YamlView& place);

/// Problems at the given keys if the numbers of experts and groups contradict each other; returns whether they fit.
/// Sizes that could not be read are 1 or more, so that nothing here divides by zero.
bool check_experts(const Experts& experts, const YamlView& per_token, const YamlView& groups,
                   const YamlView& groups_per_token);

/// Problems of compressed attention and of residual streams that do not fit the rest of the model, at `place`. Sizes
/// that could not be read are 0 and checked no further.
void check_compressed(const Model& model, const YamlView& place);

/// A problem at `place` if the heads of a recurrence contradict each other or its states are too large. Sizes that
/// could not be read are 0 and checked no further.
void check_recurrence(const Recurrence& recurrence, const YamlView& place);

}  // namespace lockstep::workloads
