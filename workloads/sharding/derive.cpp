#include "workloads/sharding/derive.hpp"

#include <algorithm>

#include "workloads/sharding/bounded_elements.hpp"

namespace lockstep::workloads {
namespace {

void refuse_bad_tensor(const ShardedTensor& tensor, const Sizes& sizes) {
  const auto count = [&](const std::string& axis) {
    auto times = std::count(tensor.partial.begin(), tensor.partial.end(), axis);
    for (const auto& dim : tensor.dims) times += std::count(dim.axes.begin(), dim.axes.end(), axis);
    return times;
  };
  const auto once = [&](const AxisNames& axes) {
    for (const auto& axis : axes) {
      if (count(axis) > 1)
        throw ShardingError(axis, "mesh axis " + axis + " is used twice in " + tensor.to_string(),
                            "an axis at most once per tensor");
    }
    (void)sizes.product(axes);  // all of them exist
  };
  for (const auto& dim : tensor.dims) {
    (void)sizes.dim(dim.name);
    once(dim.axes);
  }
  once(tensor.partial);
  sizes.check_divides(tensor);
}

/// One operand on its way to what it is when the ranks multiply.
struct Operand {
  ShardedTensor tensor;
  Bytes element;
  AxisNames to_gather;
  std::string reason;

  void gather(const std::string& axis, const std::string& why) {
    if (contains(to_gather, axis)) return;
    to_gather.push_back(axis);
    reason += (reason.empty() ? "" : "; ") + why;
  }
  [[nodiscard]] bool uses(const std::string& axis) const { return tensor.sharded_by(axis) != nullptr; }
  [[nodiscard]] double bytes_to_gather(const std::string& axis, const Sizes& sizes) const {
    return static_cast<double>(bounded_elements(sizes.local_elements(tensor), sizes.product({axis}), tensor.name) *
                               element.value());
  }
};

class Product {
 public:
  Product(const Einsum& einsum, const Sizes& sizes, const DeriveOptions& options)
      : einsum_(einsum), sizes_(sizes), options_(options) {
    left_ = {einsum.left, options.left_element, {}, {}};
    right_ = {einsum.right, options.right_element, {}, {}};
  }

  Derivation run() {
    for (const auto* tensor : {&einsum_.left, &einsum_.right, &einsum_.result}) refuse_bad_tensor(*tensor, sizes_);
    refuse_bad_dimensions();
    slice_what_the_result_wants();
    for (const auto& dim : einsum_.left.dims) {
      if (einsum_.right.find(dim.name) == nullptr) continue;
      align(dim.name, einsum_.result.find(dim.name) == nullptr);
    }
    resolve_kept_conflicts();
    slice_what_the_result_wants();  // once more: a gathered axis is free again

    Derivation result;
    result.left = collect(left_);
    result.right = collect(right_);
    result.local = {gathered(left_.tensor, left_.to_gather), gathered(right_.tensor, right_.to_gather), local_result()};
    result.flops = flops(result.local);
    result.result = settle(result.local.result, einsum_.result, sizes_, options_.result_element);
    return result;
  }

 private:
  void refuse_bad_dimensions() const {
    for (const auto* input : {&einsum_.left, &einsum_.right}) {
      if (!input->partial.empty()) {
        throw ShardingError(input->partial.front(),
                            input->to_string() + " is a partial sum where a product needs values",
                            "an input that is already reduced over " + subscript(input->partial));
      }
      const auto& other = input == &einsum_.left ? einsum_.right : einsum_.left;
      for (const auto& dim : input->dims) {
        if (other.find(dim.name) == nullptr && einsum_.result.find(dim.name) == nullptr) {
          throw ShardingError(
              "", "dimension " + dim.name + " of " + input->to_string() + " is neither contracted nor in the result",
              "it on the other operand or on the result");
        }
      }
    }
    for (const auto& dim : einsum_.result.dims) {
      if (einsum_.left.find(dim.name) == nullptr && einsum_.right.find(dim.name) == nullptr) {
        throw ShardingError("",
                            "dimension " + dim.name + " of " + einsum_.result.to_string() + " is on neither operand",
                            "a dimension of an operand");
      }
    }
  }

  /// A result wanted over an axis that splits neither operand: slice the operand first, which is free and
  /// divides the work, instead of slicing the finished product.
  void slice_what_the_result_wants() {
    auto is_free = [](const Operand& operand, const std::string& dim, const std::string& axis) {
      return !operand.uses(axis) || (operand.tensor.find(dim) == nullptr && contains(operand.to_gather, axis));
    };
    for (const auto& wanted : einsum_.result.dims) {
      for (const auto& axis : wanted.axes) {
        if (!is_free(left_, wanted.name, axis) || !is_free(right_, wanted.name, axis)) continue;
        for (auto* operand : {&left_, &right_}) {
          if (auto* dim = operand->tensor.find(wanted.name)) dim->axes.push_back(axis);
        }
      }
    }
  }

  /// Rules 1 and 2 on a dimension that both operands have.
  void align(const std::string& name, bool contracted) {
    const auto on_left = left_.tensor.find(name)->axes;
    const auto on_right = right_.tensor.find(name)->axes;
    std::size_t common = 0;
    while (common < on_left.size() && common < on_right.size() && on_left[common] == on_right[common]) ++common;
    const bool left_only = on_right.size() == common;
    const bool right_only = on_left.size() == common;
    for (auto i = common; i < on_left.size(); ++i) one_sided(name, on_left[i], left_, right_, left_only, contracted);
    for (auto i = common; i < on_right.size(); ++i) one_sided(name, on_right[i], right_, left_, right_only, contracted);
  }

  void one_sided(const std::string& name, const std::string& axis, Operand& has, Operand& lacks, bool may_slice,
                 bool contracted) {
    const std::string what = std::string(contracted ? "contracted" : "shared") + " dimension " + name +
                             " is sharded over " + axis + " on " + has.tensor.name + " only";
    if (!may_slice || lacks.uses(axis) || (contracted && !slicing_pays(axis, has))) {
      has.gather(axis, what);
    } else {
      lacks.tensor.find(name)->axes.push_back(axis);
    }
  }

  /// Gathering moves the operand once; slicing leaves a partial result, to be reduced (an all-reduce moves it twice).
  bool slicing_pays(const std::string& axis, const Operand& has) const {
    if (options_.one_sided != OneSided::fewer_bytes) return options_.one_sided == OneSided::slice;
    auto result = local_result();
    std::erase(result.partial, axis);
    const double local = static_cast<double>(sizes_.local_elements(result) * options_.result_element.value());
    const double reduce = einsum_.result.sharded_by(axis) != nullptr ? local
                          : einsum_.result.is_partial_over(axis)     ? 0.0
                                                                     : 2 * local;
    return reduce < has.bytes_to_gather(axis, sizes_);
  }

  /// Rule 3.
  void resolve_kept_conflicts() {
    for (const auto& dim : left_.tensor.dims) {
      for (const auto& axis : dim.axes) {
        if (contains(left_.to_gather, axis) || contains(right_.to_gather, axis)) continue;
        const auto* on_right = right_.tensor.sharded_by(axis);
        if (on_right == nullptr || on_right->name == dim.name) continue;
        const auto* wanted = einsum_.result.sharded_by(axis);
        bool gather_right = right_.bytes_to_gather(axis, sizes_) < left_.bytes_to_gather(axis, sizes_);
        if (wanted != nullptr && wanted->name == dim.name) gather_right = true;
        if (wanted != nullptr && wanted->name == on_right->name) gather_right = false;
        auto& chosen = gather_right ? right_ : left_;
        chosen.gather(axis, axis + " shards both " + dim.name + " of " + left_.tensor.name + " and " + on_right->name +
                                " of " + right_.tensor.name);
      }
    }
  }

  [[nodiscard]] ShardedTensor local_result() const {
    const auto left = gathered(left_.tensor, left_.to_gather);
    const auto right = gathered(right_.tensor, right_.to_gather);
    ShardedTensor result{einsum_.result.name, {}, {}};
    for (const auto& dim : einsum_.result.dims) {
      const auto* source = left.find(dim.name) != nullptr ? left.find(dim.name) : right.find(dim.name);
      result.dims.push_back({dim.name, source->axes});
    }
    for (const auto& dim : left.dims) {
      if (right.find(dim.name) == nullptr || einsum_.result.find(dim.name) != nullptr) continue;
      for (const auto& axis : dim.axes) {
        if (!contains(result.partial, axis)) result.partial.push_back(axis);
      }
    }
    result.partial.insert(result.partial.end(), options_.also_partial.begin(), options_.also_partial.end());
    return result;
  }

  [[nodiscard]] std::vector<DerivedCollective> collect(const Operand& operand) const {
    if (operand.to_gather.empty()) return {};
    auto steps = settle(operand.tensor, gathered(operand.tensor, operand.to_gather), sizes_, operand.element);
    steps.back().reason = operand.reason;  // the gather; an outer axis is first exchanged inwards
    return steps;
  }

  [[nodiscard]] Flops flops(const Einsum& local) const {
    double product = 2;
    for (const auto& dim : local.left.dims) product *= static_cast<double>(sizes_.local(dim));
    for (const auto& dim : local.right.dims) {
      if (local.left.find(dim.name) == nullptr) product *= static_cast<double>(sizes_.local(dim));
    }
    return Flops(product);
  }

  const Einsum& einsum_;
  const Sizes& sizes_;
  const DeriveOptions& options_;
  Operand left_, right_;
};

}  // namespace

Derivation derive(const Einsum& einsum, const Sizes& sizes, const DeriveOptions& options) {
  return Product(einsum, sizes, options).run();
}

}  // namespace lockstep::workloads
