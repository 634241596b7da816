#pragma once
/// The time of a kernel on a chip that does not reach the rates of its data sheet: `model_of_time: calibrated`. Pure
/// functions of the chip's parameters and the kernel; equations in docs/models/kernels.md.
#include "topologies/chips/chip_kernels.hpp"
#include "workloads/sharded_layers/kernel.hpp"

namespace lockstep::cost {

/// Rates that large kernels reach, and the parameters that slow other kernels down.
struct KernelRates {
  FlopsPerSecond products{0};    ///< of the layers' products
  FlopsPerSecond in_16_bits{0};  ///< of attention and the unembedding
  BytesPerSecond memory{0};
  topologies::ChipKernels chip{};
};

/// At least flops / rate and at least traffic / rate, for rates at most the chip's peaks; grows with m, n and k.
[[nodiscard]] Seconds kernel_time(const KernelRates& rates, const workloads::Kernel& kernel);

/// The time of a product with padding to tiles, waves and the pipeline's depth, over the time of its FLOPs; at least 1.
[[nodiscard]] double product_overhead(const topologies::ChipKernels& chip, const workloads::KernelShape& shape);
/// The same for fused attention: softmax, and blocks on the diagonal.
[[nodiscard]] double attention_overhead(const topologies::ChipKernels& chip, const workloads::KernelShape& shape);

/// The clock of attention over that of products, in a step that spends `share` of the time of both on attention. A
/// power limit holds down the clock of a step; attention draws less than products do.
[[nodiscard]] double attention_clock(const topologies::ChipKernels& chip, double share);

/// The number of kernels of an operation. On GPUs frameworks launch one for each expert of a rank; casts to 8 bits are
/// separate kernels.
[[nodiscard]] int launches(const topologies::ChipKernels& chip, const workloads::Kernel& kernel);

}  // namespace lockstep::cost
