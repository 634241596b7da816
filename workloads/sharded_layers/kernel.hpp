#pragma once
/// The properties of one rank's compute step on which its time depends.
#include <cstdint>

#include "sim/core/units.hpp"
#include "workloads/sharding/derive.hpp"

namespace lockstep::workloads {

/// The kind of work on which a compute step spends its FLOPs; decides at which peak rate they run.
enum class ComputeWork {
  memory,        ///< none that count: norms, activation functions, the update
  product,       ///< matrix products of the layers
  head_product,  ///< the unembedding: stays in 16 bits where the layers' products have 8
  attention      ///< scores and values
};

/// Products: `batch` of them (experts) at once, each m x k by k x n. Attention: `batch` heads of all sequences, each
/// with m queries, k keys and a head size of n. All in elements; zero where unknown.
struct KernelShape {
  std::int64_t batch = 0;
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  bool causal = false;        ///< attention: later keys are masked
  bool backward = false;      ///< attention: twice the products
  bool fused = true;          ///< attention: scores stay on the chip; else they pass through memory, masked ones too
  bool unlike_heads = false;  ///< attention: values are not as wide as queries and keys; n is the mean of both
  bool dropout = false;       ///< fused attention: scores are dropped at random
  /// Products of experts without a capacity: which side counts their tokens, of which each expert has its own number.
  enum class Counted { none, rows, depth } counted = Counted::none;
  bool grouped = false;      ///< GPUs: all products of a batch (experts) are one kernel, not one each
  std::int32_t kernels = 1;  ///< memory: so many, one after the other
  friend bool operator==(const KernelShape&, const KernelShape&) = default;
};

/// The shape of the product that one rank multiplies.
[[nodiscard]] KernelShape product_shape(const Einsum& local, const Sizes& sizes);

struct Kernel {
  ComputeWork work = ComputeWork::memory;
  Flops flops{0};    ///< as the equations count them: half under a causal mask
  Bytes traffic{0};  ///< read and written in memory
  KernelShape shape{};
  Bytes casts{0};    ///< of the kernel before a product that makes its operand of 8 bits
  Bytes indexed{0};  ///< of the traffic: rows that are read or written where an index says
  Bytes added{0};    ///< of a product's traffic: what lies in memory already, to which it adds its result, and the sum
};

}  // namespace lockstep::workloads
