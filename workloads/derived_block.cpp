#include "workloads/derived_block.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

namespace lockstep {
namespace {

constexpr int outside = BlockStep::outside;
constexpr std::int64_t statistic_bytes = 4;  // norms and losses reduce in fp32

using StepIds = std::vector<int>;

void merge(StepIds& into, const StepIds& more) {
  for (const int id : more) {
    if (std::find(into.begin(), into.end(), id) == into.end()) into.push_back(id);
  }
}

/// An array in one sharding, who makes it, and which step's output buffer holds it.
struct Version {
  ShardedTensor sharding;
  StepIds producers;
  int buffer = outside;
};

/// Forward and backward are lists of steps; this is one of them while it is written.
class Pass {
 public:
  explicit Pass(std::vector<BlockStep>& steps, const Sizes& sizes) : steps_(steps), sizes_(sizes) {}

  int compute(std::string name, std::string detail, StepIds after, Flops flops, Bytes traffic, Bytes output,
              MemoryKind kind = MemoryKind::activations) {
    BlockStep step{};
    step.kind = BlockStep::Kind::compute;
    step.name = std::move(name);
    step.detail = std::move(detail);
    step.after = std::move(after);
    step.flops = flops;
    step.traffic = traffic;
    step.output = output;
    step.output_kind = kind;
    return add(std::move(step));
  }

  int collective(const DerivedCollective& derived, CollectiveRole role, StepIds after, Bytes element) {
    BlockStep step{};
    step.kind = BlockStep::Kind::collective;
    step.name = std::string(book_name(derived.kind)) + "_" + subscript(derived.axes) + " " + derived.before.name;
    step.detail = derived.before.to_string() + " -> " + derived.after.to_string();
    step.after = std::move(after);
    step.collective = derived.kind;
    step.axes = derived.axes;
    step.full_size = derived.full_size;
    step.role = role;
    step.reason = derived.reason;
    step.output = element * sizes_.local_elements(derived.after);
    step.output_kind = role == CollectiveRole::activation ? MemoryKind::activations : MemoryKind::other;
    return add(std::move(step));
  }

  /// Runs a chain of collectives one after the other; a free slice adds no step.
  Version chain(Version from, const std::vector<DerivedCollective>& collectives, const ShardedTensor& to, CollectiveRole role,
                Bytes element) {
    for (const auto& derived : collectives) {
      const int id = collective(derived, role, from.producers, element);
      if (!pending_saved_.empty()) {
        steps_[static_cast<std::size_t>(id)].saved = pending_saved_;
        pending_saved_.clear();
      }
      from.producers = {id};
      from.buffer = id;
    }
    from.sharding = to;
    return from;
  }

  /// The next collective of a chain reads this forward buffer.
  void read_saved(int buffer) { pending_saved_ = {buffer}; }

  BlockStep& operator[](int id) { return steps_[static_cast<std::size_t>(id)]; }

 private:
  int add(BlockStep step) {
    steps_.push_back(std::move(step));
    return static_cast<int>(steps_.size()) - 1;
  }
  std::vector<BlockStep>& steps_;
  const Sizes& sizes_;
  StepIds pending_saved_;
};

class BlockDerivation {
 public:
  BlockDerivation(const Block& block, const Plan& plan, const Sizes& sizes, const ShardedTensor& arrives, const DerivePolicy& policy)
      : block_(block), plan_(plan), sizes_(sizes), arrives_(arrives), policy_(policy),
        forward_(out_.forward, sizes), backward_(out_.backward, sizes) {}

  DerivedBlock run() {
    out_.name = block_.name;
    for (const auto& tensor : block_.activations) sizes_.check_divides(crossing(tensor.name));
    write_weights();
    receive_input();
    for (const auto& op : block_.ops) forward(op);
    if (!block_.output.empty()) {
      out_.output_steps = version(block_.output).producers;
      gradients_[block_.output].push_back({crossing(block_.output), {outside}, outside});
    } else {
      out_.output_steps = {static_cast<int>(out_.forward.size()) - 1};
    }
    for (auto op = block_.ops.rbegin(); op != block_.ops.rend(); ++op) backward(*op);
    hand_back_input_gradient();
    return std::move(out_);
  }

 private:
  [[nodiscard]] const ShardedTensor& crossing(const std::string& tensor) const { return plan_.activations.at(tensor); }
  [[nodiscard]] Bytes bytes(const ShardedTensor& tensor) const { return policy_.activation_element * sizes_.local_elements(tensor); }
  Version& version(const std::string& tensor) { return versions_.at(tensor).front(); }

  static ShardedTensor gradient_of(ShardedTensor tensor) {
    tensor.name = "d" + tensor.name;
    return tensor;
  }

  void write_weights() {
    for (const auto& tensor : block_.weights) {
      const auto& stored = plan_.weights.at(tensor.name);
      const auto& gradient = plan_.gradients.at(tensor.name);
      const auto& optimizer = plan_.optimizer.at(tensor.name);
      for (const auto* sharding : {&stored, &gradient, &optimizer}) sizes_.check_divides(*sharding);
      if (tensor.tied) continue;
      WeightUpdate update{};
      update.weight = tensor.name;
      update.parameters = 1;
      for (const auto& dim : tensor.dims) update.parameters *= sizes_.dim(dim);
      update.stored = policy_.weight_element * sizes_.local_elements(stored);
      std::int64_t shards = 1;
      for (const auto& dim : stored.dims) shards *= sizes_.product(dim.axes);
      update.padding = policy_.weight_element * (sizes_.padding_elements(stored) / shards);
      update.gradient_elements = sizes_.local_elements(gradient);
      update.optimizer_elements = sizes_.local_elements(optimizer);
      update.last_microbatch = settle(gradient_of(gradient), gradient_of(optimizer), sizes_, policy_.gradient_element);
      update.publish = settle(optimizer, stored, sizes_, policy_.weight_element);
      out_.weights.push_back(std::move(update));
    }
  }

  void receive_input() {
    if (block_.input.empty()) {
      for (const auto& op : block_.ops) {
        if (op.kind == BlockOp::Kind::lookup) versions_[op.inputs[0]] = {{crossing(op.inputs[0]), {outside}, outside}};
      }
      return;
    }
    out_.input_bytes = bytes(arrives_);
    auto from = arrives_;
    from.name = block_.input;
    const auto& to = crossing(block_.input);
    versions_[block_.input] = {forward_.chain({from, {outside}, outside}, settle(from, to, sizes_, policy_.activation_element), to,
                                              CollectiveRole::activation, policy_.activation_element)};
  }

  void hand_back_input_gradient() {
    if (block_.input.empty()) return;
    auto to = gradient_of(arrives_);
    to.name = "d" + block_.input;
    const auto& gradient = finished_gradient(block_.input);
    const auto collectives = settle(gradient.sharding, to, sizes_, policy_.activation_element);
    out_.input_gradient_steps =
        backward_.chain(gradient, collectives, to, CollectiveRole::activation, policy_.activation_element).producers;
  }

  // ---- finding arrays in the sharding that an operation needs ------------------------------------

  /// The version of `list` with that sharding; made from the first by the collectives if there is none.
  Version obtain(Pass& pass, std::vector<Version>& list, const ShardedTensor& wanted, const std::vector<DerivedCollective>& collectives,
                 CollectiveRole role, Bytes element) {
    for (const auto& known : list) {
      if (known.sharding.same_sharding(wanted)) return known;
    }
    list.push_back(pass.chain(list.front(), collectives, wanted, role, element));
    return list.back();
  }

  Version weight(Pass& pass, std::map<std::string, std::vector<Version>>& gathered_here, const std::string& name,
                 const ShardedTensor& wanted, const std::vector<DerivedCollective>& collectives) {
    auto& list = gathered_here[name];
    if (list.empty()) list.push_back({plan_.weights.at(name), {}, outside});
    return obtain(pass, list, wanted, collectives, CollectiveRole::weight, policy_.weight_element);
  }

  /// A weight in the backward: gathered again, or the forward's copy (then nothing is to wait for).
  Version weight_in_backward(const std::string& name, const ShardedTensor& wanted, const std::vector<DerivedCollective>& collectives,
                             StepIds& saved) {
    if (!policy_.regather_weights) {
      for (const auto& known : weights_forward_[name]) {
        if (!known.sharding.same_sharding(wanted)) continue;
        if (known.buffer != outside) merge(saved, {known.buffer});
        return {known.sharding, {}, known.buffer};
      }
    }
    return weight(backward_, weights_backward_, name, wanted, collectives);
  }

  /// A forward activation in the backward: the kept version if the forward had it and may keep it, else
  /// gathered again from the crossing version. Adds what is read from the forward to `saved`.
  StepIds activation_in_backward(const std::string& tensor, const ShardedTensor& wanted,
                                 const std::vector<DerivedCollective>& collectives, StepIds& saved) {
    const auto& known = versions_.at(tensor);
    for (std::size_t i = 0; i < known.size(); ++i) {
      const bool kept = i == 0 || policy_.share_activation_gathers || known[i].buffer == known[0].buffer;
      if (kept && known[i].sharding.same_sharding(wanted)) {
        merge(saved, {known[i].buffer});
        return {};
      }
    }
    if (collectives.empty()) {
      merge(saved, {known[0].buffer});
      return {};
    }
    auto& list = regathered_[tensor];
    if (list.empty()) list.push_back({known[0].sharding, {outside}, known[0].buffer});
    backward_.read_saved(known[0].buffer);
    return obtain(backward_, list, wanted, collectives, CollectiveRole::activation, policy_.activation_element).producers;
  }

  /// Collects the contributions to an activation's gradient, sums those that are sharded alike, and
  /// settles the sums to the sharding in which the activation crosses.
  Version& finished_gradient(const std::string& tensor) {
    auto& finished = finished_[tensor];
    if (!finished.empty()) return finished.front();
    Version result{gradient_of(crossing(tensor)), {}, outside};
    auto rest = gradients_[tensor];
    while (!rest.empty()) {
      Version sum = rest.front();
      for (std::size_t i = 1; i < rest.size(); ++i) {
        if (rest[i].sharding.same_sharding(sum.sharding)) merge(sum.producers, rest[i].producers);
      }
      sum.sharding.name = "d" + tensor;
      std::erase_if(rest, [&](const auto& other) { return other.sharding.same_sharding(sum.sharding); });
      const auto collectives = settle(sum.sharding, result.sharding, sizes_, policy_.activation_element);
      const auto done = backward_.chain(overlapped(backward_, sum, !collectives.empty()), collectives, result.sharding,
                                        CollectiveRole::activation, policy_.activation_element);
      merge(result.producers, done.producers);
      if (policy_.collective_matmul && !collectives.empty()) merge(result.producers, sum.producers);
      result.buffer = done.buffer;
    }
    finished.push_back(result);
    return finished.front();
  }

  /// Collective matmul: a collective on a product's result starts with the product, chunk by chunk, so it
  /// waits for what the product waits for (its consumers wait for both).
  Version overlapped(Pass& pass, Version result, bool has_collectives) {
    if (!policy_.collective_matmul || !has_collectives) return result;
    StepIds earlier;
    for (const int id : result.producers) {
      if (id == outside || pass[id].kind != BlockStep::Kind::compute) {
        merge(earlier, {id});
      } else {
        merge(earlier, pass[id].after);
      }
    }
    result.producers = earlier;
    return result;
  }

  /// Collective matmul on an operand: the product starts with the gather and its consumers wait for both.
  StepIds start_of(const Version& gathered, const Version& source) const {
    return policy_.collective_matmul ? source.producers : gathered.producers;
  }

  // ---- forward ---------------------------------------------------------------------------------

  void forward(const BlockOp& op) {
    switch (op.kind) {
      case BlockOp::Kind::matmul:
      case BlockOp::Kind::lookup: return forward_product(op);
      case BlockOp::Kind::attention: return forward_attention(op);
      case BlockOp::Kind::elementwise:
      case BlockOp::Kind::add:
      case BlockOp::Kind::loss: return forward_elementwise(op);
    }
  }

  void forward_product(const BlockOp& op) {
    const auto& in = op.inputs[0];
    DeriveOptions options{policy_.activation_element, policy_.weight_element, policy_.activation_element, OneSided::fewer_bytes};
    if (op.kind == BlockOp::Kind::lookup) options.one_sided = OneSided::slice;  // looking up one's own rows moves no weights
    const auto derived = derive({crossing(in), plan_.weights.at(op.weight), crossing(op.output)}, sizes_, options);
    const auto left = obtain(forward_, versions_.at(in), derived.local.left, derived.left, CollectiveRole::activation, policy_.activation_element);
    const auto right = weight(forward_, weights_forward_, op.weight, derived.local.right, derived.right);
    auto after = start_of(left, version(in));
    merge(after, right.producers);
    const int step = forward_.compute(op.name, derived.local.to_string(), after, flops(op, derived),
                                      traffic(op, derived.local), bytes(derived.local.result));
    finish_forward(op.output, {derived.local.result, {step}, step}, derived.result, left.producers);
  }

  void finish_forward(const std::string& output, const Version& local, const std::vector<DerivedCollective>& collectives, const StepIds& gathers) {
    auto done = forward_.chain(overlapped(forward_, local, !collectives.empty()), collectives, crossing(output),
                               CollectiveRole::activation, policy_.activation_element);
    if (policy_.collective_matmul) {
      merge(done.producers, local.producers);
      merge(done.producers, gathers);
    }
    versions_[output] = {done};
  }

  [[nodiscard]] static Flops flops(const BlockOp& op, const Derivation& derived) {
    return op.kind == BlockOp::Kind::lookup ? Flops(0) : derived.flops;
  }

  [[nodiscard]] Bytes traffic(const BlockOp& op, const Einsum& local) const {
    const auto result = bytes(local.result);
    return op.kind == BlockOp::Kind::lookup ? result * 2 : bytes(local.left) + bytes(local.right) + result;
  }

  void forward_elementwise(const BlockOp& op) {
    const auto& local = crossing(op.inputs[0]);
    StepIds after;
    for (const auto& input : op.inputs) {
      const auto collectives = settle(crossing(input), renamed(local, input), sizes_, policy_.activation_element);
      merge(after, obtain(forward_, versions_.at(input), renamed(local, input), collectives, CollectiveRole::activation,
                          policy_.activation_element).producers);
    }
    if (!op.weight.empty()) merge(after, scale(forward_, weights_forward_, op, local).producers);
    reduce_statistics(forward_, op, local, after);
    const auto moved = bytes(local) * static_cast<std::int64_t>(op.inputs.size() + (op.output.empty() ? 0 : 1));
    const int step = forward_.compute(op.name, op.output.empty() ? local.to_string() : describe(op, local), after, Flops(0), moved,
                                      op.output.empty() ? Bytes(0) : bytes(local));
    if (op.kind == BlockOp::Kind::loss) {
      gradients_[op.inputs[0]].push_back({gradient_of(local), {outside}, outside});
      return;
    }
    finish_forward(op.output, {renamed(local, op.output), {step}, step},
                   settle(renamed(local, op.output), crossing(op.output), sizes_, policy_.activation_element), {});
  }

  /// A norm's scale, split as the activation's D is.
  Version scale(Pass& pass, std::map<std::string, std::vector<Version>>& here, const BlockOp& op, const ShardedTensor& local) {
    const auto& stored = plan_.weights.at(op.weight);
    auto wanted = stored;
    for (auto& dim : wanted.dims) dim.axes = local.find(dim.name)->axes;
    return weight(pass, here, op.weight, wanted, settle(stored, wanted, sizes_, policy_.weight_element));
  }

  /// Norms and losses over a split dimension need a few numbers per row from every rank of the split.
  void reduce_statistics(Pass& pass, const BlockOp& op, const ShardedTensor& local, StepIds& after) {
    if (op.statistics == 0 || op.reduced_dim.empty()) return;
    const auto axes = local.find(op.reduced_dim)->axes;
    if (axes.empty()) return;
    ShardedTensor rows{local.name + "stat", {}, axes};
    for (const auto& dim : local.dims) {
      if (dim.name != op.reduced_dim) rows.dims.push_back(dim);
    }
    auto summed = rows;
    summed.partial.clear();
    const Bytes element(statistic_bytes * op.statistics);
    const DerivedCollective reduce{CollectiveKind::all_reduce, axes, rows, summed, element * sizes_.local_elements(rows),
                                   op.name + " over " + op.reduced_dim + ", which is sharded over " + subscript(axes)};
    after = {pass.collective(reduce, CollectiveRole::activation, after, element)};
  }

  static ShardedTensor renamed(ShardedTensor tensor, const std::string& name) {
    tensor.name = name;
    return tensor;
  }

  [[nodiscard]] static std::string describe(const BlockOp& op, const ShardedTensor& local) {
    std::string text;
    for (const auto& input : op.inputs) text += (text.empty() ? "" : ", ") + renamed(local, input).to_string();
    return text + " -> " + renamed(local, op.output).to_string();
  }

  // ---- attention -------------------------------------------------------------------------------

  /// Queries stay where they are; keys and values are gathered along a split sequence; heads must be split alike.
  ShardedTensor attention_keys(const BlockOp& op, const std::string& tensor) const {
    const auto& q = crossing(op.inputs[0]);
    auto k = crossing(tensor);
    auto refuse = [&](const AxisNames& axes, const std::string& what) {
      throw ShardingError(axes.empty() ? "" : axes.front(), what, "the same axes on both, and none on H");
    };
    if (q.find("B")->axes != k.find("B")->axes) refuse(k.find("B")->axes, q.to_string() + " and " + k.to_string() + " split the batch differently");
    if (q.find("N")->axes != k.find("K")->axes) refuse(q.find("N")->axes.empty() ? k.find("K")->axes : q.find("N")->axes, q.to_string() + " and " + k.to_string() + " split the heads differently");
    for (const auto* t : {&q, static_cast<const ShardedTensor*>(&k)}) {
      if (!t->find("H")->axes.empty()) refuse(t->find("H")->axes, t->to_string() + " splits the head size");
    }
    k.find("T")->axes.clear();
    return k;
  }

  [[nodiscard]] Flops attention_flops(const ShardedTensor& q) const {
    // scores and values: 2 products of 2 b t T n H each; a causal mask halves them (docs/models/transformer.md)
    const double full = 4.0 * static_cast<double>(sizes_.local_elements(q)) * static_cast<double>(sizes_.dim("T"));
    return Flops(policy_.causal ? full / 2 : full);
  }

  void forward_attention(const BlockOp& op) {
    const auto& q = crossing(op.inputs[0]);
    StepIds after = version(op.inputs[0]).producers;
    Bytes moved = bytes(q) * 2;
    for (const auto& tensor : {op.inputs[1], op.inputs[2]}) {
      const auto whole = attention_keys(op, tensor);
      const auto gather = settle(crossing(tensor), whole, sizes_, policy_.activation_element);
      merge(after, obtain(forward_, versions_.at(tensor), whole, gather, CollectiveRole::activation, policy_.activation_element).producers);
      moved += bytes(whole);
    }
    const auto local = renamed(q, op.output);
    const int step = forward_.compute(op.name, q.to_string() + ", " + attention_keys(op, op.inputs[1]).to_string() + " -> " + local.to_string(), after,
                                      attention_flops(q), moved, bytes(local));
    finish_forward(op.output, {local, {step}, step}, settle(local, crossing(op.output), sizes_, policy_.activation_element), {});
  }

  void backward_attention(const BlockOp& op) {
    const auto& q = crossing(op.inputs[0]);
    const auto wanted = gradient_of(renamed(q, op.output));
    const auto gradient = obtain_gradient(op.output, wanted, settle(gradient_of(crossing(op.output)), wanted, sizes_, policy_.activation_element));
    StepIds after = gradient.producers;
    StepIds saved{version(op.inputs[0]).buffer, version(op.output).buffer};
    Bytes moved = bytes(q) * 4;
    for (const auto& tensor : {op.inputs[1], op.inputs[2]}) {
      const auto whole = attention_keys(op, tensor);
      merge(after, activation_in_backward(tensor, whole, settle(crossing(tensor), whole, sizes_, policy_.activation_element), saved));
      moved += bytes(whole) * 2;
    }
    const int step = backward_.compute(op.name + " backward", q.to_string(), after, attention_flops(q) * 2.0, moved,
                                       bytes(q) + bytes(attention_keys(op, op.inputs[1])) * 2);
    backward_[step].saved = saved;
    gradients_[op.inputs[0]].push_back({gradient_of(q), {step}, step});
    for (const auto& tensor : {op.inputs[1], op.inputs[2]}) {
      auto local = gradient_of(attention_keys(op, tensor));
      local.partial = crossing(tensor).find("T")->axes;  // every slice of the queries adds its part
      gradients_[tensor].push_back({local, {step}, step});
    }
  }

  // ---- backward --------------------------------------------------------------------------------

  void backward(const BlockOp& op) {
    switch (op.kind) {
      case BlockOp::Kind::matmul: backward_input(op); return backward_weight(op);
      case BlockOp::Kind::lookup: return backward_weight(op);
      case BlockOp::Kind::attention: return backward_attention(op);
      case BlockOp::Kind::elementwise: return backward_elementwise(op);
      case BlockOp::Kind::add: return backward_add(op);
      case BlockOp::Kind::loss: return;
    }
  }

  Version obtain_gradient(const std::string& tensor, const ShardedTensor& wanted, const std::vector<DerivedCollective>& collectives) {
    finished_gradient(tensor);
    return obtain(backward_, finished_[tensor], wanted, collectives, CollectiveRole::activation, policy_.activation_element);
  }

  /// dIn = dOut * W (transposition): an einsum like any other, under the same rules.
  void backward_input(const BlockOp& op) {
    const auto& in = op.inputs[0];
    const auto out = finished_gradient(op.output);
    const auto derived = derive({out.sharding, plan_.weights.at(op.weight), gradient_of(crossing(in))}, sizes_,
                                {policy_.activation_element, policy_.weight_element, policy_.activation_element, OneSided::fewer_bytes});
    const auto left = obtain_gradient(op.output, derived.local.left, derived.left);
    StepIds saved;
    const auto right = weight_in_backward(op.weight, derived.local.right, derived.right, saved);
    auto after = start_of(left, out);
    merge(after, right.producers);
    const int step = backward_.compute(op.name + " input gradient", derived.local.to_string(), after, derived.flops,
                                       traffic(op, derived.local), bytes(derived.local.result));
    backward_[step].saved = saved;
    Version contribution{derived.local.result, {step}, step};
    if (policy_.collective_matmul) merge(contribution.producers, left.producers);
    gradients_[in].push_back(contribution);
  }

  /// dW = In * dOut, wanted as gradients are accumulated.
  void backward_weight(const BlockOp& op) {
    const auto& in = op.inputs[0];
    const auto out = finished_gradient(op.output);
    const auto derived = derive({crossing(in), out.sharding, gradient_of(plan_.gradients.at(op.weight))}, sizes_,
                                {policy_.activation_element, policy_.activation_element, policy_.gradient_element, OneSided::fewer_bytes});
    StepIds saved;
    const bool lookup = op.kind == BlockOp::Kind::lookup;
    auto after = lookup ? StepIds{} : activation_in_backward(in, derived.local.left, derived.left, saved);
    merge(after, obtain_gradient(op.output, derived.local.right, derived.right).producers);
    const int step = backward_.compute(op.name + " weight gradient", derived.local.to_string(), after, flops(op, derived), traffic(op, derived.local),
                                       derived.result.empty() ? Bytes(0) : policy_.gradient_element * sizes_.local_elements(derived.local.result),
                                       MemoryKind::gradients);
    backward_[step].saved = saved;
    finish_weight(op.weight, step, derived.result);
  }

  void finish_weight(const std::string& name, int step, std::vector<DerivedCollective> collectives) {
    for (auto& update : out_.weights) {
      if (update.weight != name) continue;
      update.gradient_steps.push_back(step);
      update.each_microbatch = std::move(collectives);
    }
  }

  void backward_elementwise(const BlockOp& op) {
    const auto& local = crossing(op.inputs[0]);
    const auto wanted = gradient_of(renamed(local, op.output));
    const auto gradient = obtain_gradient(op.output, wanted, settle(gradient_of(crossing(op.output)), wanted, sizes_, policy_.activation_element));
    StepIds after = gradient.producers;
    StepIds saved;
    for (const auto& input : op.inputs) {
      merge(after, activation_in_backward(input, renamed(local, input),
                                          settle(crossing(input), renamed(local, input), sizes_, policy_.activation_element), saved));
    }
    reduce_statistics(backward_, op, gradient_of(local), after);
    const auto inputs = static_cast<std::int64_t>(op.inputs.size());
    const int step = backward_.compute(op.name + " backward", describe(op, local), after, Flops(0), bytes(local) * (2 * inputs + 1), bytes(local) * inputs);
    backward_[step].saved = saved;
    for (const auto& input : op.inputs) gradients_[input].push_back({gradient_of(renamed(local, input)), {step}, step});
    if (op.weight.empty()) return;
    ShardedTensor sum = gradient_of(plan_.weights.at(op.weight));  // summed over rows: partial over whatever splits the rows
    for (auto& dim : sum.dims) dim.axes = local.find(dim.name)->axes;
    for (const auto& dim : local.dims) {
      if (sum.find(dim.name) == nullptr) sum.partial.insert(sum.partial.end(), dim.axes.begin(), dim.axes.end());
    }
    finish_weight(op.weight, step, settle(sum, gradient_of(plan_.gradients.at(op.weight)), sizes_, policy_.gradient_element));
  }

  void backward_add(const BlockOp& op) {
    const auto& gradient = finished_gradient(op.output);
    for (const auto& input : op.inputs) {
      gradients_[input].push_back({renamed(gradient.sharding, "d" + input), gradient.producers, gradient.buffer});
    }
  }

  const Block& block_;
  const Plan& plan_;
  const Sizes& sizes_;
  const ShardedTensor& arrives_;
  const DerivePolicy& policy_;
  DerivedBlock out_;
  Pass forward_, backward_;
  std::map<std::string, std::vector<Version>> versions_;   ///< activations by name; the first is the crossing one
  std::map<std::string, std::vector<Version>> regathered_; ///< activations gathered again in the backward
  std::map<std::string, std::vector<Version>> weights_forward_, weights_backward_;
  std::map<std::string, std::vector<Version>> gradients_;  ///< contributions to activation gradients
  std::map<std::string, std::vector<Version>> finished_;   ///< their sums; the first is the crossing one
};

void print(std::string& text, const char* title, const std::vector<BlockStep>& steps) {
  text += std::string("  ") + title + "\n";
  for (const auto& step : steps) {
    text += "    ";
    if (step.kind == BlockStep::Kind::compute) {
      text += step.name + ": " + step.detail;
    } else {
      text += std::string(book_name(step.collective)) + "_" + subscript(step.axes) + ": " + step.detail + "  (" +
              std::to_string(step.full_size.value()) + " B; " + step.reason + ")";
    }
    text += "\n";
  }
}

void print(std::string& text, const std::string& weight, const char* when, const std::vector<DerivedCollective>& collectives) {
  for (const auto& derived : collectives) {
    text += "    " + weight + " " + when + ": " + derived.to_string() + "  (" + std::to_string(derived.full_size.value()) + " B; " + derived.reason + ")\n";
  }
}

}  // namespace

DerivedBlock derive_block(const Block& block, const Plan& plan, const Sizes& sizes, const ShardedTensor& arrives, const DerivePolicy& policy) {
  return BlockDerivation(block, plan, sizes, arrives, policy).run();
}

std::string DerivedBlock::to_string() const {
  std::string text = "block " + name + "\n";
  print(text, "forward", forward);
  print(text, "backward", backward);
  text += "  gradients and update\n";
  for (const auto& update : weights) {
    print(text, update.weight, "each microbatch", update.each_microbatch);
    print(text, update.weight, "after the last microbatch", update.last_microbatch);
    print(text, update.weight, "after the update", update.publish);
  }
  return text;
}

}  // namespace lockstep
