#include "sim/program/lower.hpp"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>

#include "sim/collectives/stage_pairs.hpp"
#include "sim/cost/layer_time.hpp"
#include "sim/program/shared_chip.hpp"

namespace lockstep::program {
namespace {

std::int32_t priority(const workloads::StepWork& op) {
  if (op.kind == workloads::StepWork::Kind::compute) return 0;
  switch (op.role) {
    case workloads::CollectiveRole::activation: return 0;
    case workloads::CollectiveRole::weight:
    case workloads::CollectiveRole::gradient: return 1;  // in the order in which they are issued
  }
  return 0;
}

const std::string pipeline_axis = "pipeline";

/// Each predecessor is listed once.
void wait_for(ProgramOp& op, workloads::OpId earlier) {
  if (std::find(op.predecessors.begin(), op.predecessors.end(), earlier) == op.predecessors.end())
    op.predecessors.push_back(earlier);
}

/// The program while it is written; not `whole`: one rank per stage, and groups without flows.
class Lowering {
 public:
  Lowering(const workloads::StepGraph& step, collectives::CollectiveModel& collectives, const cost::ComputeRates& rates,
           const LowerOptions& options, bool whole)
      : step_(step),
        mesh_(collectives.mesh()),
        rates_(rates),
        options_(options),
        whole_(whole),
        collectives_(collectives) {}

  Program run() {
    stream("compute");
    for (const auto& axis : mesh_.axes()) stream(axis.name);
    stages();
    program_.slowdown_of_rank.assign(program_.stage_of_rank.size(), 1.0);
    program_.ops.reserve(step_.size());
    awaited_by_.assign(position_of(step_.size()), no_stage);
    for (workloads::OpId id = 0; id < step_.size(); ++id) program_.ops.push_back(lowered(id));
    if (rates_.kernels) share_chip(program_, step_, rates_.kernels->chip);
    return std::move(program_);
  }

 private:
  void stages() {
    const int stages = mesh_.has_axis(pipeline_axis) ? mesh_.axis(pipeline_axis).size() : 1;
    if (!whole_) {
      for (std::int32_t stage = 0; stage < stages; ++stage) program_.stage_of_rank.push_back(stage);
      return;
    }
    program_.stage_of_rank.assign(mesh_.ranks(), 0);
    if (stages == 1) return;
    for (const auto& line : collectives_.lines()) {
      for (const workloads::StageId stage : line.ids()) program_.stage_of_rank[line[stage]] = stage;
    }
  }

  ProgramOp lowered(workloads::OpId id) {
    const auto& vertex = step_.op(id);
    // Looking up how long a kernel takes at ideal rates would take as long as computing it.
    const bool simple = vertex->kind == workloads::StepOp::Kind::compute && !rates_.kernels;
    auto op = simple ? made(vertex) : alike(vertex);
    op.vertex = id;
    const auto before = step_.waits_for(id);
    if (vertex->kind == workloads::StepOp::Kind::compute && op.streams.front() == 0) {
      take_turn(vertex, id, op);
    } else {
      op.predecessors.assign(before.begin(), before.end());
    }
    if (between_stages(vertex) && options_.sends_in_order && !both_ways(vertex)) queue(vertex, id, op);
    if (rates_.kernels) wait_for_hosts(vertex, op);
    return op;
  }

  /// Hosts that move a collective's data between tori stop their chips: after the compute that the collective waits
  /// for. XLA combines short ones, of which each stands for its part of a longer one.
  void wait_for_hosts(const workloads::StepOp& vertex, const ProgramOp& op) {
    constexpr Bytes combined(1 << 20);
    const bool alone =
        vertex->kind == workloads::StepOp::Kind::compute || vertex->given_time || vertex.other_stage >= 0;
    if (alone) return;
    const Seconds barrier = collectives_.barrier(vertex->axes) * std::min(1.0, vertex->full_size / combined);
    if (!(barrier > Seconds(0))) return;
    for (const auto* before = &op; !before->predecessors.empty();) {
      auto& last = program_.ops[*std::max_element(before->predecessors.begin(), before->predecessors.end())];
      if (last.kind == ProgramOp::Kind::compute) {
        last.held += barrier;
        last.held_for = op.vertex;
        return;
      }
      before = &last;
    }
  }

  static bool between_stages(const workloads::StepOp& vertex) {
    return vertex->kind == workloads::StepOp::Kind::collective && !vertex->given_time && vertex.other_stage >= 0;
  }
  static bool both_ways(const workloads::StepOp& vertex) {
    return vertex->collective != workloads::CollectiveKind::point_to_point;
  }

  /// The part that operations which do the same work at the same place share.
  const ProgramOp& alike(const workloads::StepOp& vertex) {
    auto& places = alike_[vertex.what];
    const auto same = std::find_if(places.begin(), places.end(), [&](const Alike& one) {
      return one.stage == vertex.stage && one.other_stage == vertex.other_stage;
    });
    if (same != places.end()) return same->op;
    return places.emplace_back(Alike{vertex.stage, vertex.other_stage, made(vertex)}).op;
  }

  ProgramOp made(const workloads::StepOp& vertex) {
    ProgramOp op;
    op.stage = vertex.stage;
    op.priority = priority(*vertex.what);
    if (vertex->kind == workloads::StepOp::Kind::compute) {
      compute(*vertex.what, op);
    } else if (vertex->given_time) {
      given(vertex, op);
    } else if (vertex.other_stage >= 0) {
      transfer(vertex, op);
    } else if (vertex->axes.front() == pipeline_axis && !both_ways(vertex)) {
      hand_over(vertex, op);
    } else {
      collective(vertex, op);
    }
    return op;
  }

  void compute(const workloads::StepWork& work, ProgramOp& op) {
    op.kind = ProgramOp::Kind::compute;
    const auto own = work.stream.empty() ? 0 : stream(work.stream);
    if (!compute_streams_.contains(own)) compute_streams_.resize(position_of(own) + 1);
    auto& list = compute_streams_[own];
    if (list.empty()) list = {own};
    op.streams = list;
    op.duration = operation_time(rates_, work);
  }

  /// A compute stream runs in program order, as kernels on a CUDA stream or a compiled TPU program do; but the two
  /// halves of an overlapped pair each have their own order, and whichever is ready goes on.
  struct ComputeOrder {
    std::vector<workloads::OpId> before;  ///< what an operation outside the present pair follows
    std::int32_t pair = -1;               ///< that runs now
    workloads::OpId of_half[2] = {-1, -1};

    void leave_pair() {
      if (of_half[0] >= 0 || of_half[1] >= 0) before.clear();
      for (auto& last : of_half) {
        if (last >= 0) before.push_back(std::exchange(last, -1));
      }
      pair = -1;
    }
  };
  /// What the stream has waited for already goes without saying: outside overlapped pairs each operation comes after
  /// all those that stand before it.
  void take_turn(const workloads::StepOp& vertex, workloads::OpId id, ProgramOp& op) {
    for (const auto before : step_.waits_for(id)) {
      if (vertex.half == 0) {
        const auto& earlier = program_.ops[before];
        const bool same_stream = earlier.kind == ProgramOp::Kind::compute && earlier.streams.front() == 0;
        if (same_stream && earlier.stage == vertex.stage) continue;
        if (std::exchange(awaited_by_[before], vertex.stage) == vertex.stage) continue;
      }
      op.predecessors.push_back(before);
    }
    follow(order_[vertex.stage], vertex.half, id, op);
  }
  static void follow(ComputeOrder& order, std::int32_t half, workloads::OpId id, ProgramOp& op) {
    if (half == 0 || (half - 1) / 2 != order.pair) order.leave_pair();
    auto* own = half == 0 ? nullptr : &order.of_half[(half - 1) % 2];
    if (own != nullptr && *own >= 0) {
      wait_for(op, *own);
    } else {
      for (const auto earlier : order.before) wait_for(op, earlier);
    }
    if (own != nullptr) {
      order.pair = (half - 1) / 2;
      *own = id;
    } else {
      order.before = {id};
    }
  }

  /// Takes its time on every rank of its stage by itself.
  void given(const workloads::StepOp& vertex, ProgramOp& op) {
    op.kind = ProgramOp::Kind::collective;
    op.streams = {stream(vertex->stream.empty() ? vertex->axes.front() : vertex->stream)};
    op.communicator = alone(vertex.stage);
    op.phases = {{*vertex->given_time, {}}};
    op.closed_form = *vertex->given_time;
  }

  /// What one stage hands to another inside a pass: as long as all of them take to send it to the next, without
  /// contention.
  void hand_over(const workloads::StepOp& vertex, ProgramOp& op) {
    op.kind = ProgramOp::Kind::collective;
    op.streams = {stream(pipeline_axis + " exchange")};
    op.communicator = alone(vertex.stage);
    op.closed_form = collectives_.cost(vertex->collective, {pipeline_axis}, vertex->full_size);
    op.phases = {{op.closed_form, {}}};
  }

  void collective(const workloads::StepOp& vertex, ProgramOp& op) {
    op.kind = ProgramOp::Kind::collective;
    workloads::AxisNames in_mesh_order;
    std::vector<std::int32_t> streams;
    for (const auto& axis : mesh_.axes()) {
      for (const auto& name : vertex->axes) {  // a part of an axis takes turns with the whole
        if (topologies::axis_part(name).axis != axis.name) continue;
        in_mesh_order.push_back(name);
        streams.push_back(stream(axis.name));
      }
    }
    op.streams = std::move(streams);
    if (!whole_) {
      op.closed_form = collectives_.cost(vertex->collective, in_mesh_order, vertex->full_size, vertex->copies);
      op.communicator = communicator({in_mesh_order, ""}, vertex.stage);
      return;
    }
    auto lowered = collectives_.lower(vertex->collective, in_mesh_order, vertex->full_size, "", vertex->copies);
    op.communicator = communicator(lowered.layout, vertex.stage);
    op.phases = std::move(lowered.phases);
    op.closed_form = lowered.closed_form;
  }

  void transfer(const workloads::StepOp& vertex, ProgramOp& op) {
    op.kind = ProgramOp::Kind::collective;
    const auto& pair = stage_pair(vertex.stage, vertex.other_stage);
    op.communicator = pair.communicator;
    const double bytes = static_cast<double>(vertex->full_size.value());
    const bool both = both_ways(vertex);
    const bool upward = vertex.stage < vertex.other_stage;
    const auto transfer = pair.routes.transfer(both     ? collectives::StagePairRoutes::both
                                               : upward ? collectives::StagePairRoutes::upward
                                                        : collectives::StagePairRoutes::downward,
                                               bytes);
    op.closed_form = transfer.time;
    if (whole_)
      op.phases = {{transfer.latency, {both || upward ? transfer.bytes : 0.0, both || !upward ? transfer.bytes : 0.0}}};
    // Gradients of weights that stand on two stages are exchanged over a communicator of their own, as Megatron's
    // embedding group.
    const auto way = options_.sends_in_order
                         ? " queue"
                         : " " + std::to_string(vertex.stage) + ">" + std::to_string(vertex.other_stage);
    op.streams = {stream(both ? pipeline_axis : pipeline_axis + way)};
  }

  /// One queue for all that a rank sends and receives, and nothing in it overtakes. It stands in the order of the
  /// rank's program, which is that of the vertices' numbers (cell_turns.hpp), so no ranks wait for each other in a
  /// circle.
  void queue(const workloads::StepOp& vertex, workloads::OpId id, ProgramOp& op) {
    for (const auto stage : {vertex.stage, vertex.other_stage}) {
      auto& last = last_send_[stage];
      if (last >= 0) wait_for(op, last);
      last = id;
    }
  }

  std::int32_t stream(const std::string& name) {
    const auto [found, is_new] = streams_.try_emplace(name, program_.streams.next_id());
    if (is_new) program_.streams.push_back(name);
    return found->second;
  }

  /// Communicators by mesh axes in mesh order, algorithm and stage, made at first use.
  using Layout = std::pair<workloads::AxisNames, std::string>;
  std::int32_t communicator(const Layout& layout, std::int32_t stage) {
    const auto [found, is_new] = known_.try_emplace({layout, stage}, program_.communicators.next_id());
    if (!is_new) return found->second;
    collectives::Communicator made{"alone", 0, {}};
    if (whole_) {
      const auto& all = collectives_.communicator(layout);
      made.name = all.name;
      made.slots = all.slots;
      for (const auto& group : all.groups) {
        if (stage == workloads::StepOp::every_stage || program_.stage_of_rank[group.members.front()] == stage)
          made.groups.push_back(group);
      }
    } else if (stage == workloads::StepOp::every_stage) {
      made.groups.emplace_back();
      for (std::int32_t each = 0; each < program_.ranks(); ++each) made.groups.back().members.push_back(each);
    } else {
      made.groups.push_back({{stage}, {}});
    }
    program_.communicators.push_back(std::move(made));
    return found->second;
  }

  /// Every rank of a stage as a group of its own.
  std::int32_t alone(std::int32_t stage) {
    const auto [found, is_new] = known_.try_emplace({Layout{}, stage}, program_.communicators.next_id());
    if (!is_new) return found->second;
    collectives::Communicator made{"alone", 0, {}};
    for (std::int32_t rank = 0; rank < program_.ranks(); ++rank) {
      if (program_.stage_of_rank[rank] == stage) made.groups.push_back({{rank}, {}});
    }
    program_.communicators.push_back(std::move(made));
    return found->second;
  }

  struct Pair {
    std::int32_t communicator = -1;
    collectives::StagePairRoutes routes;
  };
  const Pair& stage_pair(std::int32_t one, std::int32_t other) {
    const auto [found, is_new] = pairs_.try_emplace(std::minmax(one, other));
    auto& pair = found->second;
    if (!is_new) return pair;
    pair.communicator = program_.communicators.next_id();
    const auto [low, high] = std::minmax(one, other);
    const auto& known = collectives_.stage_pairs(low, high);
    pair.routes = known.routes;
    program_.communicators.push_back(
        whole_ ? known.communicator : collectives::Communicator{known.communicator.name, 2, {{{low, high}, {}}}});
    return pair;
  }

  const workloads::StepGraph& step_;
  const topologies::Mesh& mesh_;
  const cost::ComputeRates& rates_;
  const LowerOptions& options_;
  bool whole_;
  Program program_;
  std::map<std::int32_t, ComputeOrder> order_;  ///< of compute, by stage
  static constexpr workloads::StageId no_stage = workloads::StepOp::every_stage - 1;
  Indexed<workloads::OpId, workloads::StageId> awaited_by_;  ///< the last stage whose compute stream waited for it
  std::map<std::int32_t, workloads::OpId> last_send_;        ///< by stage; see sends_in_order
  std::map<std::string, std::int32_t> streams_;
  Indexed<StreamId, SharedList<StreamId>> compute_streams_;  ///< each by itself
  struct Alike {
    std::int32_t stage, other_stage;
    ProgramOp op;
  };
  std::unordered_map<const workloads::StepWork*, std::vector<Alike>> alike_;
  collectives::CollectiveModel& collectives_;
  std::map<std::pair<Layout, std::int32_t>, std::int32_t> known_;
  std::map<std::pair<std::int32_t, std::int32_t>, Pair> pairs_;
};

}  // namespace

Program lower(const workloads::StepGraph& step, collectives::CollectiveModel& collectives,
              const cost::ComputeRates& rates, const LowerOptions& options) {
  auto program = Lowering(step, collectives, rates, options, true).run();
  const auto& cluster = collectives.cluster();
  program.links.reserve(cluster.links());
  for (topologies::LinkId link = 0; link < cluster.links(); ++link)
    program.links.push_back(cluster.link(link).bandwidth);
  return program;
}

Program lower_one_rank_per_stage(const workloads::StepGraph& step, collectives::CollectiveModel& collectives,
                                 const cost::ComputeRates& rates, const LowerOptions& options) {
  return Lowering(step, collectives, rates, options, false).run();
}

Predecessors all_predecessors(const workloads::StepGraph& step, const ProgramOp& op) {
  const auto inputs = step.waits_for(op.vertex);
  Predecessors all;
  all.assign(inputs.begin(), inputs.end());
  for (const auto before : op.predecessors) {
    if (std::find(all.begin(), all.end(), before) == all.end()) all.push_back(before);
  }
  return all;
}

}  // namespace lockstep::program
