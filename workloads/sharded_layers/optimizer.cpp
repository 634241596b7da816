#include "workloads/sharded_layers/optimizer.hpp"

#include <algorithm>

#include "topologies/placement/mesh.hpp"
#include "workloads/sharding/axis_digits.hpp"

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

/// Whether an array of the block has that dimension; the look-up's tokens are one-hot rows.
bool has_dim(const Block& block, const std::string& tensor, const std::string& dim) {
  if (tensor.empty()) return false;
  const auto& dims = block.activation(tensor).dims;
  return std::find(dims.begin(), dims.end(), dim) != dims.end();
}

bool of_tensor(const std::string& axis) { return topologies::axis_part(axis).axis == "tensor"; }

/// Rows come in and columns go out. Experts number matrices; heads on both sides (of products with latents) belong to
/// the narrower one. The unembedding, which has the vocabulary, is not Muon's. Copies of key-value heads are no columns
/// of their own: ranks with the same head have the same part.
MuonMatrices matrices_of(const BlockTensor& weight, const Block& block, const Plan& plan, const Sizes& sizes) {
  const auto op =
      std::find_if(block.ops.begin(), block.ops.end(), [&](const auto& one) { return one.weight == weight.name; });
  const bool vocabulary = std::find(weight.dims.begin(), weight.dims.end(), "V") != weight.dims.end();
  if (op == block.ops.end() || op->kind != BlockOp::Kind::matmul || vocabulary) return {};
  const auto& stored = plan.weights.at(weight.name);
  const auto& state = plan.optimizer.at(weight.name);
  MuonMatrices made{.count = 1, .rows = 1, .columns = 1, .local_rows = 1, .local_columns = 1};
  ShardedDim both{"", {}};
  std::int64_t both_size = 1, both_local = 1;
  for (const auto& name : weight.dims) {
    auto dim = *stored.find(name);
    std::erase_if(dim.axes, [](const auto& axis) { return !of_tensor(axis); });  // ZeRO's are gathered for products
    const bool in = has_dim(block, op->inputs.front(), name), out = has_dim(block, op->output, name);
    if (in && out && (name == "E" || name == "Go")) {  // of experts, of groups of heads
      made.count *= sizes.local(*stored.find(name));
      continue;
    }
    if (sizes.local(dim) < sizes.own_elements({name}))  // not a single head that all have
      made.tensor.insert(made.tensor.end(), dim.axes.begin(), dim.axes.end());
    auto& size = in && out ? both_size : in ? made.rows : made.columns;
    auto& local = in && out ? both_local : in ? made.local_rows : made.local_columns;
    size *= sizes.own_elements({name});
    local *= sizes.local(dim);
  }
  const bool rows = made.rows <= made.columns;
  (rows ? made.rows : made.columns) *= both_size;
  (rows ? made.local_rows : made.local_columns) *= both_local;
  for (const auto& dim : state.dims) {
    for (const auto& axis : dim.axes) {
      const bool of_experts = dim.name == "E" && contains(stored.find("E")->axes, axis);
      const bool of_parts = of_tensor(axis) && stored.sharded_by(axis) != nullptr;
      if (!of_experts && !of_parts) made.zero.push_back(axis);
    }
  }
  const auto& gradient = plan.gradients.at(weight.name);
  const auto heads = sizes.copied_over(gradient);
  for (const auto& axis : gradient.partial) {
    if (!contains(made.zero, axis) && !contains(heads, axis)) made.copied.push_back(axis);
  }
  made.tensor_ranks = sizes.product(made.tensor);
  made.tensor = whole_axes(std::move(made.tensor));
  made.zero_ranks = sizes.product(made.zero);
  return made;
}

/// In place of a chain that begins by scattering a gradient and goes on with the shards: all sums of the whole gradient
/// at once, along the axes that split the optimizer's state and those that do not.
DerivedCollective sum_to_all(DerivedCollective first) {
  first.kind = CollectiveKind::all_reduce;
  first.axes = first.before.partial;
  first.after = first.before;
  first.after.partial.clear();
  first.reason = "a matrix has one owner, and gradients are reduced to all ranks";
  return first;
}

}  // namespace

std::string_view name(OptimizerKind kind) {
  switch (kind) {
    case OptimizerKind::adam: return "adam";
    case OptimizerKind::sgd: return "sgd";
    case OptimizerKind::adafactor: return "adafactor";
    case OptimizerKind::muon: return "muon";
  }
  return "?";
}

bool by_muon(const OptimizerSpec& spec, const WeightUpdate& update) {
  return spec.kind == OptimizerKind::muon && update.matrices.count > 0;
}

Bytes state_of(const OptimizerSpec& spec, const WeightUpdate& update) {
  std::int64_t moments = 0;
  switch (spec.kind) {
    case OptimizerKind::adam: moments = 2 * update.optimizer_elements; break;
    case OptimizerKind::sgd: moments = spec.momentum ? update.optimizer_elements : 0; break;
    case OptimizerKind::adafactor: moments = update.factored_elements; break;
    case OptimizerKind::muon: moments = (by_muon(spec, update) ? 1 : 2) * update.optimizer_elements; break;
  }
  return spec.moment * moments + Bytes(spec.master_weights ? 4 : 0) * update.optimizer_elements;
}

Bytes update_traffic(const OptimizerSpec& spec, Bytes gradient_element, const WeightUpdate& update) {
  return (gradient_element + 2 * update.stored_element) * update.optimizer_elements + 2 * state_of(spec, update);
}

void complete_updates(ShardedLayer& derived, const Block& block, const Plan& plan, const Sizes& sizes) {
  for (auto& update : derived.weights) {
    const auto& shard = plan.optimizer.at(update.weight);
    update.factored_elements = factored_elements(block.weight(update.weight), block, shard, sizes);
    update.matrices = matrices_of(block.weight(update.weight), block, plan, sizes);
    for (const auto& dim : shard.dims)
      update.split_over.insert(update.split_over.end(), dim.axes.begin(), dim.axes.end());
    update.split_over = whole_axes(std::move(update.split_over));
  }
}

NotShared share_matrices(ShardedLayer& derived, const MuonSpec& spec) {
  for (auto& update : derived.weights) {
    auto& matrices = update.matrices;
    if (matrices.count == 0) continue;
    const auto scatters = [&](const DerivedCollective& collective) {
      return collective.kind == CollectiveKind::reduce_scatter &&
             std::any_of(collective.axes.begin(), collective.axes.end(),
                         [&](const auto& axis) { return contains(matrices.zero, axis); });
    };
    matrices.scattered = std::any_of(update.each_microbatch.begin(), update.each_microbatch.end(), scatters);
    if (const auto problem = share(spec, matrices); !problem.what.empty()) return problem;
    if (matrices.sharing != MuonSharing::layer_wise) continue;
    auto& chain = update.last_microbatch;
    if (std::any_of(chain.begin(), chain.end(), scatters)) chain = {sum_to_all(chain.front())};
  }
  return {};
}

}  // namespace lockstep::workloads
