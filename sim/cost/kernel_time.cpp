#include "sim/cost/kernel_time.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace lockstep::cost {
namespace {

// Sides of the tiles that GPU libraries have kernels for; the best for a product is taken.
constexpr std::array tile_rows{64, 128, 256};
constexpr std::array tile_columns{64, 96, 128, 160, 192, 256};
constexpr std::int64_t largest_tile = 256 * 256;
constexpr int sublanes = 8;  // rows that a TPU's matrix unit takes at a time

std::int64_t up(std::int64_t size, std::int64_t step) { return (size + step - 1) / step; }
double real(std::int64_t value) { return static_cast<double>(value); }

/// Tiles run in waves of one for each multiprocessor; a tile of a x b costs as (a + e)(b + e) would without edges.
double time_in_tiles(const topologies::ChipKernels& chip, const workloads::KernelShape& shape) {
  double best = std::numeric_limits<double>::infinity();
  for (const auto rows : tile_rows) {
    for (const auto columns : tile_columns) {
      if (std::int64_t{rows} * columns > largest_tile) continue;
      const auto waves = up(shape.batch * up(shape.m, rows) * up(shape.n, columns), chip.units);
      best = std::min(best, real(waves) * chip.units * (rows + chip.tile_edge) * (columns + chip.tile_edge));
    }
  }
  return best / (real(shape.batch) * real(shape.m) * real(shape.n));
}

double padded(std::int64_t size, int step) { return real(up(size, step) * step) / real(size); }

/// Tiles that hold rows of two experts run for each of them.
double shared_tiles(const topologies::ChipKernels& chip, const workloads::KernelShape& shape) {
  if (shape.counted == workloads::KernelShape::Counted::none) return 1;
  return 1 + chip.grouped_tile / real(shape.counted == workloads::KernelShape::Counted::rows ? shape.m : shape.k);
}

/// The longer of both, and the first and last pieces of the other, which nothing hides.
Seconds overlapped(Seconds compute, Seconds memory, Seconds staged) {
  return std::max(compute, memory) + std::min({compute, memory, staged});
}

/// Scores, softmax and values as kernels of their own: full products, masked or not, and then the scores' way through
/// memory.
Seconds unfused_attention(const KernelRates& rates, const workloads::Kernel& kernel) {
  const auto batch = kernel.shape.batch, m = kernel.shape.m, n = kernel.shape.n, k = kernel.shape.k;
  const auto of = [&](const workloads::KernelShape& product) {
    const Flops flops(2.0 * real(product.batch) * real(product.m) * real(product.n) * real(product.k));
    return flops / rates.in_16_bits * product_overhead(rates.chip, product);
  };
  const Seconds both = of({batch, m, k, n}) + of({batch, m, n, k});
  return both * (kernel.shape.backward ? 2.0 : 1.0) + kernel.traffic / rates.memory;
}

Seconds time_of(const KernelRates& rates, const workloads::Kernel& kernel, Bytes traffic) {
  return traffic / rates.memory + kernel.indexed / rates.memory * (1 / rates.chip.indexed - 1);
}

/// A tile's sum with what lies in memory follows its last multiplication, and the next tile waits for it. That is never
/// faster than moving it beside the multiplications.
Seconds product(const KernelRates& rates, const workloads::Kernel& kernel, FlopsPerSecond rate) {
  const Seconds compute = kernel.flops / rate * product_overhead(rates.chip, kernel.shape);
  const Seconds staged = rates.chip.staging / rates.memory;
  const Seconds beside = overlapped(compute, time_of(rates, kernel, kernel.traffic), staged);
  if (rates.chip.accumulation <= 0) return beside;
  const BytesPerSecond sums = rates.memory * (rates.chip.accumulation / rates.chip.memory);
  return std::max(
      beside, overlapped(compute, time_of(rates, kernel, kernel.traffic - kernel.added), staged) + kernel.added / sums);
}

Seconds body(const KernelRates& rates, const workloads::Kernel& kernel) {
  const Seconds memory = time_of(rates, kernel, kernel.traffic);
  switch (kernel.work) {
    case workloads::ComputeWork::memory: return memory;
    case workloads::ComputeWork::product: return product(rates, kernel, rates.products) + kernel.casts / rates.memory;
    case workloads::ComputeWork::head_product: return product(rates, kernel, rates.in_16_bits);
    case workloads::ComputeWork::attention:
      if (!kernel.shape.fused) return unfused_attention(rates, kernel);
      return overlapped(kernel.flops / rates.in_16_bits * attention_overhead(rates.chip, kernel.shape), memory,
                        rates.chip.staging / rates.memory);
  }
  return memory;
}

}  // namespace

double product_overhead(const topologies::ChipKernels& chip, const workloads::KernelShape& shape) {
  if (shape.batch * shape.m * shape.n * shape.k == 0) return 1;
  const double filled = 1 + chip.depth / real(shape.k);
  if (chip.units > 0) return time_in_tiles(chip, shape) * filled;
  return padded(shape.m, sublanes) * padded(shape.n, chip.systolic) * padded(shape.k, chip.systolic) * filled *
         shared_tiles(chip, shape);
}

double attention_overhead(const topologies::ChipKernels& chip, const workloads::KernelShape& shape) {
  const auto& kernels = chip.attention;
  double reached = shape.backward ? kernels.backward : kernels.forward;
  if (shape.backward && shape.unlike_heads) reached *= kernels.unlike_heads;
  if (shape.n * shape.k == 0) return 1 / reached;
  const double diagonal = shape.causal ? 1 + kernels.block / real(shape.k) : 1;
  const double numbers = shape.dropout ? 1 + kernels.random : 1;                // an exponential, and one at random
  const double softmax = numbers * kernels.softmax / (shape.backward ? 2 : 1);  // once for twice the products
  return diagonal * (1 + softmax / real(shape.n)) / reached;
}

double attention_clock(const topologies::ChipKernels& chip, double share) {
  constexpr double exponent = 1.57;  // of the clock in dynamic power under a limit: factryze.ai, power capping
  const double power = share * chip.attention.power + (1 - share);
  return std::min(1 / chip.sustained, std::pow(power, -1 / exponent));
}

Seconds kernel_time(const KernelRates& rates, const workloads::Kernel& kernel) {
  if (kernel.flops.value() == 0 && kernel.traffic.value() == 0) return Seconds(0);  // the graph's bookkeeping
  return body(rates, kernel) + rates.chip.gap * launches(rates.chip, kernel);
}

int launches(const topologies::ChipKernels& chip, const workloads::Kernel& kernel) {
  const auto& shape = kernel.shape;
  if (kernel.work == workloads::ComputeWork::product) {
    const auto products = chip.units > 0 && !shape.grouped ? std::max<std::int64_t>(shape.batch, 1) : 1;
    return static_cast<int>(kernel.casts.value() > 0 ? 2 * products : products);
  }
  if (kernel.work == workloads::ComputeWork::memory) return shape.kernels;
  if (kernel.work != workloads::ComputeWork::attention || shape.fused) return 1;
  return shape.backward ? 6 : 4;  // products (4 or 2), softmax, dropout
}

}  // namespace lockstep::cost
