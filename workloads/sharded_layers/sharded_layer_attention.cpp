// Attention: scores and values are two products of 2 b t T n h FLOPs each, over the T that a token attends to. Heads
// must be split alike, or those of keys and values not at all (multi-query attention). If an axis splits the sequence,
// the keys and values are gathered along it, or they travel around it while the ranks attend to those at hand (arXiv
// 2310.01889), or the heads are split instead (arXiv 2309.14509).
#include <algorithm>

#include "workloads/sharded_layers/sharded_layer_private.hpp"
#include "workloads/sharding/bounded_elements.hpp"

namespace lockstep::workloads {

struct BlockDerivation::AttentionArrays {
  ShardedTensor q, k, v, o;
  AxisNames sequence;       ///< axes that split the queries' sequence
  bool travelling = false;  ///< keys and values pass by; a rank never holds all of them
};

BlockDerivation::AttentionArrays BlockDerivation::attention_arrays(const BlockOp& op) const {
  AttentionArrays arrays{
      crossing(op.inputs[0]), crossing(op.inputs[1]), crossing(op.inputs[2]), crossing(op.output), {}};
  auto refuse = [](const AxisNames& axes, const std::string& what) {
    throw ShardingError(axes.empty() ? "" : axes.front(), what,
                        "the same axes on both, or none on keys and values, and none on H");
  };
  const auto& q = arrays.q;
  for (const auto* other : {&arrays.k, &arrays.v}) {
    const auto& batch = other->find("B")->axes;
    if (q.find("B")->axes != batch)
      refuse(batch, q.to_string() + " and " + other->to_string() + " split the batch differently");
    const auto& heads = q.dims[2].axes;
    const auto& kv_heads = other->dims[2].axes;
    if (heads != kv_heads && !kv_heads.empty()) {
      refuse(heads.empty() ? kv_heads : heads,
             q.to_string() + " and " + other->to_string() + " split the heads differently");
    }
  }
  for (const ShardedTensor* array : std::initializer_list<const ShardedTensor*>{&arrays.q, &arrays.k, &arrays.v}) {
    if (!array->dims[3].axes.empty()) refuse(array->dims[3].axes, array->to_string() + " splits the head size");
  }
  arrays.o = arrays.q;  // what attention leaves is split as its queries are
  arrays.o.name = op.output;
  arrays.o.dims[3] = crossing(op.output).dims[3];
  arrays.sequence = q.find("T")->axes;
  if (arrays.sequence.empty() && arrays.k.find("T")->axes.empty()) return arrays;
  arrays.travelling =
      policy_.context_attention == ContextAttention::ring && arrays.k.find("T")->axes == arrays.sequence;
  for (auto* array : {&arrays.q, &arrays.k, &arrays.v, &arrays.o}) {
    auto* heads = &array->dims[2];
    auto split = *heads;
    split.axes.insert(split.axes.end(), arrays.sequence.begin(), arrays.sequence.end());
    const bool exchange = policy_.context_attention == ContextAttention::all_to_all;
    const bool queries = array == &arrays.q || array == &arrays.o;
    if (exchange && sizes_.dim(heads->name) % sizes_.product(split.axes) == 0) {
      *heads = split;
    } else if (exchange && queries) {
      ShardedTensor wanted = *array;
      *wanted.find("T") = {"T", {}};
      wanted.dims[2] = split;
      sizes_.check_divides(wanted);
    }
    if (exchange || !queries) array->find("T")->axes.clear();
  }
  return arrays;
}

/// The first tokens of a causal sequence attend to no later ones, so a slice has the work of all tokens up to its end
/// less that of all before it.
double BlockDerivation::attended(const BlockOp& op) const {
  const auto own = static_cast<double>(sizes_.dim("T")), earlier = static_cast<double>(policy_.earlier_tokens);
  if (policy_.sharing_slices > 0)  // every slice takes as long as the mean of all
    return attended_tokens(op.reach, own * policy_.sharing_slices, policy_.causal);
  if (policy_.earlier_tokens == 0) return attended_tokens(op.reach, own, policy_.causal);
  const auto of_first = [&](double tokens) { return tokens * attended_tokens(op.reach, tokens, policy_.causal); };
  return (of_first(earlier + own) - of_first(earlier)) / own;
}

std::int64_t BlockDerivation::earlier_keys(const BlockOp& op, std::int64_t earlier) const {
  switch (op.reach.reach) {
    case AttentionReach::full: return earlier;
    case AttentionReach::sliding: return std::min(earlier, op.reach.span - 1);
    case AttentionReach::chunked: return earlier % op.reach.span;
  }
  return earlier;
}

Bytes BlockDerivation::earlier_bytes(const BlockOp& op, const AttentionArrays& arrays, std::int64_t earlier) const {
  const auto of_token = (bytes(arrays.k).value() + bytes(arrays.v).value()) / sizes_.dim("T");
  return Bytes(of_token * earlier_keys(op, earlier));
}

Flops BlockDerivation::attention_flops(const BlockOp& op, const AttentionArrays& arrays) const {
  const double elements = static_cast<double>(sizes_.local_elements(arrays.q) + sizes_.local_elements(arrays.o));
  const double all = 2.0 * elements * attended(op);
  const auto parts = static_cast<double>(sizes_.product(arrays.q.find("T")->axes));
  // Contiguous pieces under a causal mask: the last of n ranks has (2 n - 1) / n times the average work.
  return Flops(policy_.causal && !policy_.balanced_context ? all * (2 * parts - 1) / parts : all);
}

/// Keys count as an unmasked query sees them; of a causal slice, twice those that it sees on average, as in a whole
/// sequence: the share of the work that the mask wastes follows from them.
KernelShape BlockDerivation::attention_shape(const BlockOp& op, const AttentionArrays& arrays, bool backward) const {
  const auto& q = arrays.q;
  const auto queries = sizes_.local(*q.find("T"));
  const auto head = sizes_.dim(q.dims[3].name);
  const auto tokens = sizes_.dim("T") + 2 * tokens_before();
  const auto keys = static_cast<std::int64_t>(attended_tokens(op.reach, static_cast<double>(tokens), false));
  return {sizes_.local_elements(q) / (queries * head),
          queries,
          (head + sizes_.local(arrays.o.dims[3])) / 2,
          keys,
          policy_.causal,
          backward,
          op.score_bytes == 0,
          head != sizes_.local(arrays.o.dims[3]),
          op.drops_scores};
}

/// One rank's attention in up to three steps, of which `travelling` arrives before the last: what is at hand, what
/// passes by, the last piece. Gives the first step and the last.
std::pair<int, int> BlockDerivation::attention_core(const std::string& name, const AttentionArrays& arrays,
                                                    const Reads& reads, const Kernel& kernel, const LayerKind& reach,
                                                    Bytes output, const StepIds& travelling) {
  const auto detail = arrays.q.to_string() + ", " + arrays.k.to_string() + " -> " + arrays.o.to_string();
  if (travelling.empty()) {
    const int step = pass().compute(name, detail, reads, kernel.flops, kernel.traffic, output);
    pass()[step].work = kernel.work;
    pass()[step].shape = kernel.shape;
    pass()[step].attends = reach;
    return {step, step};
  }
  const auto parts = sizes_.product(arrays.sequence);
  const auto share = [&](std::int64_t pieces) { return static_cast<double>(pieces) / static_cast<double>(parts); };
  const auto piece = [&](const std::string& which, std::int64_t pieces, const StepIds& after, Bytes left) {
    auto all = reads;
    merge(all.after, after);
    const int step = pass().compute(name + which, detail, std::move(all), kernel.flops * share(pieces),
                                    kernel.traffic * pieces / parts, left);
    pass()[step].work = kernel.work;
    pass()[step].shape = kernel.shape;
    pass()[step].shape.k = kernel.shape.k * pieces / parts;
    pass()[step].attends = reach;
    return step;
  };
  const int first = piece(" to own keys", 1, {}, output);
  int before = first;
  if (parts > 2) before = piece(" to passing keys", parts - 2, {first}, Bytes(0));
  StepIds last{before};
  merge(last, travelling);
  return {first, piece(" to the last keys", 1, last, Bytes(0))};
}

/// The share of the other ranks' pieces in which a rank's tokens see keys. With balanced pieces a rank has two of 2 n
/// pieces.
double BlockDerivation::share_that_travels(const BlockOp& op, const AttentionArrays& arrays) const {
  if (!arrays.travelling || op.reach.reach != AttentionReach::sliding) return 1;
  const auto ranks = sizes_.product(arrays.sequence);
  const auto own = policy_.causal && policy_.balanced_context ? 2 : 1;
  const auto length = sizes_.dim("T") / (own * ranks);
  const auto seen = (op.reach.span - 1 + length - 1) / length * (policy_.causal ? 1 : 2);  // of each own piece
  return std::min(1.0, static_cast<double>(seen) / static_cast<double>(ranks - 1));
}

/// Gradients of keys and values come back from where these went.
double BlockDerivation::share_that_comes_back(const std::string& tensor) const {
  for (const auto& op : block_.ops) {
    if (op.kind == BlockOp::Kind::attention && (op.inputs[1] == tensor || op.inputs[2] == tensor))
      return share_that_travels(op, attention_arrays(op));
  }
  return 1;
}

/// Keys and values on their way around; a rank holds the piece at hand and the next.
StepIds BlockDerivation::travel(const BlockOp& op, const AttentionArrays& arrays, Reads& reads) {
  StepIds arrived;
  for (const auto& [tensor, wanted] : {std::pair{op.inputs[1], arrays.k}, std::pair{op.inputs[2], arrays.v}}) {
    auto from = activation(tensor, crossing(tensor), {}, reads);
    merge(reads.after, from.producers);
    if (again_ && !dropped(tensor)) from.saved = {versions_.at(tensor).front().buffer};
    auto collectives = settled(crossing(tensor), wanted);
    for (auto& derived : collectives) {
      derived.reason = "keys and values travel around " + subscript(derived.axes);
      derived.full_size = Bytes(
          static_cast<std::int64_t>(static_cast<double>(derived.full_size.value()) * share_that_travels(op, arrays)));
    }
    const auto done = pass().chain(from, collectives, wanted, CollectiveRole::activation, policy_.activation_element);
    for (const int id : done.producers) {
      if (id == BlockStep::outside) continue;
      pass()[id].output = bytes(crossing(tensor)) * 2;
      pass()[id].travels = true;
    }
    merge(arrived, done.producers);
  }
  return arrived;
}

Bytes BlockDerivation::score_bytes(const BlockOp& op, const AttentionArrays& arrays) const {
  if (op.score_bytes == 0) return Bytes(0);  // fused: no scores are held
  const auto& q = arrays.q;
  const std::int64_t rows = sizes_.local_elements(q) / sizes_.dim(q.dims[3].name);
  return Bytes(op.score_bytes) * bounded_elements(rows, sizes_.dim("T") + policy_.earlier_tokens, "of scores");
}

/// Sinks take part in a softmax where it ends. A sink's gradient is a sum over tokens of what the backward has of each
/// row in fp32: the logarithm of its sum, and its result times the result's gradient.
void BlockDerivation::finish_sinks(const BlockOp& op, int step) {
  if (op.weight.empty()) return;
  const auto& of = crossing(op.output);
  const auto rows = sizes_.local_elements(of) / sizes_.local(of.dims.back());
  constexpr Bytes of_row(2 * 4);
  const int sum = backward_.compute(op.name + " sinks gradient", gradient_of(of).to_string(), {{step}}, Flops(0),
                                    of_row * rows, Bytes(0), MemoryKind::gradients);
  finish_vector(op, of, sum);
}

void BlockDerivation::forward_attention(const BlockOp& op) {
  const auto arrays = attention_arrays(op);
  Reads reads;
  read_vector(op, crossing(op.output), reads);
  read(op.inputs[0], arrays.q, reads);
  StepIds travelling;
  if (arrays.travelling) {
    travelling = travel(op, arrays, reads);
  } else {
    read(op.inputs[1], arrays.k, reads);
    read(op.inputs[2], arrays.v, reads);
  }
  const auto inputs = reads;
  const auto moved = bytes(arrays.q) + bytes(arrays.k) + bytes(arrays.v) + earlier_bytes(op, arrays, tokens_before()) +
                     bytes(arrays.o) + score_bytes(op, arrays) * 2;
  const Kernel kernel{ComputeWork::attention, attention_flops(op, arrays), moved, attention_shape(op, arrays, false)};
  const auto steps = attention_core(op.name, arrays, reads, kernel, op.reach, bytes(arrays.o), travelling);
  keep_inside(op, steps.second, score_bytes(op, arrays));
  Version result{arrays.o, {steps.second}, steps.first};
  share_attention(op, bytes(arrays.q), bytes(arrays.k) + bytes(arrays.v), inputs, false, result);
  finish_forward(op, result, settled(arrays.o, crossing(op.output)));
}

void BlockDerivation::backward_attention(const BlockOp& op) {
  const auto arrays = attention_arrays(op);
  Reads reads;
  read_gradient(op.output, gradient_of(arrays.o), reads);
  read_in_backward(op.inputs[0], arrays.q, reads);
  read_in_backward(op.output, crossing(op.output), reads);
  StepIds travelling;
  if (!arrays.travelling) {
    read_in_backward(op.inputs[1], arrays.k, reads);
    read_in_backward(op.inputs[2], arrays.v, reads);
  }
  again_ = true;  // what follows is written into the backward
  if (arrays.travelling) travelling = travel(op, arrays, reads);
  const auto moved = bytes(arrays.q) + bytes(arrays.k) + bytes(arrays.v) + earlier_bytes(op, arrays, tokens_before()) +
                     bytes(arrays.o) + score_bytes(op, arrays) * 2;
  const Kernel forward{ComputeWork::attention, attention_flops(op, arrays), moved, attention_shape(op, arrays, false)};
  const Kernel backward{ComputeWork::attention, forward.flops * 2.0, moved * 2, attention_shape(op, arrays, true)};
  const auto inputs = reads;
  if (drops_inside(op) && !dropped(op)) {
    const auto core = attention_core(op.name, arrays, reads, forward, op.reach, score_bytes(op, arrays), travelling);
    reads.after = {core.first};
    merge(reads.after, core.second);
    travelling.clear();
  } else {
    read_inside(op, reads);
  }
  const auto keys = arrays.travelling ? (bytes(crossing(op.inputs[1])) + bytes(crossing(op.inputs[2]))) * 2
                                      : bytes(arrays.k) + bytes(arrays.v);
  const auto steps =
      attention_core(op.name + " backward", arrays, reads, backward, op.reach, bytes(arrays.q) + keys, travelling);
  again_ = false;
  Version of_inputs{gradient_of(arrays.q), {steps.second}, steps.first};
  share_attention(op, bytes(arrays.q), bytes(arrays.k) + bytes(arrays.v), inputs, true, of_inputs);
  backward_[steps.second].for_earlier = earlier_bytes(op, arrays, policy_.earlier_tokens);
  finish_sinks(op, steps.second);
  gradients_[op.inputs[0]].push_back(of_inputs);
  for (const auto& [tensor, whole] : {std::pair{op.inputs[1], arrays.k}, std::pair{op.inputs[2], arrays.v}}) {
    auto local = gradient_of(whole);
    // Every slice of the queries adds its part; parts that travel start after the first piece.
    local.partial = arrays.q.find("T")->axes;
    for (const auto* axes : {&arrays.sequence, &arrays.q.dims[2].axes}) {
      for (const auto& axis : *axes) {
        if (!contains(local.partial, axis) && whole.sharded_by(axis) == nullptr) local.partial.push_back(axis);
      }
    }
    gradients_[tensor].push_back({local, arrays.travelling ? StepIds{steps.first} : of_inputs.producers, steps.first});
  }
}

}  // namespace lockstep::workloads
