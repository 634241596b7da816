#include <algorithm>
#include <map>
#include <utility>

#include "workloads/build_step_private.hpp"

namespace lockstep {
namespace {

class StepBuilder {
 public:
  StepBuilder(const std::vector<DerivedBlock>& kinds, const std::vector<int>& order, const StepOptions& options)
      : kinds_(kinds), order_(order), options_(options) {}

  StepGraph run() {
    name_blocks();
    const int blocks = static_cast<int>(order_.size());
    for (std::int32_t microbatch = 0; microbatch < options_.microbatches; ++microbatch) {
      microbatch_ = microbatch;
      std::vector<PassVertices> forward;
      Handover carried;
      for (int block = 0; block < blocks; ++block) {
        forward.push_back(expand(block, StepPass::forward, carried));
        carried = handover(forward.back(), kind(block).output_steps);
      }
      for (int block = blocks - 1; block >= 0; --block) {
        const auto backward = expand(block, StepPass::backward, carried);
        carried = handover(backward, kind(block).input_gradient_steps);
        hold_activations(block, forward[static_cast<std::size_t>(block)], backward);
        reduce_gradients(block, backward);
      }
      flush_all();
    }
    update();
    return std::move(graph_);
  }

 private:
  [[nodiscard]] const DerivedBlock& kind(int block) const {
    return kinds_[static_cast<std::size_t>(order_[static_cast<std::size_t>(block)])];
  }
  [[nodiscard]] bool last_microbatch() const { return microbatch_ + 1 == options_.microbatches; }

  void name_blocks() {
    std::map<int, int> many, seen;
    for (const int which : order_) ++many[which];
    for (const int which : order_) {
      const int position = static_cast<int>(graph_.block_names.size());
      const auto& name = kinds_[static_cast<std::size_t>(which)].name;
      graph_.block_names.push_back(many[which] == 1 ? name : name + " " + std::to_string(seen[which]++));
      for (const auto& update : kinds_[static_cast<std::size_t>(which)].weights) {
        graph_.weights += update.stored;
        graph_.weight_padding += update.padding;
        graph_.optimizer += options_.optimizer_state_per_parameter * update.optimizer_elements;
        graph_.parameters += update.parameters;
        tied_to_.try_emplace(update.weight, position, update.weight);
      }
    }
  }

  /// Products that overlap their collectives hand on what they themselves wait for: that is done when they are.
  Handover handover(const PassVertices& vertices, const std::vector<int>& steps) const {
    Handover result{pick(vertices, steps), {}};
    drop_implied(result.ops);
    const bool passes_on =
        std::any_of(result.ops.begin(), result.ops.end(), [&](OpId id) { return id < vertices.first_op; });
    for (const int step : steps) {
      if (step == BlockStep::outside) {
        if (!passes_on) continue;
        result.buffers.insert(result.buffers.end(), vertices.received.buffers.begin(), vertices.received.buffers.end());
      } else {
        result.buffers.push_back(vertices.first_buffer + static_cast<std::size_t>(step));
      }
    }
    return result;
  }

  /// Leaves out operations that another one waits for.
  void drop_implied(OpIds& ops) const {
    if (ops.size() < 2) return;
    OpIds implied;
    for (const auto id : ops) merge(implied, graph_.predecessors(id));
    std::erase_if(ops, [&](OpId id) { return std::find(implied.begin(), implied.end(), id) != implied.end(); });
  }

  static OpIds pick(const PassVertices& vertices, const std::vector<int>& steps) {
    OpIds result;
    for (const int step : steps) {
      if (step == BlockStep::outside) {
        merge(result, vertices.received.ops);
      } else {
        merge(result, {vertices.of_step[static_cast<std::size_t>(step)]});
      }
    }
    return result;
  }

  StepOp blank(int block, StepPass pass) const {
    StepOp op;
    op.pass = pass;
    op.block = block;
    op.microbatch = microbatch_;
    return op;
  }

  StepOp collective(int block, StepPass pass, const DerivedCollective& derived, CollectiveRole role,
                    const std::vector<std::string>& arrays) const {
    auto op = blank(block, pass);
    op.kind = StepOp::Kind::collective;
    op.name = std::string(book_name(derived.kind)) + "_" + subscript(derived.axes);
    for (const auto& array : arrays) op.name += " " + array;
    op.detail = derived.before.to_string() + " -> " + derived.after.to_string();
    if (arrays.size() > 1) op.detail += " and " + std::to_string(arrays.size() - 1) + " more arrays";
    op.collective = derived.kind;
    op.axes = derived.axes;
    op.full_size = derived.full_size;
    op.role = role;
    op.reason = derived.reason;
    return op;
  }

  OpId add(StepOp op, const OpIds& after) {
    const auto id = graph_.add(std::move(op));
    for (const auto before : after) graph_.depend(id, before);
    return id;
  }

  // ---- one block, one pass ---------------------------------------------------------------------

  PassVertices expand(int block, StepPass pass, const Handover& received) {
    const auto& steps = pass == StepPass::forward ? kind(block).forward : kind(block).backward;
    PassVertices vertices;
    vertices.received = received;
    vertices.first_op = graph_.size();
    vertices.of_step.assign(steps.size(), -1);
    gather_weights(block, pass, steps, vertices);
    for (std::size_t i = 0; i < steps.size(); ++i) {
      const auto& step = steps[i];
      if (vertices.of_step[i] >= 0) continue;  // a weight gather, already there
      auto after = pick(vertices, step.after);
      const bool uses_weights = std::any_of(step.after.begin(), step.after.end(), [&](int id) {
        return id != BlockStep::outside && is_weight_gather(steps[static_cast<std::size_t>(id)]);
      });
      vertices.of_step[i] = add(as_op(block, pass, step), after);
      if (step.kind == BlockStep::Kind::compute) vertices.last_compute = vertices.of_step[i];
      if (uses_weights) vertices.weight_readers.push_back(vertices.of_step[i]);
    }
    hold_outputs(steps, vertices);
    if (vertices.weight_readers.empty() && vertices.last_compute >= 0)
      vertices.weight_readers = {vertices.last_compute};
    window_.push_back(vertices.weight_readers);
    return vertices;
  }

  static bool is_weight_gather(const BlockStep& step) {
    return step.kind == BlockStep::Kind::collective && step.role == CollectiveRole::weight;
  }

  StepOp as_op(int block, StepPass pass, const BlockStep& step) const {
    auto op = blank(block, pass);
    op.kind = step.kind == BlockStep::Kind::compute ? StepOp::Kind::compute : StepOp::Kind::collective;
    op.name = step.name;
    op.detail = step.detail;
    op.flops = step.flops;
    op.traffic = step.traffic;
    op.collective = step.collective;
    op.axes = step.axes;
    op.full_size = step.full_size;
    op.role = step.role;
    op.reason = step.reason;
    return op;
  }

  /// A weight gather waits only for a free buffer: the block that computed `prefetch` + 1 passes ago is done
  /// with its weights.
  void gather_weights(int block, StepPass pass, const std::vector<BlockStep>& steps, PassVertices& vertices) {
    const auto passes = static_cast<std::int64_t>(window_.size());
    const auto freed = passes - 1 - options_.prefetch;
    const OpIds after = freed >= 0 ? window_[static_cast<std::size_t>(freed)] : OpIds{};
    std::vector<std::pair<StepOp, std::vector<std::size_t>>> groups;
    for (std::size_t i = 0; i < steps.size(); ++i) {
      if (!is_weight_gather(steps[i])) continue;
      auto op = as_op(block, pass, steps[i]);
      auto same = std::find_if(groups.begin(), groups.end(), [&](const auto& group) {
        return options_.weight_buckets.unit != Bucketing::Unit::matrix && group.first.axes == op.axes &&
               group.first.collective == op.collective;
      });
      if (same == groups.end()) {
        groups.push_back({std::move(op), {i}});
      } else {
        same->first.full_size += op.full_size;
        same->first.name += op.name.substr(op.name.find(' '));
        same->second.push_back(i);
      }
    }
    for (auto& [op, members] : groups) {
      if (members.size() > 1) op.detail += " and " + std::to_string(members.size() - 1) + " more arrays";
      const auto id = add(std::move(op), after);
      for (const auto member : members) vertices.of_step[member] = id;
    }
  }

  // ---- memory ----------------------------------------------------------------------------------

  /// Every step's output lives until its last reader in the same pass, and what the block received at least
  /// until that pass has read it; what the backward reads of the forward is prolonged in hold_activations.
  void hold_outputs(const std::vector<BlockStep>& steps, PassVertices& vertices) {
    vertices.first_buffer = graph_.buffers.size();
    for (std::size_t i = 0; i < steps.size(); ++i) {
      graph_.buffers.push_back({steps[i].output_kind, steps[i].output, vertices.of_step[i], {}});
    }
    for (std::size_t i = 0; i < steps.size(); ++i) {
      for (const int read : steps[i].after) prolong(vertices, read, vertices.of_step[i]);
    }
  }

  void hold_activations(int block, const PassVertices& forward, const PassVertices& backward) {
    const auto& steps = kind(block).backward;
    for (std::size_t i = 0; i < steps.size(); ++i) {
      for (const int saved : steps[i].saved) prolong(forward, saved, backward.of_step[i]);
    }
  }

  void prolong(const PassVertices& vertices, int step, OpId reader) {
    if (step == BlockStep::outside) {
      for (const auto buffer : vertices.received.buffers) merge(graph_.buffers[buffer].readers, {reader});
    } else {
      merge(graph_.buffers[vertices.first_buffer + static_cast<std::size_t>(step)].readers, {reader});
    }
  }

  // ---- gradients -------------------------------------------------------------------------------

  void reduce_gradients(int block, const PassVertices& backward) {
    for (const auto& tied : kind(block).tied_gradients) take_gradient(tied_to_.at(tied.weight), {tied.step}, backward);
    for (const auto& update : kind(block).weights) {
      const Owner owner{block, update.weight};
      take_gradient(owner, update.gradient_steps, backward);
      auto chain = update.each_microbatch;
      if (last_microbatch()) chain.insert(chain.end(), update.last_microbatch.begin(), update.last_microbatch.end());
      if (chain.empty()) continue;
      auto& bucket = bucket_for(buckets_, chain);
      bucket.take(chain, update.weight, block, gradients_[owner].ready);
      const bool full =
          options_.gradient_buckets.unit == Bucketing::Unit::size && bucket.size() >= options_.gradient_buckets.size;
      if (full || options_.gradient_buckets.unit == Bucketing::Unit::matrix) flush(bucket);
      std::erase_if(buckets_, [](const auto& b) { return b.chain.empty(); });
    }
    if (options_.gradient_buckets.unit == Bucketing::Unit::layer) flush_all();
  }

  /// The steps' contributions wait, unreduced, for the weight's bucket; the accumulated gradient exists from the first
  /// on.
  void take_gradient(const Owner& owner, const std::vector<int>& steps, const PassVertices& backward) {
    auto& gradient = gradients_[owner];
    merge(gradient.ready, pick(backward, steps));
    for (const int step : steps) {
      const auto buffer = backward.first_buffer + static_cast<std::size_t>(step);
      if (graph_.buffers[buffer].kind == MemoryKind::gradients) gradient.unreduced.push_back(buffer);
    }
    if (gradient.accumulated || steps.empty()) return;
    const auto& updates = kind(owner.first).weights;
    const auto update =
        std::find_if(updates.begin(), updates.end(), [&](const auto& u) { return u.weight == owner.second; });
    gradient.accumulated = graph_.buffers.size();
    graph_.buffers.push_back(
        {MemoryKind::gradients, options_.gradient_element * update->gradient_elements, gradient.ready.front(), {}});
  }

  void flush_all() {
    for (auto& bucket : buckets_) flush(bucket);
    buckets_.clear();
  }

  void flush(Bucket& bucket) {
    OpIds after = bucket.after;
    const OpId first = graph_.size();
    std::vector<std::string> arrays;
    for (const auto& array : bucket.arrays) arrays.push_back("d" + array);
    for (const auto& derived : bucket.chain) {
      after = {
          add(collective(bucket.owners.back().first, StepPass::backward, derived, CollectiveRole::gradient, arrays),
              after)};
    }
    for (const auto& owner : bucket.owners) {
      auto& gradient = gradients_[owner];
      for (const auto buffer : gradient.unreduced) merge(graph_.buffers[buffer].readers, {first});
      gradient.unreduced.clear();
      gradient.ready = after;
    }
    bucket = {};
  }

  // ---- update ----------------------------------------------------------------------------------

  void update() {
    OpIds barrier;
    if (options_.optimizer_barrier) {
      for (const auto& [owner, gradient] : gradients_)
        barrier.insert(barrier.end(), gradient.ready.begin(), gradient.ready.end());
      std::sort(barrier.begin(), barrier.end());
      barrier.erase(std::unique(barrier.begin(), barrier.end()), barrier.end());
      auto op = blank(0, StepPass::update);
      op.name = "all gradients ready";
      barrier = {add(std::move(op), barrier)};
    }
    for (int block = 0; block < static_cast<int>(order_.size()); ++block) update_block(block, barrier);
  }

  void update_block(int block, const OpIds& barrier) {
    const auto& weights = kind(block).weights;
    if (weights.empty()) return;
    OpIds after = barrier;
    auto op = blank(block, StepPass::update);
    op.name = options_.optimizer_name + " update";
    for (const auto& update : weights) {
      if (!options_.optimizer_barrier) merge(after, gradients_[{block, update.weight}].ready);
      // reads gradient and state, writes state, reads and writes the weight
      op.traffic += (options_.gradient_element + options_.optimizer_state_per_parameter * 2 + Bytes(4)) *
                    update.optimizer_elements;
    }
    const auto id = add(std::move(op), after);
    for (const auto& update : weights) {
      const auto& buffer = gradients_[{block, update.weight}].accumulated;
      if (buffer) merge(graph_.buffers[*buffer].readers, {id});
    }
    std::vector<Bucket> published;
    for (const auto& update : weights) {
      if (!update.publish.empty())
        bucket_for(published, update.publish).take(update.publish, update.weight, block, {id});
    }
    for (const auto& bucket : published) {
      OpIds previous{id};
      for (const auto& derived : bucket.chain) {
        previous = {add(collective(block, StepPass::update, derived, CollectiveRole::weight, bucket.arrays), previous)};
      }
    }
  }

  const std::vector<DerivedBlock>& kinds_;
  const std::vector<int>& order_;
  const StepOptions& options_;
  StepGraph graph_;
  std::int32_t microbatch_ = 0;
  std::vector<OpIds> window_;  ///< by pass, in order: who uses its weights
  std::vector<Bucket> buckets_;
  std::map<Owner, Gradient> gradients_;
  std::map<std::string, Owner> tied_to_;  ///< by name: the first block that owns such a weight
};

}  // namespace

StepGraph build_step(const std::vector<DerivedBlock>& kinds, const std::vector<int>& order,
                     const StepOptions& options) {
  return StepBuilder(kinds, order, options).run();
}

}  // namespace lockstep
