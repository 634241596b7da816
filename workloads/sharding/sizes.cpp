#include "workloads/sharding/sizes.hpp"

#include <algorithm>
#include <utility>

#include "topologies/placement/axis_digits.hpp"
#include "topologies/placement/mesh.hpp"
#include "workloads/sharding/axis_digits.hpp"
#include "workloads/sharding/bounded_elements.hpp"

namespace lockstep::workloads {
namespace {

std::int64_t size_of_axis(const Sizes& sizes, const std::string& axis) {
  const auto part = topologies::axis_part(axis);
  const auto found = sizes.axes.find(part.axis);
  if (found == sizes.axes.end())
    throw ShardingError(axis, "mesh axis " + axis + " does not exist", "an axis of the mesh");
  if (part.size == 0) return found->second;
  return topologies::is_outer_digit(axis) ? found->second / part.size : part.size;
}

const DimSize& dim_of(const Sizes& sizes, const std::string& name) {
  const auto found = sizes.dims.find(name);
  if (found == sizes.dims.end())
    throw ShardingError("", "dimension " + name + " has no size", "a dimension of the model");
  return found->second;
}

}  // namespace

ArrayTooLarge::ArrayTooLarge(const std::string& array)
    : ShardingError("", "array " + array + " has more than 1e17 elements", "fewer tokens, or a smaller model") {}

TooManyTiles::TooManyTiles(std::int64_t tiles, std::int64_t tokens)
    : ShardingError("",
                    std::to_string(tokens) + (tokens == 1 ? " token" : " tokens") +
                        " of a rank's microbatch cannot be cut into " + std::to_string(tiles) + " tiles",
                    "at most as many tiles as tokens") {}

std::int64_t bounded_elements(std::int64_t a, std::int64_t b, const std::string& array) {
  if (static_cast<double>(a) * static_cast<double>(b) > most_elements) throw ArrayTooLarge(array);
  return a * b;
}

std::int64_t Sizes::dim(const std::string& name) const {
  const auto& dim = dim_of(*this, name);
  return dim.size * dim.copies;
}

std::int64_t Sizes::own_elements(const std::vector<std::string>& names) const {
  std::int64_t result = 1;
  for (const auto& name : names) result = bounded_elements(result, dim_of(*this, name).size, "of weights");
  return result;
}

void Sizes::copy_over(const std::string& name, const AxisNames& axes_of_ranks) {
  auto& dim = dims.at(name);
  const auto over = whole_axes(axes_of_ranks);
  const auto ranks = product(over);
  if (!dim.may_copy || ranks <= dim.size || ranks % dim.size != 0) return;
  auto left = ranks / dim.size;
  AxisNames parts;
  for (auto axis = over.rbegin(); axis != over.rend() && left > 1; ++axis) {
    const auto size = size_of_axis(*this, *axis);
    if (left % size != 0 && size % left != 0) return;  // no neighbours along these axes
    const auto inside = std::min(left, size);
    parts.insert(parts.begin(), topologies::part_name(*axis, inside));
    left /= inside;
  }
  dim.copies = ranks / dim.size;
  dim.copied_over = std::move(parts);
}

AxisNames Sizes::copied_over(const ShardedTensor& tensor) const {
  AxisNames parts;
  for (const auto& sharded : tensor.dims) {
    const auto& copied = dim_of(*this, sharded.name).copied_over;
    parts.insert(parts.end(), copied.begin(), copied.end());
  }
  return parts;
}

std::int64_t Sizes::product(const AxisNames& names) const {
  std::int64_t result = 1;
  for (const auto& axis : names) result *= size_of_axis(*this, axis);
  return result;
}

std::int64_t Sizes::local(const ShardedDim& sharded) const {
  const auto parts = product(sharded.axes);
  return (dim(sharded.name) + parts - 1) / parts;
}

std::int64_t Sizes::local_elements(const ShardedTensor& tensor) const {
  std::int64_t result = 1;
  std::int64_t flat_parts = 1;
  for (const auto& sharded : tensor.dims) {
    std::int64_t parts = 1;
    for (const auto& axis : sharded.axes) (flat_axes.contains(axis) ? flat_parts : parts) *= size_of_axis(*this, axis);
    result = bounded_elements(result, (dim(sharded.name) + parts - 1) / parts, tensor.name);
  }
  return (result + flat_parts - 1) / flat_parts;
}

std::int64_t Sizes::padding_elements(const ShardedTensor& tensor) const {
  std::int64_t padded = local_elements(tensor);
  std::int64_t own = 1;
  for (const auto& sharded : tensor.dims) {
    padded = bounded_elements(padded, product(sharded.axes), tensor.name);
    own = bounded_elements(own, dim(sharded.name), tensor.name);
  }
  return padded - own;
}

void Sizes::check_divides(const ShardedTensor& tensor) const {
  for (const auto& sharded : tensor.dims) {
    if (sharded.axes.empty()) continue;
    const auto found = dims.find(sharded.name);
    if (found == dims.end() || !found->second.must_divide) continue;
    const auto parts = product(sharded.axes);
    if (dim(sharded.name) % parts == 0) continue;
    const auto whole = whole_axes(sharded.axes);
    throw ShardingError(
        topologies::axis_part(whole.front()).axis,
        "mesh " + std::string(whole.size() == 1 ? "axis " : "axes ") + subscript(whole) + " of size " +
            std::to_string(parts) + " does not divide " + sharded.name + " = " + std::to_string(found->second.size) +
            " of " + tensor.to_string(),
        "a size that divides " + std::to_string(found->second.size) +
            (found->second.may_copy ? ", or a multiple of it by which all keys and values are split" : ""));
  }
}

void Sizes::check_weight_divides(const ShardedTensor& tensor) const {
  auto split = tensor;
  for (auto& dim : split.dims) std::erase_if(dim.axes, [&](const auto& axis) { return flat_axes.contains(axis); });
  check_divides(split);
}

}  // namespace lockstep::workloads
