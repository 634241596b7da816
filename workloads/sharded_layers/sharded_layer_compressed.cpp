// Attention to a window and to compressed entries. An axis that splits the sequence gathers the entries, which are few,
// and of the keys only the last ones before each rank's tokens.
#include <algorithm>

#include "workloads/sharded_layers/sharded_layer_private.hpp"

namespace lockstep::workloads {
namespace {

double real(std::int64_t value) { return static_cast<double>(value); }

}  // namespace

BlockDerivation::CompressedArrays BlockDerivation::compressed_arrays(const BlockOp& op) const {
  const bool index = op.kind == BlockOp::Kind::index;
  CompressedArrays arrays;
  arrays.queries = crossing(op.inputs[index ? 3 : 0]);
  if (index) {
    arrays.entries = crossing(op.inputs[4]);
  } else {
    arrays.keys = crossing(op.inputs[1]);
    if (op.inputs.size() > 2) arrays.entries = crossing(op.inputs[2]);
  }
  const auto& queries = arrays.queries;
  const auto& sequence = queries.find("T")->axes;
  for (auto* other : {&arrays.keys, &arrays.entries}) {
    if (other->dims.empty()) continue;
    if (other->find("B")->axes != queries.find("B")->axes || !other->dims.back().axes.empty())
      throw ShardingError("", queries.to_string() + " and " + other->to_string() + " are split differently",
                          "the batch split alike, and no size of a head or entry split");
    other->find("T")->axes = other == &arrays.keys ? sequence : AxisNames{};
  }
  if (!queries.dims.back().axes.empty())
    throw ShardingError(queries.dims.back().axes.front(), queries.to_string() + " splits its last size",
                        "batch, sequence and heads split");
  if (!sequence.empty() && policy_.context_attention != ContextAttention::all_gather)
    throw ShardingError(sequence.front(), "compressed entries of all tokens before are seen on every rank",
                        "context_attention: all_gather");
  return arrays;
}

/// Of one of a rank's tokens, on average; with contiguous pieces under a causal mask, on the rank with the last piece.
double BlockDerivation::mean_of_piece(const std::function<double(double)>& mean, const AxisNames& sequence) const {
  const double tokens = real(sizes_.dim("T")), parts = real(sizes_.product(sequence));
  if (!policy_.causal || policy_.balanced_context || parts == 1) return mean(tokens);
  const double before = tokens * (parts - 1) / parts;
  return (tokens * mean(tokens) - before * mean(before)) / (tokens - before);
}

double BlockDerivation::entries_of(const BlockOp& op, double most, const AxisNames& sequence) const {
  return mean_of_piece([&](double tokens) { return seen_entries(most, tokens, op.rate, policy_.causal); }, sequence);
}

/// Scores and values of a rank's queries and heads over what each of them sees.
Kernel BlockDerivation::compressed_kernel(const BlockOp& op, const CompressedArrays& arrays) const {
  const auto& queries = arrays.queries;
  const auto& sequence = queries.find("T")->axes;
  const std::int64_t head = sizes_.dim("H"), length = sizes_.local(*queries.find("T")), tokens = sizes_.dim("T");
  const std::int64_t rows = sizes_.local_elements(queries) / head;
  const bool has_entries = !arrays.entries.dims.empty();
  const std::int64_t all = has_entries ? tokens / op.rate : 0;
  const std::int64_t most = op.top_k > 0 ? std::min(op.top_k, all) : all;
  double seen = mean_of_piece([&](double t) { return attended_tokens(op.reach, t, policy_.causal); }, sequence);
  if (has_entries) seen += entries_of(op, real(most), sequence);
  Kernel kernel;
  kernel.work = ComputeWork::attention;
  kernel.flops = Flops(4.0 * seen * real(rows) * real(head));
  kernel.traffic = bytes(queries) * 2 + bytes(arrays.keys);
  if (has_entries) kernel.traffic += bytes(arrays.entries);
  const bool masked = policy_.causal && most == all;
  kernel.shape = {rows / length, length, head, std::min(op.reach.span, tokens) + most, masked, false, true};
  return kernel;
}

void BlockDerivation::forward_compressed_attention(const BlockOp& op) {
  const auto arrays = compressed_arrays(op);
  const auto result = renamed(arrays.queries, op.output);
  Reads reads;
  read(op.inputs[0], arrays.queries, reads);
  read(op.inputs[1], arrays.keys, reads);
  if (op.inputs.size() > 2) read(op.inputs[2], arrays.entries, reads);
  if (op.inputs.size() > 3) read(op.inputs[3], choice_of(op, arrays.queries), reads);
  read_vector(op, crossing(op.output), reads);
  fetch_tokens_before(pass(), op, arrays.keys, reads.after);
  const int step = sparse_step(
      pass(), op.name, arrays.queries.to_string() + ", " + arrays.keys.to_string() + " -> " + result.to_string(),
      std::move(reads), compressed_kernel(op, arrays), bytes(result));
  finish_forward(op, result, step);
}

void BlockDerivation::backward_compressed_attention(const BlockOp& op) {
  const auto arrays = compressed_arrays(op);
  const auto result = renamed(arrays.queries, op.output);
  Reads reads;
  read_gradient(op.output, gradient_of(result), reads);
  read_in_backward(op.inputs[0], arrays.queries, reads);
  read_in_backward(op.inputs[1], arrays.keys, reads);
  if (op.inputs.size() > 2) read_in_backward(op.inputs[2], arrays.entries, reads);
  if (op.inputs.size() > 3) read_in_backward(op.inputs[3], choice_of(op, arrays.queries), reads);
  read_in_backward(op.output, result, reads);
  auto kernel = compressed_kernel(op, arrays);
  kernel.flops = kernel.flops * 2.0;
  kernel.traffic = kernel.traffic * 2;
  kernel.shape.backward = true;
  auto left = bytes(arrays.queries) + bytes(arrays.keys);
  if (op.inputs.size() > 2) left += bytes(arrays.entries);
  const int step =
      sparse_step(backward_, op.name + " backward", gradient_of(result).to_string(), std::move(reads), kernel, left);
  finish_sinks(op, step);
  gradients_[op.inputs[0]].push_back({gradient_of(arrays.queries), {step}, step});
  const auto add = [&](const std::string& tensor, const ShardedTensor& whole, bool whole_sequence, StepIds after) {
    auto local = gradient_of(whole);
    if (whole_sequence) local.partial = arrays.queries.find("T")->axes;
    for (const auto& axis : arrays.queries.find("N")->axes) local.partial.push_back(axis);
    gradients_[tensor].push_back({local, std::move(after), step});
  };
  StepIds keys_done{step};  // gradients of keys that ranks behind have used come back
  fetch_tokens_before(backward_, op, gradient_of(arrays.keys), keys_done);
  add(op.inputs[1], arrays.keys, false, keys_done);
  if (op.inputs.size() > 2) add(op.inputs[2], arrays.entries, true, {step});
}

}  // namespace lockstep::workloads
