// Attention to chosen tokens: an indexer scores all tokens before a token, the best of them are chosen, and the queries
// of all heads attend to these tokens' latents. An axis that splits the sequence gathers latents and the indexer's
// keys, which are one for all heads. The indexer learns from the attention: its backward needs nothing but what both
// made in the forward.
#include <algorithm>

#include "workloads/sharded_layers/sharded_layer_private.hpp"
#include "workloads/sharding/bounded_elements.hpp"

namespace lockstep::workloads {
namespace {

constexpr Bytes score_element(4);  // scores lie in memory in fp32

double real(std::int64_t value) { return static_cast<double>(value); }

}  // namespace

/// What one rank attends to; T of latents and keys is whole.
struct BlockDerivation::SparseArrays {
  ShardedTensor queries, rotary_queries, latents, rotary_keys;
};

BlockDerivation::SparseArrays BlockDerivation::sparse_arrays(const BlockOp& op) const {
  const std::size_t first = op.kind == BlockOp::Kind::index ? 3 : 0;  // behind the indexer's own
  SparseArrays arrays{crossing(op.inputs[first]), crossing(op.inputs[first + 1]), crossing(op.inputs[first + 2]),
                      crossing(op.inputs[first + 3])};
  const auto refuse = [](const AxisNames& axes, const std::string& what) {
    throw ShardingError(axes.empty() ? "" : axes.front(), what,
                        "batch, sequence and heads split alike, and no size of a head or latent split");
  };
  const auto& queries = arrays.queries;
  for (const auto* other : {&arrays.rotary_queries, &arrays.latents, &arrays.rotary_keys}) {
    if (other->find("B")->axes != queries.find("B")->axes)
      refuse(queries.find("B")->axes,
             queries.to_string() + " and " + other->to_string() + " split the batch differently");
  }
  for (const char* dim : {"T", "N"}) {
    if (arrays.rotary_queries.find(dim)->axes != queries.find(dim)->axes)
      refuse(queries.find(dim)->axes,
             queries.to_string() + " and " + arrays.rotary_queries.to_string() + " are split differently");
  }
  for (const ShardedTensor* array : std::initializer_list<const ShardedTensor*>{&arrays.queries, &arrays.rotary_queries,
                                                                                &arrays.latents, &arrays.rotary_keys}) {
    if (!array->dims.back().axes.empty()) refuse(array->dims.back().axes, array->to_string() + " splits its last size");
  }
  const auto& sequence = queries.find("T")->axes;
  if (!sequence.empty() && policy_.context_attention != ContextAttention::all_gather)
    throw ShardingError(sequence.front(), "tokens that an indexer chooses may lie on any rank",
                        "context_attention: all_gather");
  arrays.latents.find("T")->axes.clear();
  arrays.rotary_keys.find("T")->axes.clear();
  return arrays;
}

/// Of `most` tokens that a token may see, those that one of a rank's tokens sees on average. With contiguous pieces
/// under a causal mask, on the rank with the last piece.
double BlockDerivation::chosen_of(double most, const AxisNames& sequence) const {
  return mean_of_piece([&](double tokens) { return chosen_tokens(most, tokens, policy_.causal); }, sequence);
}

/// Tokens, or the entries that stand for them.
double BlockDerivation::seen_by_indexer(const BlockOp& op, double most, const AxisNames& sequence) const {
  return op.rate == 1 ? chosen_of(most, sequence) : entries_of(op, most, sequence);
}

ShardedTensor BlockDerivation::choice_of(const BlockOp& op, const ShardedTensor& queries) const {
  auto choice = crossing(op.kind == BlockOp::Kind::index ? op.output : op.inputs.back());
  choice.find("T")->axes = queries.find("T")->axes;
  return choice;
}

/// Products of `width` numbers for each of a rank's queries, heads and chosen tokens.
Kernel BlockDerivation::sparse_kernel(const BlockOp& op, const SparseArrays& arrays, std::int64_t width) const {
  const auto& queries = arrays.queries;
  const std::int64_t rows = sizes_.local_elements(queries) / sizes_.dim(queries.dims[3].name);
  const double chosen = chosen_of(real(op.top_k), queries.find("T")->axes);
  const std::int64_t length = sizes_.local(*queries.find("T"));
  const std::int64_t keys = std::min(op.top_k, sizes_.dim("T"));
  Kernel kernel;
  kernel.work = ComputeWork::attention;
  kernel.flops = Flops(2.0 * chosen * real(rows) * real(width));
  kernel.traffic = bytes(queries) + bytes(arrays.rotary_queries) + bytes(arrays.latents) + bytes(arrays.rotary_keys);
  kernel.shape = {rows / length, length, width / 2, keys, policy_.causal && keys == sizes_.dim("T"), false, true};
  return kernel;
}

int BlockDerivation::sparse_step(Pass& pass, const std::string& name, const std::string& detail, Reads reads,
                                 const Kernel& kernel, Bytes output) {
  const int step = pass.compute(name, detail, std::move(reads), kernel.flops, kernel.traffic, output);
  pass[step].work = kernel.work;
  pass[step].shape = kernel.shape;
  return step;
}

void BlockDerivation::forward_sparse_attention(const BlockOp& op) {
  const auto arrays = sparse_arrays(op);
  const auto result = renamed(arrays.queries, op.output);
  Reads reads;
  read(op.inputs[0], arrays.queries, reads);
  read(op.inputs[1], arrays.rotary_queries, reads);
  read(op.inputs[2], arrays.latents, reads);
  read(op.inputs[3], arrays.rotary_keys, reads);
  if (op.inputs.size() > 4) read(op.inputs[4], choice_of(op, arrays.queries), reads);
  const auto latent = sizes_.dim(arrays.latents.dims.back().name);
  auto kernel = sparse_kernel(op, arrays, 2 * latent + sizes_.dim(arrays.rotary_keys.dims.back().name));
  kernel.traffic += bytes(result);
  const int step = sparse_step(
      pass(), op.name, arrays.queries.to_string() + ", " + arrays.latents.to_string() + " -> " + result.to_string(),
      std::move(reads), kernel, bytes(result));
  finish_forward(op, result, step);
}

void BlockDerivation::backward_sparse_attention(const BlockOp& op) {
  const auto arrays = sparse_arrays(op);
  const auto result = renamed(arrays.queries, op.output);
  Reads reads;
  read_gradient(op.output, gradient_of(result), reads);
  read_in_backward(op.inputs[0], arrays.queries, reads);
  read_in_backward(op.inputs[1], arrays.rotary_queries, reads);
  read_in_backward(op.inputs[2], arrays.latents, reads);
  read_in_backward(op.inputs[3], arrays.rotary_keys, reads);
  if (op.inputs.size() > 4) read_in_backward(op.inputs[4], choice_of(op, arrays.queries), reads);
  read_in_backward(op.output, result, reads);
  const auto latent = sizes_.dim(arrays.latents.dims.back().name);
  auto kernel = sparse_kernel(op, arrays, 2 * latent + sizes_.dim(arrays.rotary_keys.dims.back().name));
  kernel.flops = kernel.flops * 2.0;
  kernel.traffic = (kernel.traffic + bytes(result)) * 2;
  kernel.shape.backward = true;
  const auto left =
      bytes(arrays.queries) + bytes(arrays.rotary_queries) + bytes(arrays.latents) + bytes(arrays.rotary_keys);
  const int step =
      sparse_step(backward_, op.name + " backward", gradient_of(result).to_string(), std::move(reads), kernel, left);
  gradients_[op.inputs[0]].push_back({gradient_of(arrays.queries), {step}, step});
  gradients_[op.inputs[1]].push_back({gradient_of(arrays.rotary_queries), {step}, step});
  for (const auto& [tensor, whole] :
       {std::pair{op.inputs[2], arrays.latents}, std::pair{op.inputs[3], arrays.rotary_keys}}) {
    auto local = gradient_of(whole);
    local.partial = arrays.queries.find("T")->axes;  // every slice of queries and heads adds its part
    for (const auto& axis : arrays.queries.find("N")->axes) local.partial.push_back(axis);
    gradients_[tensor].push_back({local, {step}, step});
  }
}

/// Queries, keys and weights of heads as one rank scores with them; T of the keys is whole.
struct BlockDerivation::IndexArrays {
  ShardedTensor queries, keys, weights;
};

BlockDerivation::IndexArrays BlockDerivation::index_arrays(const BlockOp& op) const {
  IndexArrays arrays{crossing(op.inputs[0]), crossing(op.inputs[1]), crossing(op.inputs[2])};
  const auto& sequence = arrays.queries.find("T")->axes;
  for (const ShardedTensor* other :
       std::initializer_list<const ShardedTensor*>{&arrays.weights, &crossing(op.output)}) {
    if (other->find("T")->axes != sequence || other->find("B")->axes != arrays.queries.find("B")->axes)
      throw ShardingError(sequence.empty() ? "" : sequence.front(),
                          arrays.queries.to_string() + " and " + other->to_string() + " are split differently",
                          "batch and sequence split alike");
  }
  for (const ShardedTensor* array :
       std::initializer_list<const ShardedTensor*>{&arrays.queries, &arrays.keys, &arrays.weights}) {
    for (const auto& dim : array->dims) {
      if (dim.name != "B" && dim.name != "T" && !dim.axes.empty())
        throw ShardingError(dim.axes.front(), array->to_string() + " splits the indexer's heads",
                            "only batch and sequence split");
    }
  }
  arrays.keys.find("T")->axes.clear();
  return arrays;
}

/// Scores of `chosen` tokens for each of a rank's queries: one product for each head, and the sum over heads.
Kernel BlockDerivation::index_kernel(const IndexArrays& arrays, double chosen) const {
  const auto& queries = arrays.queries;
  const std::int64_t size = sizes_.dim("Hi"), length = sizes_.local(*queries.find("T"));
  const std::int64_t rows = sizes_.local_elements(queries) / size;
  const std::int64_t tokens = rows / sizes_.dim("Ni");
  Kernel kernel;
  kernel.work = ComputeWork::attention;
  kernel.flops = Flops(2.0 * chosen * real(rows) * real(size + 1));
  kernel.traffic = bytes(queries) + bytes(arrays.keys) + bytes(arrays.weights) +
                   score_element * static_cast<std::int64_t>(chosen * real(tokens));
  kernel.shape = {rows / length, length, size, static_cast<std::int64_t>(chosen), false, false, true};
  return kernel;
}

void BlockDerivation::forward_index(const BlockOp& op) {
  const auto arrays = index_arrays(op);
  const auto& choice = crossing(op.output);
  Reads reads;
  read(op.inputs[0], arrays.queries, reads);
  read(op.inputs[1], arrays.keys, reads);
  read(op.inputs[2], arrays.weights, reads);
  const double seen = seen_by_indexer(op, real(sizes_.dim("T")), arrays.queries.find("T")->axes);
  const auto kernel = index_kernel(arrays, seen);
  const auto tokens = sizes_.local(*arrays.queries.find("B")) * sizes_.local(*arrays.queries.find("T"));
  const auto held = score_element * bounded_elements(tokens, sizes_.dim("T") / op.rate, "of index scores");
  const int scores =
      sparse_step(pass(), op.name + " scores", arrays.queries.to_string() + ", " + arrays.keys.to_string(),
                  std::move(reads), kernel, held);
  const auto scored = kernel.traffic - bytes(arrays.queries) - bytes(arrays.keys) - bytes(arrays.weights);
  const int step = pass().compute(op.name + " choice", choice.to_string(), {{scores}}, Flops(0), scored + bytes(choice),
                                  bytes(choice));
  finish_forward(op, choice, step);
}

/// The attention's scores alone, of what the indexer chose.
BlockDerivation::Teacher BlockDerivation::teacher_of(const BlockOp& op) const {
  if (op.rate == 1) {
    const auto arrays = sparse_arrays(op);
    const auto width = sizes_.dim(arrays.latents.dims.back().name) + sizes_.dim(arrays.rotary_keys.dims.back().name);
    return {{arrays.queries, arrays.rotary_queries, arrays.latents, arrays.rotary_keys},
            sparse_kernel(op, arrays, width)};
  }
  const auto arrays = compressed_arrays(op);
  const auto& queries = arrays.queries;
  const std::int64_t head = sizes_.dim("H"), length = sizes_.local(*queries.find("T"));
  const std::int64_t rows = sizes_.local_elements(queries) / head;
  Kernel kernel;
  kernel.work = ComputeWork::attention;
  kernel.flops = Flops(2.0 * entries_of(op, real(op.top_k), queries.find("T")->axes) * real(rows) * real(head));
  kernel.traffic = bytes(queries) + bytes(arrays.entries);
  kernel.shape = {rows / length, length, head / 2, std::min(op.top_k, sizes_.dim("T") / op.rate), false, false, true};
  return {{queries, arrays.entries}, kernel};
}

/// The attention's scores of the chosen tokens, summed over heads, are what the indexer's scores are to approach.
void BlockDerivation::backward_index(const BlockOp& op) {
  const auto arrays = index_arrays(op);
  auto [attended, kernel] = teacher_of(op);
  const auto& queries = attended.front();
  const auto choice = choice_of(op, queries);
  Reads reads{{BlockStep::outside}};
  for (std::size_t i = 0; i < attended.size(); ++i) read_in_backward(op.inputs[3 + i], attended[i], reads);
  read_in_backward(op.output, choice, reads);
  auto target = renamed(choice, op.name + " target");
  kernel.traffic += bytes(target);
  const int teacher =
      sparse_step(backward_, op.name + " target", target.to_string(), std::move(reads), kernel, bytes(target));
  target.partial = queries.find("N")->axes;
  auto wanted = renamed(crossing(op.output), target.name);
  const auto whole = backward_.chain({target, {teacher}, teacher}, settled(target, wanted), wanted,
                                     CollectiveRole::activation, policy_.activation_element);
  Reads scored{whole.producers};
  read_in_backward(op.inputs[0], arrays.queries, scored);
  read_in_backward(op.inputs[1], arrays.keys, scored);
  read_in_backward(op.inputs[2], arrays.weights, scored);
  read_in_backward(op.output, crossing(op.output), scored);
  auto backward = index_kernel(arrays, seen_by_indexer(op, real(op.top_k), arrays.queries.find("T")->axes));
  backward.flops = backward.flops * 2.0;
  backward.traffic = backward.traffic * 2;
  const auto left = bytes(arrays.queries) + bytes(arrays.keys) + bytes(arrays.weights);
  const int step = sparse_step(backward_, op.name + " scores backward", arrays.queries.to_string(), std::move(scored),
                               backward, left);
  gradients_[op.inputs[0]].push_back({gradient_of(arrays.queries), {step}, step});
  gradients_[op.inputs[2]].push_back({gradient_of(arrays.weights), {step}, step});
  auto keys = gradient_of(arrays.keys);
  keys.partial = arrays.queries.find("T")->axes;
  gradients_[op.inputs[1]].push_back({keys, {step}, step});
}

}  // namespace lockstep::workloads
