#include "workloads/plan.hpp"

#include <algorithm>

namespace lockstep {
namespace {

/// Where each strategy splits a tensor's dimensions.
class Strategy {
 public:
  explicit Strategy(const Parallel& parallel) : parallel_(parallel) {
    if (parallel.data > 1) batch_.push_back("data");
    if (parallel.fsdp > 1) batch_.push_back("fsdp");
    if (parallel.tensor > 1) tensor_.push_back("tensor");
  }

  [[nodiscard]] ShardedTensor activation(const BlockTensor& tensor) const {
    auto result = bare(tensor);
    for (auto& dim : result.dims) {
      if (dim.name == "B") dim.axes = batch_;
      if (dim.name == "N" || dim.name == "K" || dim.name == "F") dim.axes = tensor_;
      if (dim.name == "V" && tensor.name == "Logits") dim.axes = tensor_;
    }
    if (parallel_.sequence_parallel && result.dims.back().name == "D") {
      // The residual stream between two tensor-parallel regions: Megatron splits the sequence, the book's
      // layer, which has no sequence dimension, splits D.
      auto* split = result.find("T") != nullptr ? result.find("T") : result.find("D");
      split->axes = tensor_;
    }
    return result;
  }

  [[nodiscard]] ShardedTensor weight(const BlockTensor& tensor) const { return split(tensor, 3); }
  [[nodiscard]] ShardedTensor optimizer(const BlockTensor& tensor) const { return split(tensor, 1); }
  [[nodiscard]] ShardedTensor gradient(const BlockTensor& tensor) const {
    auto result = split(tensor, 2);
    if (parallel_.data > 1 && parallel_.zero < 2) result.partial.push_back("data");
    return result;
  }

 private:
  [[nodiscard]] static ShardedTensor bare(const BlockTensor& tensor) {
    ShardedTensor result{tensor.name, {}, {}};
    for (const auto& dim : tensor.dims) result.dims.push_back({dim, {}});
    return result;
  }

  /// Tensor parallelism splits heads, d_ff and vocabulary; ZeRO splits D, over the data axis from
  /// `from_stage` on and over the fsdp axis always (it is a data axis at stage 3).
  [[nodiscard]] ShardedTensor split(const BlockTensor& tensor, int from_stage) const {
    auto result = bare(tensor);
    for (auto& dim : result.dims) {
      if (dim.name != "D") {
        if (dim.name != "H") dim.axes = tensor_;
        continue;
      }
      if (parallel_.fsdp > 1) dim.axes.push_back("fsdp");
      if (parallel_.data > 1 && parallel_.zero >= from_stage) dim.axes.push_back("data");
    }
    return result;
  }

  const Parallel& parallel_;
  AxisNames batch_, tensor_;
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
    throw ShardingError("", tensor.to_string() + " does not have the dimensions of " + tensor.name, tensor.name + "[" + dims + "]");
  }
  found->second = tensor;
}

void print(std::string& text, const char* title, const Shardings& shardings) {
  text += std::string("  ") + title + "\n";
  for (const auto& [name, tensor] : shardings) text += "    " + tensor.to_string() + "\n";
}

}  // namespace

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

std::string Plan::to_string() const {
  std::string text = "plan\n";
  print(text, "activations cross between operations as", activations);
  print(text, "weights are stored as", weights);
  print(text, "gradients are accumulated as", gradients);
  print(text, "optimizer state is kept as", optimizer);
  return text;
}

}  // namespace lockstep
