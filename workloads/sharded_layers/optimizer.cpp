#include "workloads/sharded_layers/optimizer.hpp"

#include <algorithm>

namespace lockstep::workloads {
namespace {

/// The elements that a rank holds of a vector over some of an array's dimensions.
std::int64_t along(const ShardedTensor& array, const std::vector<std::string>& dims, const Sizes& sizes) {
  ShardedTensor vector{array.name, {}, {}};
  for (const auto& dim : dims) vector.dims.push_back(*array.find(dim));
  return sizes.local_elements(vector);
}

/// The operation that uses a weight tells its rows from its columns: rows come in, columns go out. Dimensions that do
/// both (experts) number the matrices. Without rows and columns (a norm's scale) nothing is factored.
std::int64_t factored_elements(const BlockTensor& weight, const Block& block, const ShardedTensor& shard,
                               const Sizes& sizes) {
  const auto op =
      std::find_if(block.ops.begin(), block.ops.end(), [&](const auto& one) { return one.weight == weight.name; });
  if (op == block.ops.end()) return sizes.local_elements(shard);
  const auto has = [&](const std::string& tensor, const std::string& dim) {
    if (tensor.empty()) return false;
    const auto& dims = block.activation(tensor).dims;
    return std::find(dims.begin(), dims.end(), dim) != dims.end();
  };
  std::vector<std::string> rows, columns, without_columns, without_rows;
  for (const auto& dim : weight.dims) {
    const bool out = has(op->output, dim);
    const bool in = op->kind == BlockOp::Kind::lookup ? !out : has(op->inputs.front(), dim);  // tokens are one-hot rows
    if (in && !out) rows.push_back(dim);
    if (out && !in) columns.push_back(dim);
    if (in || !out) without_columns.push_back(dim);
    if (out || !in) without_rows.push_back(dim);
  }
  if (rows.empty() || columns.empty()) return sizes.local_elements(shard);
  return along(shard, without_columns, sizes) + along(shard, without_rows, sizes);
}

}  // namespace

std::string_view name(OptimizerKind kind) {
  switch (kind) {
    case OptimizerKind::adam: return "adam";
    case OptimizerKind::sgd: return "sgd";
    case OptimizerKind::adafactor: return "adafactor";
  }
  return "?";
}

Bytes state_of(const OptimizerSpec& spec, const WeightUpdate& update) {
  std::int64_t moments = 0;
  switch (spec.kind) {
    case OptimizerKind::adam: moments = 2 * update.optimizer_elements; break;
    case OptimizerKind::sgd: moments = spec.momentum ? update.optimizer_elements : 0; break;
    case OptimizerKind::adafactor: moments = update.factored_elements; break;
  }
  return spec.moment * moments + Bytes(spec.master_weights ? 4 : 0) * update.optimizer_elements;
}

Bytes update_traffic(const OptimizerSpec& spec, Bytes gradient_element, const WeightUpdate& update) {
  return (gradient_element + Bytes(4)) * update.optimizer_elements + 2 * state_of(spec, update);
}

void complete_updates(ShardedLayer& derived, const Block& block, const Plan& plan, const Sizes& sizes) {
  for (auto& update : derived.weights) {
    const auto& shard = plan.optimizer.at(update.weight);
    update.factored_elements = factored_elements(block.weight(update.weight), block, shard, sizes);
    for (const auto& dim : shard.dims)
      update.split_over.insert(update.split_over.end(), dim.axes.begin(), dim.axes.end());
  }
}

}  // namespace lockstep::workloads
