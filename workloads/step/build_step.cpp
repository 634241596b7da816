#include "workloads/step/build_step.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "workloads/pipeline/cell_turns.hpp"
#include "workloads/step/activations_on_host_private.hpp"
#include "workloads/step/pass_order_private.hpp"
#include "workloads/step/stage_transfers_private.hpp"
#include "workloads/step/step_buffers_private.hpp"
#include "workloads/step/step_gathers_private.hpp"
#include "workloads/step/step_gradients_private.hpp"

namespace lockstep::workloads {
namespace {

/// Walks through the cells of a pipeline order, each of which runs one pass of some blocks.
class StepBuilder {
 public:
  StepBuilder(const ShardedLayers& kinds, const Indexed<BlockId, KindId>& order, const StepPipeline& pipeline,
              const StepOptions& options)
      : writer_(kinds, order, pipeline, options),
        gradients_(writer_),
        pipeline_(pipeline),
        shape_(pipeline.order.shape),
        passes_(pipeline.order.shape.ranks),
        transfers_(writer_),
        on_host_(writer_),
        weights_(writer_),
        buffers_(writer_) {}

  StepGraph run() {
    expect_passes();
    // In turn, so that operations are numbered as the ranks' programs have them: numbers decide who goes first among
    // equals, and must not hang on how long something is thought to take.
    for (const auto& cell : cells_in_turn(pipeline_.order)) {
      const auto& [stage, index] = cell;
      writer_.graph.cells.push_back({cell, writer_.graph.size()});
      run_cell(stage, pipeline_.order.ranks[stage][index]);
    }
    writer_.graph.first_update = writer_.graph.size();
    writer_.graph.host_waits_for_transfers =
        writer_.options.host_waits_for_transfers && pipeline_.order.shape.ranks > 1;
    gradients_.update();
    return std::move(writer_.graph);
  }

 private:
  /// Reserves memory for what passes write, and a quarter for gathers, reductions and sends. Memory that is reserved
  /// and not used costs nothing; a list that grows beyond it doubles.
  void expect_passes() {
    std::size_t operations = 0, buffers = 0;
    for (VirtualStageId stage = 0; stage < shape_.virtual_stages(); ++stage) {
      for (int block = pipeline_.first_block[stage]; block < pipeline_.first_block[stage + 1]; ++block) {
        for (const auto* pass : {&writer_.kind(block).forward, &writer_.kind(block).backward}) {
          operations += pass->size();
          for (const auto& step : *pass) buffers += step.workspace > Bytes(0) ? 2U : 1U;
        }
      }
    }
    const auto with_others = [&](std::size_t of_a_microbatch) {
      return of_a_microbatch * position_of(shape_.microbatches) * 5 / 4;
    };
    writer_.graph.expect(with_others(operations));
    if (writer_.remembers()) writer_.graph.buffers.reserve(with_others(buffers));
  }

  /// One action on its way through the blocks of its virtual stage.
  struct Running {
    PipelineAction action;
    StepPlace place;
    int first = 0, blocks = 0, done = 0;
    Handover carried;
    [[nodiscard]] bool forward() const { return action.work == PipelineWork::forward; }
    [[nodiscard]] StepPass pass() const { return forward() ? StepPass::forward : StepPass::backward; }
    [[nodiscard]] bool ended() const { return done == blocks; }
  };
  using StageOfMicrobatch = std::pair<VirtualStageId, MicrobatchId>;
  using BlocksVertices = Indexed<BlockId, PassVertices>;  ///< from the virtual stage's first block on

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
    running.first = pipeline_.first_block[action.stage];
    running.blocks = pipeline_.blocks_of(action.stage);
    const StageOfMicrobatch here{action.stage, action.microbatch};
    if (running.forward()) {
      running.carried = take(forward_arrivals_, here);
      forwards_[here].resize(running.blocks);
    } else if (action.work != PipelineWork::weight_gradient) {
      running.carried = take(backward_arrivals_, here);
      backwards_[here].resize(running.blocks);
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
      const BlockStepId step = turn.step;
      if (!turn.forward && !of_backward[step]) continue;
      ChosenSteps only(turn.forward ? steps_of(forward).size() : of_backward.size(), false);
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
  void wait_for_updated_weights(Running& running) {
    merge(running.carried.ops, gradients_.published_ahead(running.place));
  }

  void write(const Running& running, const ChosenSteps& steps) {
    const bool needs_weights = running.action.work != PipelineWork::weight_gradient;
    expand(running, steps, needs_weights, vertices_of(running));
  }

  void leave(Running& running) {
    const auto& kind = writer_.kind(running.place.block);
    const auto& vertices = vertices_of(running);
    if (running.forward()) {
      running.carried = handover(vertices, kind.output_steps);
      if (on_host_.contains(running.place)) on_host_.send_down(running.place, vertices_of(running));
      return;
    }
    buffers_.read_forward(running.place, steps_of(running), vertices_of(running, forwards_), vertices);
    if (running.action.work != PipelineWork::weight_gradient)
      running.carried = handover(vertices, kind.input_gradient_steps);
    if (running.action.work != PipelineWork::input_gradient) gradients_.take(running.place, vertices);
  }

  /// The vertices of the block where the pass is.
  PassVertices& vertices_of(const Running& running) {
    return vertices_of(running, running.forward() ? forwards_ : backwards_);
  }
  static PassVertices& vertices_of(const Running& running, std::map<StageOfMicrobatch, BlocksVertices>& passes) {
    return passes.at({running.action.stage, running.action.microbatch})[running.place.block - running.first];
  }

  [[nodiscard]] ChosenSteps steps_of(const Running& running) const {
    const auto& kind = writer_.kind(running.place.block);
    if (running.forward()) return ChosenSteps(kind.forward.size(), true);
    if (running.action.work == PipelineWork::backward) return ChosenSteps(kind.backward.size(), true);
    auto steps = writer_.waited_for_by_input_gradient(running.place.block);
    if (running.action.work == PipelineWork::weight_gradient)
      for (const auto step : steps.ids()) steps[step] = !steps[step];
    return steps;
  }

  void end(const Running& running) {
    const auto& action = running.action;
    const StageOfMicrobatch here{action.stage, action.microbatch};
    if (running.forward()) {
      if (action.stage + 1 < shape_.virtual_stages()) {
        forward_arrivals_[{action.stage + 1, action.microbatch}] =
            hand_on(running, action.stage + 1, writer_.kind(running.first + running.blocks, action.microbatch));
      } else {
        backward_arrivals_[here] = running.carried;
      }
      return;
    }
    if (action.work != PipelineWork::weight_gradient && action.stage > 0) {
      backward_arrivals_[{action.stage - 1, action.microbatch}] =
          hand_on(running, action.stage - 1, writer_.kind(running.first, action.microbatch));
    }
    if (action.work == PipelineWork::input_gradient) return;
    gradients_.flush(running.place.stage);
    forwards_.erase(here);
    backwards_.erase(here);
  }

  /// The handover that the next virtual stage receives: unchanged on the same stage, otherwise by a transfer.
  /// `border`: the block whose input or input gradient is handed over.
  Handover hand_on(const Running& running, std::int32_t next, const ShardedLayer& border) {
    const auto to = shape_.rank_of(next, running.action.microbatch);
    if (to == running.place.stage) return running.carried;
    auto handed = running.carried;
    // A whole backward hands on nothing before it has ended; to do so sooner is what splitting it is for, or putting
    // off its weights' gradients.
    if (running.action.work == PipelineWork::backward && !writer_.options.delay_weight_gradients)
      merge(handed.ops, last_compute(running));
    return transfers_.send(handed, running.place, running.pass(), {running.action.stage, next, to}, border);
  }

  /// The last computing operation of a backward that has ended, if its last block computes anything.
  OpIds last_compute(const Running& running) const {
    OpIds last;
    for (const auto id : backwards_.at({running.action.stage, running.action.microbatch}).front().of_step) {
      if (writer_.graph.op(id)->kind == StepOp::Kind::compute) last = {last.empty() ? id : std::max(last.front(), id)};
    }
    return last;
  }

  static Handover take(std::map<StageOfMicrobatch, Handover>& arrivals, const StageOfMicrobatch& here) {
    auto node = arrivals.extract(here);
    return node.empty() ? Handover{} : std::move(node.mapped());
  }

  /// Products that overlap their collectives hand on what they themselves wait for: that is done when they are.
  Handover handover(const PassVertices& vertices, const std::vector<int>& steps) const {
    Handover result;
    pick(vertices, steps, result.ops);
    drop_implied(result.ops);
    const bool passes_on =
        std::any_of(result.ops.begin(), result.ops.end(), [&](OpId id) { return id < vertices.first_op; });
    for (const int step : steps) {
      if (step == BlockStep::outside) {
        if (!passes_on) continue;
        result.buffers.insert(result.buffers.end(), vertices.received.buffers.begin(), vertices.received.buffers.end());
      } else {
        result.buffers.push_back(vertices.first_buffer + step);
      }
    }
    return result;
  }

  /// Leaves out operations that another one waits for.
  void drop_implied(OpIds& ops) const {
    if (ops.size() < 2) return;
    OpIds implied;
    for (const auto id : ops) {
      for (const auto before : writer_.graph.waits_for(id)) merge(implied, before);
    }
    std::erase_if(ops, [&](OpId id) { return std::find(implied.begin(), implied.end(), id) != implied.end(); });
  }

  static void pick(const PassVertices& vertices, const std::vector<int>& steps, OpIds& result) {
    for (const int step : steps) {
      if (step == BlockStep::outside) {
        merge(result, vertices.received.ops);
      } else {
        merge(result, vertices.of_step[step]);
      }
    }
  }

  // ---- one block, one pass ---------------------------------------------------------------------

  /// Writes the chosen steps of a pass; the others of the same pass may have been written before, or will be.
  void expand(const Running& running, const ChosenSteps& chosen, bool needs_weights, PassVertices& vertices) {
    const auto& place = running.place;
    const auto pass = running.pass();
    const auto& steps = writer_.steps(place, pass);
    if (vertices.of_step.empty()) {
      vertices.received = running.carried;
      vertices.first_op = writer_.graph.size();
      vertices.of_step.assign(steps.size(), -1);
      vertices.first_buffer = buffers_.begin(place, pass);
    }
    OpIds weight_readers;
    OpId last_compute = -1;
    std::optional<OpId> brought_up;
    if (pass == StepPass::backward && on_host_.contains(place))
      brought_up = on_host_.bring_up(place, vertices_of(running, forwards_), weights_.room(place.stage));
    const bool gathers = weights_.write(place, pass, chosen, vertices);
    for (const BlockStepId i : steps.ids()) {
      const auto& step = steps[i];
      if (!chosen[i] || vertices.of_step[i] >= 0) continue;  // not now, or a weight gather that is already there
      const bool uses_weights = std::any_of(step.after.begin(), step.after.end(), [&](int id) {
        return id != BlockStep::outside && steps[id].gathers_weights();
      });
      after_.clear();
      pick(vertices, step.after, after_);
      if (brought_up && !step.saved.empty()) merge(after_, *brought_up);
      if (step.kind == BlockStep::Kind::compute) merge(after_, gradients_.wait(place));
      passes_.follow(after_);
      vertices.of_step[i] = writer_.add(StepWriter::at(place, pass, writer_.work_of(place, pass, i)), after_);
      passes_.add(vertices.of_step[i], after_);
      if (step.kind == BlockStep::Kind::compute) last_compute = vertices.of_step[i];
      if (step.workspace.value() > 0)
        writer_.hold(MemoryKind::workspace, step.workspace, vertices.of_step[i], place.stage);
      if (uses_weights) weight_readers.push_back(vertices.of_step[i]);
    }
    buffers_.end(place, pass, chosen, vertices);
    if (!gathers && !needs_weights) return;
    if (weight_readers.empty() && last_compute >= 0) weight_readers = {last_compute};
    weights_.read(place.stage, std::move(weight_readers));
  }

  std::int32_t pairs_ = 0;
  OpIds after_;  ///< of the operation that is being written; kept to save allocations
  StepWriter writer_;
  StepGradients gradients_;
  const StepPipeline& pipeline_;
  const PipelineShape& shape_;
  PassOrder passes_;
  StageTransfers transfers_;
  ActivationsOnHost on_host_;
  StepGathers weights_;
  StepBuffers buffers_;
  std::map<StageOfMicrobatch, BlocksVertices> forwards_, backwards_;  ///< until nobody needs them
  std::map<StageOfMicrobatch, Handover> forward_arrivals_, backward_arrivals_;
};

}  // namespace

StepGraph build_step(const ShardedLayers& kinds, const Indexed<BlockId, KindId>& order, const StepPipeline& pipeline,
                     const StepOptions& options) {
  return StepBuilder(kinds, order, pipeline, options).run();
}

StepGraph build_step(const ShardedLayers& kinds, const Indexed<BlockId, KindId>& order, const StepOptions& options) {
  return build_step(kinds, order, single_stage(static_cast<int>(order.size()), options.microbatches), options);
}

}  // namespace lockstep::workloads
