// Recurrences: kernels take the sequence in chunks, with products inside a chunk and with the state between chunks.
// Where an axis splits the sequence, either every rank first computes what its own tokens do to the state, all ranks
// get these states, which do not grow with the sequence, and each goes on from the state before its tokens; or the
// heads are split instead while the recurrence runs (context_attention: all_to_all).
#include "workloads/sharded_layers/sharded_layer_private.hpp"
#include "workloads/sharding/bounded_elements.hpp"

namespace lockstep::workloads {
namespace {

constexpr Bytes state_element(4);  // states are carried in fp32

double real(std::int64_t value) { return static_cast<double>(value); }

}  // namespace

/// Inputs and output as one rank has them while the recurrence runs.
struct BlockDerivation::ScanArrays {
  std::vector<ShardedTensor> inputs;  ///< in the operation's order
  ShardedTensor output;
  AxisNames sequence;  ///< axes that split the sequence still
};

BlockDerivation::ScanArrays BlockDerivation::scan_arrays(const BlockOp& op) const {
  ScanArrays arrays;
  const auto& values = crossing(op.inputs[2]);
  arrays.sequence = values.find("T")->axes;
  const bool exchange = policy_.context_attention == ContextAttention::all_to_all && !arrays.sequence.empty();
  const auto here = [&](ShardedTensor array) {
    for (const char* dim : {"B", "T"}) {
      if (array.find(dim)->axes != values.find(dim)->axes)
        throw ShardingError("", array.to_string() + " and " + values.to_string() + " are split differently",
                            "batch and sequence split alike");
    }
    auto& heads = array.dims[2];
    if (heads.axes != values.dims[2].axes || (array.dims.size() > 3 && !array.dims[3].axes.empty()))
      throw ShardingError(heads.axes.empty() ? "" : heads.axes.front(),
                          array.to_string() + " and " + values.to_string() + " split the heads differently",
                          "the same axes on all heads, and none on the sizes of a key or value");
    if (exchange) {
      heads.axes.insert(heads.axes.end(), arrays.sequence.begin(), arrays.sequence.end());
      array.find("T")->axes.clear();
      sizes_.check_divides(array);
    }
    return array;
  };
  for (const auto& input : op.inputs) arrays.inputs.push_back(here(crossing(input)));
  arrays.output = renamed(arrays.inputs[2], op.output);
  if (exchange) arrays.sequence.clear();
  return arrays;
}

/// With balanced pieces a rank holds an early and a late one, and each has a state before it.
std::int64_t BlockDerivation::pieces_of_sequence() const { return policy_.causal && policy_.balanced_context ? 2 : 1; }

/// Numbers in the states that one rank's heads have at one place of each sequence.
std::int64_t BlockDerivation::state_numbers(const ScanArrays& arrays) const {
  const auto& values = arrays.inputs[2];
  const auto heads = bounded_elements(sizes_.local(*values.find("B")), sizes_.local(values.dims[2]), "of states");
  return bounded_elements(bounded_elements(heads, sizes_.dim("S"), "of states"), sizes_.dim("P"), "of states");
}

Flops BlockDerivation::scan_flops(const BlockOp& op, const ScanArrays& arrays, bool states_only) const {
  const auto of = [&](const ChunkFlops& flops) { return states_only ? flops.states : flops.forward; };
  const auto& values = arrays.inputs[2];
  const auto& keys = arrays.inputs[0];
  const double heads = real(sizes_.local_elements(values)) / real(sizes_.dim("P"));
  const double key_heads = real(sizes_.local_elements(keys)) / real(sizes_.dim("S"));
  return Flops(heads * of(chunk_flops_of_head(op.recurrence)) + key_heads * of(chunk_flops_of_key_head(op.recurrence)));
}

/// Inputs and output once, and what the kernels hand each other: the states of all chunks, and the arrays of a chunk
/// (its scores; with a delta rule, changed keys and values and their scores).
Bytes BlockDerivation::scan_traffic(const BlockOp& op, const ScanArrays& arrays) const {
  const auto& values = arrays.inputs[2];
  const std::int64_t length = sizes_.local(*values.find("T")), chunk = op.recurrence.chunk;
  Bytes moved = bytes(arrays.output);
  for (const auto& input : arrays.inputs) moved += bytes(input);
  const std::int64_t chunks = (length + chunk - 1) / chunk;
  moved += state_element * (2 * bounded_elements(state_numbers(arrays), chunks, "of states"));
  const bool delta = op.recurrence.rule != Recurrence::Rule::mamba2;
  const std::int64_t rows = delta ? sizes_.local_elements(values) / sizes_.dim("P")
                                  : sizes_.local_elements(arrays.inputs[0]) / sizes_.dim("S");
  const std::int64_t width = delta ? sizes_.dim("S") + sizes_.dim("P") + chunk : chunk;
  return moved + policy_.activation_element * (2 * bounded_elements(rows, width, "of a chunk"));
}

int BlockDerivation::scan_step(Pass& pass, const BlockOp& op, const ScanArrays& arrays, const std::string& name,
                               Reads reads, Flops flops, Bytes traffic, Bytes output, bool backward) {
  const auto& values = arrays.inputs[2];
  const std::int64_t rows = sizes_.local_elements(values) / sizes_.dim("P");
  const int step = pass.compute(name, values.to_string() + " -> " + arrays.output.to_string(), std::move(reads), flops,
                                traffic, output);
  pass[step].work = ComputeWork::attention;
  const std::int64_t chunk = op.recurrence.chunk;
  pass[step].shape = {(rows + chunk - 1) / chunk, chunk, sizes_.dim("P"), chunk, false, backward, true};
  return step;
}

/// What a rank's tokens do to the state, and its way to the other ranks: a state for each piece of the sequence, and
/// with a delta rule what becomes of the state before it.
void BlockDerivation::pass_state_along(Pass& pass, const BlockOp& op, const ScanArrays& arrays, Reads& reads,
                                       bool backward) {
  if (arrays.sequence.empty()) return;
  const std::int64_t state = state_numbers(arrays);
  const std::int64_t transition =
      op.recurrence.rule == Recurrence::Rule::mamba2 ? 0 : state / sizes_.dim("P") * sizes_.dim("S");
  const Bytes own = state_element * ((state + transition) * pieces_of_sequence());
  const int local = scan_step(pass, op, arrays, op.name + (backward ? " of own gradients" : " of own tokens"), reads,
                              scan_flops(op, arrays, true), scan_traffic(op, arrays), own, backward);
  const auto& values = arrays.inputs[2];
  const ShardedTensor states{
      (backward ? "d" : "") + op.output + " state", {*values.find("B"), values.dims[2], {"S", {}}, {"P", {}}}, {}};
  const DerivedCollective gather{CollectiveKind::all_gather,
                                 arrays.sequence,
                                 states,
                                 states,
                                 own * sizes_.product(arrays.sequence),
                                 "each rank goes on from the state before its tokens"};
  const int gathered = pass.collective(gather, CollectiveRole::activation, {local}, state_element);
  pass[gathered].output = gather.full_size;
  merge(reads.after, gathered);
}

void BlockDerivation::forward_scan(const BlockOp& op) {
  const auto arrays = scan_arrays(op);
  Reads reads;
  for (std::size_t i = 0; i < op.inputs.size(); ++i) read(op.inputs[i], arrays.inputs[i], reads);
  read_vector(op, crossing(op.output), reads);
  pass_state_along(pass(), op, arrays, reads, false);
  const int step = scan_step(pass(), op, arrays, op.name, std::move(reads), scan_flops(op, arrays, false),
                             scan_traffic(op, arrays), bytes(arrays.output), false);
  if (!arrays.sequence.empty()) keep_inside(op, step, state_element * (state_numbers(arrays) * pieces_of_sequence()));
  finish_forward(op, arrays.output, step);
}

/// The states of all chunks are computed again, then the gradients, which take twice the forward.
void BlockDerivation::backward_scan(const BlockOp& op) {
  const auto arrays = scan_arrays(op);
  Reads reads;
  read_gradient(op.output, gradient_of(arrays.output), reads);
  Bytes left(0);
  for (std::size_t i = 0; i < op.inputs.size(); ++i) {
    read_in_backward(op.inputs[i], arrays.inputs[i], reads);
    left += bytes(arrays.inputs[i]);
  }
  read_inside(op, reads);
  pass_state_along(backward_, op, arrays, reads, true);
  const Flops flops = scan_flops(op, arrays, false) * 2.0 + scan_flops(op, arrays, true);
  const int step = scan_step(backward_, op, arrays, op.name + " backward", std::move(reads), flops,
                             scan_traffic(op, arrays) * 2, left, true);
  for (std::size_t i = 0; i < op.inputs.size(); ++i)
    gradients_[op.inputs[i]].push_back({gradient_of(arrays.inputs[i]), {step}, step});
  finish_vector(op, crossing(op.output), step);
}

}  // namespace lockstep::workloads
