#include "workloads/sharded_layers/kernel.hpp"

#include "workloads/sharding/bounded_elements.hpp"

namespace lockstep::workloads {

KernelShape product_shape(const Einsum& local, const Sizes& sizes) {
  KernelShape shape{1, 1, 1, 1};
  for (const auto& dim : local.left.dims) {
    const bool in_right = local.right.find(dim.name) != nullptr;
    const bool in_result = local.result.find(dim.name) != nullptr;
    auto& size = !in_right ? shape.m : in_result ? shape.batch : shape.k;
    size = bounded_elements(size, sizes.local(dim), local.left.name);
  }
  for (const auto& dim : local.right.dims) {
    if (local.left.find(dim.name) == nullptr) shape.n = bounded_elements(shape.n, sizes.local(dim), local.right.name);
  }
  return shape;
}

}  // namespace lockstep::workloads
