#pragma once
/// The closed forms of a layer of two matmuls (docs/models/roofline.md): when communication hides behind
/// compute. C FLOP/s of a chip, W bytes/s of one ICI axis in both directions, B tokens of the global batch,
/// D d_model, F d_ff, N chips, X and Y chips on the FSDP and the tensor axis, M hardware axes that each spans.
#include <cstdint>

#include "sim/core/units.hpp"
#include "topologies/chips/chip.hpp"

namespace lockstep::roofline {

struct LayerShape {
  double tokens;   ///< B
  double d_model;  ///< D
  double d_ff;     ///< F; for a gated MLP the width of the two matmuls that move as many weights
};

struct ChipBalance {
  FlopsPerSecond flops;                                                            ///< C
  BytesPerSecond axis;                                                             ///< W: both directions of one axis
  [[nodiscard]] double intensity() const { return flops.value() / axis.value(); }  ///< alpha = C / W, FLOPs per byte
};
[[nodiscard]] ChipBalance balance_of(const topologies::Chip& chip, topologies::Precision precision);

/// Tokens per chip above which DP or FSDP over `axes` hardware axes is compute-bound: C / (W M_X).
[[nodiscard]] double fsdp_threshold(const ChipBalance& balance, int axes);
/// Largest tensor-parallel size that stays compute-bound: Y < M_Y F W / C; independent of the batch.
[[nodiscard]] double tensor_limit(const ChipBalance& balance, double d_ff, int axes);
/// FSDP size that balances both: X_opt = sqrt(B / F x M_X / M_Y x N).
[[nodiscard]] double best_fsdp_size(const LayerShape& layer, double chips, int fsdp_axes, int tensor_axes);
/// Tokens per chip that FSDP + TP at X_opt needs: alpha^2 / (M_X M_Y F).
[[nodiscard]] double mixed_threshold(const ChipBalance& balance, double d_ff, int fsdp_axes, int tensor_axes);
/// Tokens per slice above which data parallelism over the data-centre network hides: C / W_dcn of a chip.
[[nodiscard]] double dcn_threshold(FlopsPerSecond flops, BytesPerSecond dcn_per_chip);

/// Forward times of one layer, in bf16.
[[nodiscard]] Seconds math_time(const ChipBalance& balance, const LayerShape& layer,
                                double chips);  ///< 4 B D F / (N C)
[[nodiscard]] Seconds fsdp_time(const ChipBalance& balance, const LayerShape& layer, double tensor,
                                int fsdp_axes);  ///< 4 D F / (Y W M_X)
[[nodiscard]] Seconds tensor_time(const ChipBalance& balance, const LayerShape& layer, double fsdp,
                                  int tensor_axes);  ///< 4 B D / (X W M_Y)
/// T_math / T_comms at X_opt: sqrt(B F M_X M_Y) / (alpha sqrt N).
[[nodiscard]] double mixed_ratio(const ChipBalance& balance, const LayerShape& layer, double chips, int fsdp_axes,
                                 int tensor_axes);

/// The plan that the closed forms name: TP a power of two that divides the chips, nearest to N / X_opt.
struct MixedPlan {
  std::int64_t fsdp = 1;
  std::int64_t tensor = 1;
};
[[nodiscard]] MixedPlan nearest_plan(double best_fsdp, std::int64_t chips);

}  // namespace lockstep::roofline
