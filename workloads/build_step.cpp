#include "workloads/build_step.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "workloads/pass_order_private.hpp"
#include "workloads/step_gradients_private.hpp"

namespace lockstep {
namespace {

/// Walks through the cells of a pipeline order, each of which runs one pass of some blocks.
class StepBuilder {
 public:
  StepBuilder(const std::vector<DerivedBlock>& kinds, const std::vector<int>& order, const StepPipeline& pipeline, const StepOptions& options)
      : writer_(kinds, order, pipeline, options),
        gradients_(writer_),
        pipeline_(pipeline),
        shape_(pipeline.order.shape),
        passes_(pipeline.order.shape.ranks),
        windows_(static_cast<std::size_t>(shape_.ranks)) {
    choose_offloaded();
  }

  StepGraph run() {
    // In order of their start, so that operations of all stages are numbered as they happen.
    for (const auto& [stage, index] : time_order(pipeline_.order, pipeline_.times).by_start) {
      run_cell(stage, pipeline_.order.ranks[static_cast<std::size_t>(stage)][static_cast<std::size_t>(index)]);
    }
    gradients_.update();
    return std::move(writer_.graph);
  }

 private:
  /// One action on its way through the blocks of its part of the model.
  struct Running {
    PipelineAction action;
    StepPlace place;
    int first = 0, blocks = 0, done = 0;
    Handover carried;
    [[nodiscard]] bool forward() const { return action.work == PipelineWork::forward; }
    [[nodiscard]] bool ended() const { return done == blocks; }
  };
  using PartOfMicrobatch = std::pair<std::int32_t, std::int32_t>;  ///< schedule's stage, microbatch

  void run_cell(std::int32_t stage, const PipelineCell& cell) {
    passes_.begin(stage, writer_.graph.size());
    run_passes(stage, cell);
    passes_.end();
  }

  void run_passes(std::int32_t stage, const PipelineCell& cell) {
    const bool as_they_come = cell.second && writer_.kind(0).pair_turns.empty();
    const auto pair = cell.second ? ++pairs_ : 0;
    auto first = begin(cell.first, stage, pair, as_they_come ? 2 * pair - 1 : 0);
    if (!cell.second) {
      while (!first.ended()) advance(first);
      end(first);
      return;
    }
    auto second = begin(*cell.second, stage, pair, as_they_come ? 2 * pair : 0);
    if (!as_they_come) {
      // Issued as one: it starts when the inputs of both halves are there.
      const auto of_first = first.carried.ops;
      merge(first.carried.ops, second.carried.ops);
      merge(second.carried.ops, of_first);
      while (!first.ended() && !second.ended()) first.forward() ? take_turns(first, second) : take_turns(second, first);
    }
    // Neither half waits for the other; in turns, as far through its blocks as the other.
    while (!first.ended() || !second.ended()) {
      const bool behind = std::int64_t{first.done} * second.blocks <= std::int64_t{second.done} * first.blocks;
      advance(second.ended() || (behind && !first.ended()) ? first : second);
    }
    end(first);
    end(second);
  }

  Running begin(const PipelineAction& action, std::int32_t stage, std::int32_t pair, std::int32_t half) {
    Running running;
    running.action = action;
    running.place = {stage, 0, action.microbatch, pair, half};
    running.first = pipeline_.first_block[static_cast<std::size_t>(action.stage)];
    running.blocks = pipeline_.blocks_of(action.stage);
    const PartOfMicrobatch part{action.stage, action.microbatch};
    const auto blocks = static_cast<std::size_t>(running.blocks);
    if (running.forward()) {
      running.carried = take(forward_arrivals_, part);
      forwards_[part].resize(blocks);
    } else if (action.work != PipelineWork::weight_gradient) {
      running.carried = take(backward_arrivals_, part);
      backwards_[part].resize(blocks);
    }
    return running;
  }

  /// The next block of the pass.
  void advance(Running& running) {
    enter(running);
    if (running.forward() && writer_.options.publish_ahead) wait_for_updated_weights(running);
    write(running, steps_of(running));
    leave(running);
  }

  /// The next block of both halves of a pair, step by step.
  void take_turns(Running& forward, Running& backward) {
    enter(forward);
    enter(backward);
    if (writer_.options.publish_ahead) wait_for_updated_weights(forward);
    const auto of_backward = steps_of(backward);
    for (const auto& turn : writer_.kind(forward.place.block).pair_turns) {
      const auto step = static_cast<std::size_t>(turn.step);
      if (!turn.forward && !of_backward[step]) continue;
      std::vector<bool> only(turn.forward ? steps_of(forward).size() : of_backward.size(), false);
      only[step] = true;
      write(turn.forward ? forward : backward, only);
    }
    leave(forward);
    leave(backward);
  }

  static void enter(Running& running) {
    running.place.block = running.first + (running.forward() ? running.done : running.blocks - 1 - running.done);
    ++running.done;
  }

  /// The update of the step before left them split over the replicas.
  void wait_for_updated_weights(Running& running) { merge(running.carried.ops, gradients_.published_ahead(running.place)); }

  void write(const Running& running, const std::vector<bool>& steps) {
    const bool needs_weights = running.action.work != PipelineWork::weight_gradient;
    expand(running, steps, needs_weights, vertices_of(running));
  }

  void leave(Running& running) {
    const auto& kind = writer_.kind(running.place.block);
    const auto& vertices = vertices_of(running);
    if (running.forward()) {
      running.carried = handover(vertices, kind.output_steps);
      if (offloaded_.contains({running.place.stage, running.place.block})) send_down(running.place, vertices_of(running));
      return;
    }
    hold_activations(running.place.block, vertices_of(running, forwards_), vertices, steps_of(running));
    if (running.action.work != PipelineWork::weight_gradient) running.carried = handover(vertices, kind.input_gradient_steps);
    if (running.action.work != PipelineWork::input_gradient) gradients_.take(running.place, vertices);
  }

  /// Of the block where the pass is.
  PassVertices& vertices_of(const Running& running) { return vertices_of(running, running.forward() ? forwards_ : backwards_); }
  static PassVertices& vertices_of(const Running& running, std::map<PartOfMicrobatch, std::vector<PassVertices>>& passes) {
    return passes.at({running.action.stage, running.action.microbatch})[static_cast<std::size_t>(running.place.block - running.first)];
  }

  [[nodiscard]] std::vector<bool> steps_of(const Running& running) const {
    const auto& kind = writer_.kind(running.place.block);
    if (running.forward()) return std::vector<bool>(kind.forward.size(), true);
    if (running.action.work == PipelineWork::backward) return std::vector<bool>(kind.backward.size(), true);
    auto steps = writer_.waited_for_by_input_gradient(running.place.block);
    if (running.action.work == PipelineWork::weight_gradient) steps.flip();
    return steps;
  }

  void end(const Running& running) {
    const auto& action = running.action;
    const PartOfMicrobatch part{action.stage, action.microbatch};
    if (running.forward()) {
      if (action.stage + 1 < shape_.stages()) {
        forward_arrivals_[{action.stage + 1, action.microbatch}] =
            hand_on(running, action.stage + 1, writer_.kind(running.first + running.blocks));
      } else {
        backward_arrivals_[part] = running.carried;
      }
      return;
    }
    if (action.work != PipelineWork::weight_gradient && action.stage > 0) {
      backward_arrivals_[{action.stage - 1, action.microbatch}] = hand_on(running, action.stage - 1, writer_.kind(running.first));
    }
    if (action.work == PipelineWork::input_gradient) return;
    gradients_.flush(running.place.stage);
    forwards_.erase(part);
    backwards_.erase(part);
  }

  /// What the next part of the model receives: as it is on the same stage, else by a transfer. `border`: the block whose input
  /// or input gradient it is.
  Handover hand_on(const Running& running, std::int32_t next, const DerivedBlock& border) {
    const auto stage = running.place.stage;
    const auto to = shape_.rank_of(next, running.action.microbatch);
    if (to == stage) return running.carried;
    const auto parts = writer_.options.scatter_sends ? border.input_copies : 1;
    const std::string what = running.forward() ? "activations" : "gradients";
    auto& work = sends_[{running.action.stage, next, running.place.stage}];
    if (work == nullptr) {
      StepWork made;
      made.kind = StepWork::Kind::collective;
      made.collective = CollectiveKind::point_to_point;
      made.axes = {"pipeline"};
      made.full_size = Bytes((border.input_bytes.value() + parts - 1) / parts);
      made.name = "Send_pipeline " + what;
      made.detail = "stage " + std::to_string(stage) + " -> stage " + std::to_string(to) + ", part " + std::to_string(running.action.stage) + " -> " +
                    std::to_string(next) + " of the model";
      made.reason = "the model's parts stand on different stages";
      work = writer_.graph.share(std::move(made));
    }
    auto op = StepWriter::at(running.place, running.forward() ? StepPass::forward : StepPass::backward, work);
    op.other_stage = to;
    auto after = running.carried.ops;
    // A whole backward hands on nothing before it has ended; to do so sooner is what splitting it is for.
    if (running.action.work == PipelineWork::backward) merge(after, last_compute(running));
    const auto id = writer_.add(op, after);
    for (const auto buffer : running.carried.buffers) writer_.read(buffer, id);
    const Handover sent{{id}, {writer_.hold(MemoryKind::activations, work->full_size, id, to)}};
    return parts == 1 ? sent : gathered(running, to, border, what, sent);
  }

  Handover gathered(const Running& running, std::int32_t to, const DerivedBlock& border, const std::string& what, const Handover& part) {
    auto place = running.place;
    place.stage = to;
    auto& work = sent_parts_[{running.place.stage, to, &border, running.forward()}];
    if (work == nullptr) {
      StepWork made;
      made.kind = StepWork::Kind::collective;
      made.collective = CollectiveKind::all_gather;
      made.axes = border.input_copied_over;
      made.full_size = border.input_bytes;
      made.name = std::string(book_name(made.collective)) + "_" + subscript(made.axes) + " " + what;
      made.detail = "from stage " + std::to_string(running.place.stage) + " in " + std::to_string(border.input_copies) + " parts";
      made.reason = "each rank was sent a part of what all of them hold";
      work = writer_.graph.share(std::move(made));
    }
    const auto id = writer_.add(StepWriter::at(place, running.forward() ? StepPass::forward : StepPass::backward, work), part.ops);
    for (const auto buffer : part.buffers) writer_.read(buffer, id);
    return {{id}, {writer_.hold(MemoryKind::activations, border.input_bytes, id, to)}};
  }

  /// Of a backward that has ended, if its last block computes anything.
  OpIds last_compute(const Running& running) const {
    OpIds last;
    for (const auto id : backwards_.at({running.action.stage, running.action.microbatch}).front().of_step) {
      if (writer_.graph.op(id)->kind == StepOp::Kind::compute) last = {last.empty() ? id : std::max(last.front(), id)};
    }
    return last;
  }

  static Handover take(std::map<PartOfMicrobatch, Handover>& arrivals, const PartOfMicrobatch& part) {
    auto node = arrivals.extract(part);
    return node.empty() ? Handover{} : std::move(node.mapped());
  }

  /// Products that overlap their collectives hand on what they themselves wait for: that is done when they are.
  Handover handover(const PassVertices& vertices, const std::vector<int>& steps) const {
    Handover result;
    pick(vertices, steps, result.ops);
    drop_implied(result.ops);
    const bool passes_on = std::any_of(result.ops.begin(), result.ops.end(), [&](OpId id) { return id < vertices.first_op; });
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
    for (const auto id : ops) merge(implied, writer_.graph.predecessors(id));
    std::erase_if(ops, [&](OpId id) { return std::find(implied.begin(), implied.end(), id) != implied.end(); });
  }

  static void pick(const PassVertices& vertices, const std::vector<int>& steps, OpIds& result) {
    for (const int step : steps) {
      if (step == BlockStep::outside) {
        merge(result, vertices.received.ops);
      } else {
        merge(result, vertices.of_step[static_cast<std::size_t>(step)]);
      }
    }
  }

  // ---- one block, one pass ---------------------------------------------------------------------

  /// Writes the chosen steps of a pass; the others of the same pass may have been written before, or will be.
  void expand(const Running& running, const std::vector<bool>& chosen, bool needs_weights, PassVertices& vertices) {
    const auto& place = running.place;
    const auto pass = running.forward() ? StepPass::forward : StepPass::backward;
    const auto& steps = pass == StepPass::forward ? writer_.kind(place.block).forward : writer_.kind(place.block).backward;
    if (vertices.of_step.empty()) {
      vertices.received = running.carried;
      vertices.first_op = writer_.graph.size();
      vertices.of_step.assign(steps.size(), -1);
      vertices.first_buffer = writer_.graph.buffers.size();
      for (const auto& step : steps) writer_.hold(step.output_kind, scaled(step.output, writer_.load(place, step)), -1, place.stage);
    }
    OpIds weight_readers;
    OpId last_compute = -1;
    PassVertices* const on_host = pass == StepPass::backward ? offloaded_forward(place) : nullptr;
    if (on_host != nullptr && !on_host->back_up) bring_up(place, *on_host);
    const bool gathers = gather_weights(place, pass, steps, chosen, vertices);
    for (std::size_t i = 0; i < steps.size(); ++i) {
      const auto& step = steps[i];
      if (!chosen[i] || vertices.of_step[i] >= 0) continue;  // not now, or a weight gather that is already there
      const bool uses_weights = std::any_of(step.after.begin(), step.after.end(), [&](int id) {
        return id != BlockStep::outside && is_weight_gather(steps[static_cast<std::size_t>(id)]);
      });
      after_.clear();
      pick(vertices, step.after, after_);
      if (on_host != nullptr && !step.saved.empty()) merge(after_, *on_host->back_up);
      passes_.follow(after_);
      vertices.of_step[i] = writer_.add(StepWriter::at(place, pass, writer_.work_of(place, step)), after_);
      passes_.add(vertices.of_step[i], after_);
      if (step.kind == BlockStep::Kind::compute) last_compute = vertices.of_step[i];
      if (step.workspace.value() > 0) writer_.hold(MemoryKind::workspace, step.workspace, vertices.of_step[i], place.stage);
      if (uses_weights) weight_readers.push_back(vertices.of_step[i]);
    }
    hold_outputs(steps, chosen, vertices);
    if (!gathers && !needs_weights) return;
    if (weight_readers.empty() && last_compute >= 0) weight_readers = {last_compute};
    windows_[static_cast<std::size_t>(place.stage)].push_back(weight_readers);
  }

  static bool is_weight_gather(const BlockStep& step) {
    return step.kind == BlockStep::Kind::collective && step.role == CollectiveRole::weight;
  }

  /// What is fetched ahead waits only for a free buffer: the block that computed `prefetch` + 1 passes ago on this stage is
  /// done with its own.
  [[nodiscard]] OpIds room_for_prefetch(std::int32_t stage) const {
    const auto& window = windows_[static_cast<std::size_t>(stage)];
    const auto freed = std::ssize(window) - 1 - writer_.options.prefetch;
    return freed >= 0 ? window[static_cast<std::size_t>(freed)] : OpIds{};
  }

  /// Returns whether there was one.
  bool gather_weights(const StepPlace& place, StepPass pass, const std::vector<BlockStep>& steps, const std::vector<bool>& chosen, PassVertices& vertices) {
    const OpIds after = room_for_prefetch(place.stage);
    std::vector<std::vector<std::size_t>> groups;
    for (std::size_t i = 0; i < steps.size(); ++i) {
      if (!chosen[i] || !is_weight_gather(steps[i])) continue;
      auto same = std::find_if(groups.begin(), groups.end(), [&](const auto& group) {
        return writer_.options.weight_buckets.unit != Bucketing::Unit::matrix && steps[group.front()].axes == steps[i].axes &&
               steps[group.front()].collective == steps[i].collective;
      });
      (same == groups.end() ? groups.emplace_back() : *same).push_back(i);
    }
    for (const auto& group : groups) {
      const auto id = writer_.add(StepWriter::at(place, pass, gathered_together(place, steps, group)), after);
      for (const auto member : group) vertices.of_step[member] = id;
    }
    return !groups.empty();
  }

  const StepWork* gathered_together(const StepPlace& place, const std::vector<BlockStep>& steps, const std::vector<std::size_t>& group) {
    const auto* first = writer_.work_of(place, steps[group.front()]);
    if (group.size() == 1) return first;
    auto& work = gathers_[{&steps, group}];
    if (work != nullptr) return work;
    StepWork made = *first;
    for (std::size_t i = 1; i < group.size(); ++i) {
      const auto& more = steps[group[i]];
      made.full_size += more.full_size;
      made.name += more.name.substr(more.name.find(' '));
    }
    made.detail += " and " + std::to_string(group.size() - 1) + " more arrays";
    return work = writer_.graph.share(std::move(made));
  }

  // ---- memory ----------------------------------------------------------------------------------

  /// Every step's output lives until its last reader in the same pass, and what the block received at least
  /// until that pass has read it; what the backward reads of the forward is prolonged in hold_activations.
  void hold_outputs(const std::vector<BlockStep>& steps, const std::vector<bool>& chosen, PassVertices& vertices) {
    for (std::size_t i = 0; i < steps.size(); ++i) {
      if (!chosen[i]) continue;
      writer_.graph.buffers[vertices.first_buffer + i].producer = vertices.of_step[i];
      for (const int read : steps[i].after) prolong(vertices, read, vertices.of_step[i]);
    }
  }

  void hold_activations(int block, const PassVertices& forward, const PassVertices& backward, const std::vector<bool>& chosen) {
    const auto& steps = writer_.kind(block).backward;
    for (std::size_t i = 0; i < steps.size(); ++i) {
      if (!chosen[i]) continue;
      for (const int saved : steps[i].saved) {
        for_each_buffer(forward, saved, [&](std::size_t buffer) {
          const bool moved = forward.back_up && writer_.graph.buffers[buffer].kind == MemoryKind::activations;
          writer_.read(moved ? forward.came_back : buffer, backward.of_step[i]);
        });
      }
    }
  }

  void prolong(const PassVertices& vertices, int step, OpId reader) {
    for_each_buffer(vertices, step, [&](std::size_t buffer) { writer_.read(buffer, reader); });
  }

  template <class Visit>
  static void for_each_buffer(const PassVertices& vertices, int step, Visit visit) {
    if (step != BlockStep::outside) return visit(vertices.first_buffer + static_cast<std::size_t>(step));
    for (const auto buffer : vertices.received.buffers) visit(buffer);
  }

  // ---- activations on the host -------------------------------------------------------------------

  /// Of each stage the first layers; not the model's last block, whose backward follows at once.
  void choose_offloaded() {
    for (std::int32_t stage = 0; stage < shape_.ranks; ++stage) {
      auto left = writer_.options.offload.activation_layers;
      for (const auto part : shape_.stages_of(stage)) {
        const int first = pipeline_.first_block[static_cast<std::size_t>(part)];
        for (int block = first; block < first + pipeline_.blocks_of(part) && left > 0; ++block) {
          if (!writer_.kind(block).is_layer || block + 1 == writer_.blocks()) continue;
          offloaded_.insert({stage, block});
          --left;
        }
      }
    }
  }

  /// What the backward will read leaves the chip in one transfer, when all of it is there.
  void send_down(const StepPlace& place, PassVertices& forward) {
    std::set<std::size_t> saved;
    for (const auto& step : writer_.kind(place.block).backward) {
      for (const int read : step.saved) {
        for_each_buffer(forward, read, [&](std::size_t buffer) {
          if (writer_.graph.buffers[buffer].kind == MemoryKind::activations) saved.insert(buffer);
        });
      }
    }
    OpIds after;
    Bytes size(0);
    for (const auto buffer : saved) {
      merge(after, {writer_.graph.buffers[buffer].producer});
      size += writer_.graph.buffers[buffer].size;
    }
    const auto down = writer_.add(place, StepPass::forward, writer_.transfer(to_host, "activations", size), after);
    for (const auto buffer : saved) writer_.read(buffer, down);
    forward.on_host = writer_.hold(MemoryKind::host, size, down, place.stage);
  }

  PassVertices* offloaded_forward(const StepPlace& place) {
    if (!offloaded_.contains({place.stage, place.block})) return nullptr;
    const auto part = pipeline_.stage_of_block(place.block);
    auto& blocks = forwards_.at({part, place.microbatch});
    return &blocks[static_cast<std::size_t>(place.block - pipeline_.first_block[static_cast<std::size_t>(part)])];
  }

  /// Comes back as gathered weights do: ahead by `prefetch` passes of blocks.
  void bring_up(const StepPlace& place, PassVertices& forward) {
    const auto size = writer_.graph.buffers[forward.on_host].size;
    OpIds after{writer_.graph.buffers[forward.on_host].producer};
    merge(after, room_for_prefetch(place.stage));
    const auto up = writer_.add(place, StepPass::backward, writer_.transfer(from_host, "activations", size), after);
    writer_.read(forward.on_host, up);
    forward.back_up = up;
    forward.came_back = writer_.hold(MemoryKind::activations, size, up, place.stage);
  }

  std::int32_t pairs_ = 0;
  OpIds after_;  ///< of the operation that is being written; kept to save allocations
  StepWriter writer_;
  StepGradients gradients_;
  const StepPipeline& pipeline_;
  const PipelineShape& shape_;
  PassOrder passes_;
  std::set<std::pair<std::int32_t, int>> offloaded_;  ///< stage, block
  std::vector<std::vector<OpIds>> windows_;  ///< by stage: of each pass of a block, in order, who uses its weights
  std::map<PartOfMicrobatch, std::vector<PassVertices>> forwards_, backwards_;  ///< by block, until nobody needs them
  std::map<PartOfMicrobatch, Handover> forward_arrivals_, backward_arrivals_;
  std::map<std::tuple<std::int32_t, std::int32_t, std::int32_t>, const StepWork*> sends_;  ///< by both parts of the model and the stage of the first
  std::map<std::tuple<std::int32_t, std::int32_t, const DerivedBlock*, bool>, const StepWork*> sent_parts_;
  std::map<std::pair<const std::vector<BlockStep>*, std::vector<std::size_t>>, const StepWork*> gathers_;
};

}  // namespace

StepGraph build_step(const std::vector<DerivedBlock>& kinds, const std::vector<int>& order, const StepPipeline& pipeline,
                     const StepOptions& options) {
  return StepBuilder(kinds, order, pipeline, options).run();
}

StepGraph build_step(const std::vector<DerivedBlock>& kinds, const std::vector<int>& order, const StepOptions& options) {
  return build_step(kinds, order, single_stage(static_cast<int>(order.size()), options.microbatches), options);
}

}  // namespace lockstep
