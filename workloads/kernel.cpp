#include "workloads/kernel.hpp"

namespace lockstep {

KernelShape product_shape(const Einsum& local, const Sizes& sizes) {
  KernelShape shape{1, 1, 1, 1};
  for (const auto& dim : local.left.dims) {
    const bool in_right = local.right.find(dim.name) != nullptr;
    const bool in_result = local.result.find(dim.name) != nullptr;
    (!in_right ? shape.m : in_result ? shape.batch : shape.k) *= sizes.local(dim);
  }
  for (const auto& dim : local.right.dims) {
    if (local.left.find(dim.name) == nullptr) shape.n *= sizes.local(dim);
  }
  return shape;
}

}  // namespace lockstep
