#include "workloads/sharded_layers/plan.hpp"

#include <algorithm>

#include "topologies/placement/axis_digits.hpp"

namespace lockstep::workloads {
namespace {

/// The axes over which each strategy splits a tensor's dimensions.
class Strategy {
 public:
  explicit Strategy(const Parallel& parallel) : parallel_(parallel), sequence_parallel_(parallel.sequence_parallel) {
    if (parallel.data > 1) batch_.push_back("data");
    if (parallel.fsdp > 1) batch_.push_back("fsdp");
    if (parallel.expert > 1) batch_.push_back("expert");
    if (parallel.context > 1) context_.push_back("context");
    tensor_ = tensor_axes(parallel);
    between_experts_ = tensor_axes_between_experts(parallel);
    for (const auto& axis : tensor_) {
      if (!contains(between_experts_, axis)) in_expert_.push_back(axis);
    }
    if (contains(parallel.experts_over, "tensor")) experts_ = between_experts_;  // they only cut what a rank has
    for (const auto* axis : {"context", "expert"}) {
      const bool exists = contains(batch_, axis) || contains(context_, axis);
      if (exists && contains(parallel.experts_over, axis)) experts_.push_back(axis);
    }
  }

  [[nodiscard]] ShardedTensor activation(const BlockTensor& tensor) const {
    auto result = bare(tensor);
    const bool slots = result.find("C") != nullptr;
    for (auto& dim : result.dims) {
      if (dim.name == "B") dim.axes = batch_;
      if (dim.name == "T") dim.axes = context_;
      if (is_of_heads(dim.name) || dim.name == "F" || dim.name == "Fs") dim.axes = tensor_;
      if (dim.name == "Fe") dim.axes = in_expert_;
      if (dim.name == "V" && tensor.name != "Tokens") dim.axes = tensor_;
      if (dim.name == "C") dim.axes = left_to_slots();
      if (dim.name == "E" && slots) dim.axes = experts_;
    }
    // Tensors that belong to a token as a whole: the residual stream between two tensor-parallel regions, latents,
    // scores. Megatron splits the sequence; the book's layer, which has no sequence dimension, splits D.
    const auto& axes = slots ? in_expert_ : tensor_;
    if (axes.empty() || result.sharded_by(axes.front()) != nullptr || tensor.name == "Tokens") return result;
    if (tensor.branch) {
      result.partial = axes;
    } else if (sequence_parallel_) {
      auto* split = result.find(slots ? "C" : result.find("T") != nullptr ? "T" : "D");
      split->axes.insert(split->axes.end(), axes.begin(), axes.end());
    }
    return result;
  }

  [[nodiscard]] ShardedTensor weight(const BlockTensor& tensor) const { return split(tensor, 3); }
  [[nodiscard]] ShardedTensor optimizer(const BlockTensor& tensor) const { return split(tensor, 1); }
  [[nodiscard]] ShardedTensor gradient(const BlockTensor& tensor) const {
    auto result = split(tensor, 2);
    for (const auto& axis : replicating(tensor)) {
      if (parallel_.zero_on(axis) < 2) result.partial.push_back(axis);
    }
    return result;
  }

 private:
  [[nodiscard]] static ShardedTensor bare(const BlockTensor& tensor) {
    ShardedTensor result{tensor.name, {}, {}};
    for (const auto& dim : tensor.dims) result.dims.push_back({dim, {}});
    return result;
  }

  /// Heads of attention and of recurrences. Those of an indexer are few and small, and their sum is wanted whole.
  [[nodiscard]] static bool is_of_heads(const std::string& dim) {
    return dim == "N" || dim == "K" || dim == "Kf" || dim == "M" || dim == "G" || dim == "Go";
  }

  [[nodiscard]] static bool of_experts(const BlockTensor& weight) {  // not the router, which has E as its columns
    return weight.dims.size() > 1 && weight.dims.front() == "E";
  }

  /// Axes whose ranks have different tokens and do not share out the experts.
  [[nodiscard]] AxisNames left_to_slots() const {
    AxisNames axes = batch_;
    axes.insert(axes.end(), context_.begin(), context_.end());
    axes.insert(axes.end(), between_experts_.begin(), between_experts_.end());
    std::erase_if(axes, [&](const auto& axis) { return contains(experts_, axis); });
    return axes;
  }

  /// Axes whose ranks all have the weight, each with other tokens, unless ZeRO splits it.
  [[nodiscard]] AxisNames replicating(const BlockTensor& weight) const {
    AxisNames axes = of_experts(weight) ? left_to_slots() : batch_;
    if (!of_experts(weight)) axes.insert(axes.end(), context_.begin(), context_.end());
    return axes;
  }

  /// Tensor parallelism splits heads, d_ff and vocabulary; ZeRO splits D (where there is none, the first dimension that
  /// nothing else splits) over the axes whose stage is at least `from_stage`. Those of the highest stage are outermost,
  /// so that a gradient is split as its weight is, and further, and the state as its gradient is; the fsdp axis first.
  [[nodiscard]] ShardedTensor split(const BlockTensor& tensor, int from_stage) const {
    auto result = bare(tensor);
    for (auto& dim : result.dims) {
      if (is_of_heads(dim.name) || dim.name == "F" || dim.name == "Fs" || dim.name == "V") dim.axes = tensor_;
      if (dim.name == "Fe") dim.axes = in_expert_;
      if (dim.name == "E" && of_experts(tensor)) dim.axes = experts_;
    }
    auto* shards = result.find("D");
    for (auto& dim : result.dims) {
      if (shards == nullptr && dim.axes.empty()) shards = &dim;
    }
    if (shards == nullptr) shards = &result.dims.back();
    const auto axes = replicating(tensor);
    for (int stage = 3; stage >= from_stage; --stage) {
      for (const bool fsdp : {true, false}) {
        for (const auto& axis : axes) {
          if ((axis == "fsdp") == fsdp && parallel_.zero_on(axis) == stage) shards->axes.push_back(axis);
        }
      }
    }
    return result;
  }

  const Parallel& parallel_;
  bool sequence_parallel_;
  AxisNames batch_, tensor_, context_, experts_;
  AxisNames in_expert_, between_experts_;  ///< of the tensor axes: those that split an expert, and the others
};

void replace(Shardings& shardings, const ShardedTensor& tensor, const char* role) {
  const auto found = shardings.find(tensor.name);
  if (found == shardings.end()) {
    std::string names;
    for (const auto& [name, unused] : shardings) names += (names.empty() ? "" : ", ") + name;
    throw ShardingError("", "the model has no " + std::string(role) + " " + tensor.name, "one of " + names);
  }
  const auto& own = found->second;
  const bool same = own.dims.size() == tensor.dims.size() &&
                    std::equal(own.dims.begin(), own.dims.end(), tensor.dims.begin(),
                               [](const auto& a, const auto& b) { return a.name == b.name; });
  if (!same) {
    std::string dims;
    for (const auto& dim : own.dims) dims += (dims.empty() ? "" : ", ") + dim.name;
    throw ShardingError("", tensor.to_string() + " does not have the dimensions of " + tensor.name,
                        tensor.name + "[" + dims + "]");
  }
  found->second = tensor;
}

void print(std::string& text, const char* title, const Shardings& shardings) {
  text += std::string("  ") + title + "\n";
  for (const auto& [name, tensor] : shardings) text += "    " + tensor.to_string() + "\n";
}

}  // namespace

std::int64_t Parallel::ranks_of_experts() const {
  std::int64_t ranks = 1;
  for (const auto& axis : experts_over)
    ranks *= axis == "tensor" ? tensor / ranks_of_an_expert() : axis == "context" ? context : expert;
  return ranks;
}

AxisNames tensor_axes(const Parallel& parallel) {
  const auto inside = parallel.ranks_of_an_expert();
  if (parallel.tensor == 1) return {};
  if (inside == 1 || inside == parallel.tensor) return {"tensor"};
  const auto [outer, inner] = topologies::digits("tensor", inside);
  return {outer, inner};
}

AxisNames tensor_axes_between_experts(const Parallel& parallel) {
  auto axes = tensor_axes(parallel);
  const auto inside = parallel.ranks_of_an_expert();
  if (inside == parallel.tensor) axes.clear();
  if (inside > 1 && !axes.empty()) axes.pop_back();
  return axes;
}

ShardedTensor split_by_tensor_axes(ShardedTensor array, const Parallel& parallel) {
  const auto axes = tensor_axes(parallel);
  if (axes.size() < 2) return array;
  const auto replace_in = [&](AxisNames& names) {
    const auto tensor = std::find(names.begin(), names.end(), "tensor");
    if (tensor == names.end()) return;
    names.insert(names.erase(tensor), axes.begin(), axes.end());
  };
  for (auto& dim : array.dims) replace_in(dim.axes);
  replace_in(array.partial);
  return array;
}

Plan plan_for(const BlockSequence& blocks, const Parallel& parallel) {
  const Strategy strategy(parallel);
  Plan plan;
  for (const auto& block : blocks.kinds) {
    for (const auto& tensor : block.activations) plan.activations[tensor.name] = strategy.activation(tensor);
    for (const auto& tensor : block.weights) {
      plan.weights[tensor.name] = strategy.weight(tensor);
      plan.gradients[tensor.name] = strategy.gradient(tensor);
      plan.optimizer[tensor.name] = strategy.optimizer(tensor);
    }
  }
  return plan;
}

void apply(const PlanOverrides& overrides, Plan& plan) {
  for (const auto& tensor : overrides.activations) replace(plan.activations, tensor, "activation");
  for (const auto& tensor : overrides.weights) {
    replace(plan.weights, tensor, "weight");
    plan.gradients[tensor.name] = tensor;
    plan.optimizer[tensor.name] = tensor;
  }
  for (const auto& tensor : overrides.gradients) replace(plan.gradients, tensor, "weight");
  for (const auto& tensor : overrides.optimizer) replace(plan.optimizer, tensor, "weight");
}

namespace {

/// The axes over which all arrays with that dimension split it; none if they differ.
const AxisNames* common_axes(const Plan& plan, const std::string& heads) {
  const AxisNames* axes = nullptr;
  for (const auto* shardings : {&plan.activations, &plan.weights, &plan.gradients, &plan.optimizer}) {
    for (const auto& [name, tensor] : *shardings) {
      const auto* dim = tensor.find(heads);
      if (dim == nullptr) continue;
      if (axes != nullptr && dim->axes != *axes) return nullptr;
      axes = &dim->axes;
    }
  }
  return axes;
}

}  // namespace

void copy_key_value_heads(Plan& plan, Sizes& sizes) {
  bool any = false;
  for (const char* heads : {"K", "Kf"}) {
    const auto* axes = sizes.dims.contains(heads) ? common_axes(plan, heads) : nullptr;
    if (axes == nullptr) continue;
    sizes.copy_over(heads, *axes);
    any = true;
  }
  if (!any) return;
  for (auto& [name, gradient] : plan.gradients) {
    for (const auto& part : sizes.copied_over(gradient)) gradient.partial.push_back(part);
  }
}

std::string Plan::to_string() const {
  std::string text = "plan\n";
  print(text, "activations cross between operations as", activations);
  print(text, "weights are stored as", weights);
  print(text, "gradients are accumulated as", gradients);
  print(text, "optimizer state is kept as", optimizer);
  return text;
}

}  // namespace lockstep::workloads
