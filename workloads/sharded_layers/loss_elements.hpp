#pragma once
/// What cross-entropy holds for a logit while it runs (DerivePolicy::loss_element), by the kernels that compute it.
#include <array>
#include <string_view>
#include <utility>

#include "sim/core/units.hpp"

namespace lockstep::workloads {

inline constexpr Bytes loss_in_place{0};  ///< nothing: exponentials are computed wherever the logits are read
inline constexpr Bytes fused_loss{4};     ///< exponentials, in place of an fp32 copy of the logits
inline constexpr Bytes unfused_loss{12};  ///< that copy, its logarithms and their gradient, all in fp32
/// In place, but metrics of training compute the loss again, from an fp32 copy of the logits to its logarithms. They
/// run when the backward has freed the activations (Composer's _eval_train_metrics), so they add nothing to the peak.
inline constexpr Bytes loss_with_metrics{8};

/// By the words of `training.cross_entropy`.
inline constexpr std::array<std::pair<std::string_view, Bytes>, 4> losses{{{"fused", fused_loss},
                                                                           {"unfused", unfused_loss},
                                                                           {"in place", loss_in_place},
                                                                           {"with metrics", loss_with_metrics}}};

}  // namespace lockstep::workloads
