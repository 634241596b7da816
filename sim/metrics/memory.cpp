#include "sim/metrics/memory.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "sim/core/errors.hpp"
#include "sim/metrics/sort_runs.hpp"

namespace lockstep::metrics {
namespace {

template <class Parts>
auto& part(Parts& parts, workloads::MemoryKind kind) {
  switch (kind) {
    case workloads::MemoryKind::weights: return parts.weights;
    case workloads::MemoryKind::gradients: return parts.gradients;
    case workloads::MemoryKind::optimizer: return parts.optimizer;
    case workloads::MemoryKind::activations: return parts.activations;
    case workloads::MemoryKind::gathered: return parts.gathered;
    case workloads::MemoryKind::buffers: return parts.buffers;
    case workloads::MemoryKind::workspace: return parts.workspace;
    case workloads::MemoryKind::overhead: return parts.overhead;
    case workloads::MemoryKind::host: return parts.host;
  }
  throw InternalError("a kind of memory without a place");
}

struct Alive {
  const workloads::Buffer* buffer;
  Seconds from, until;
};

using Buffers = std::vector<const workloads::Buffer*>;

/// The buffers of each stage that take memory.
std::vector<Buffers> by_stage(const workloads::StepGraph& step) {
  std::vector<Buffers> result(step.held.size());
  for (const auto& buffer : step.buffers) {
    if (buffer.size.value() > 0) result[position_of(buffer.stage)].push_back(&buffer);
  }
  return result;
}

/// The buffers of a rank's stage that the rank holds, with their times.
std::vector<Alive> alive_on(std::int32_t rank, const Buffers& buffers, const timeline::Timeline& timeline) {
  std::vector<Alive> result;
  for (const auto* buffer : buffers) {
    if (!timeline.took_part(buffer->producer, rank)) continue;
    const auto span = timeline.simulated(buffer->producer, rank);
    Seconds until = span.end;
    for (const auto reader : buffer->readers) {
      if (timeline.took_part(reader, rank)) until = std::max(until, timeline.simulated(reader, rank).end);
    }
    result.push_back({buffer, span.start, until});
  }
  return result;
}

/// Calls `visit` for every point of the memory curve.
template <class Visit>
void for_each_point(const workloads::HeldMemory& held, const std::vector<Alive>& buffers, Visit visit) {
  struct Change {
    Seconds time;
    const workloads::Buffer* buffer;
    bool frees;
  };
  std::vector<Change> changes;
  changes.reserve(2 * buffers.size());
  for (const auto& [buffer, from, until] : buffers) changes.push_back({from, buffer, false});
  for (const auto& [buffer, from, until] : buffers) changes.push_back({until, buffer, true});
  sort_runs(changes, [](const Change& a, const Change& b) { return a.time < b.time; });
  MemoryPoint point;
  point.weights = held.weights;
  point.optimizer = held.optimizer;
  point.overhead = held.overhead;
  point.host = held.host;
  for (const auto& [time, buffer, frees] : changes) {
    // At one instant, memory that is freed is available to what begins: the curve has one point, for the sum.
    if (time > point.time) {
      visit(point);
      point.time = time;
    }
    point.of(buffer->kind) += frees ? Bytes(0) - buffer->size : buffer->size;
  }
  visit(point);
}

std::vector<MemoryPoint> curve_of(const workloads::HeldMemory& held, const std::vector<Alive>& buffers) {
  std::vector<MemoryPoint> curve;
  for_each_point(held, buffers, [&](const MemoryPoint& point) { curve.push_back(point); });
  return curve;
}

const workloads::HeldMemory& held_by(const workloads::StepGraph& step, const program::Program& program,
                                     std::int32_t rank) {
  return step.held[program.stage_of_rank[rank]];
}

/// The curve of the whole step.
std::vector<MemoryPoint> in_step(const std::vector<MemoryPoint>& simulated, const timeline::Repetition& repetition) {
  if (repetition.copies == 0) return simulated;
  const auto later = [](const MemoryPoint& point, Seconds time) { return point.time > time; };
  const auto first_after = [&](Seconds time) {
    return std::partition_point(simulated.begin(), simulated.end(),
                                [&](const auto& point) { return !later(point, time); });
  };
  const auto begin = first_after(repetition.period.start), end = first_after(repetition.period.end);
  std::vector<MemoryPoint> curve(simulated.begin(), end);
  const auto take = [&](const MemoryPoint& point, Seconds shift) {
    curve.push_back(point);
    curve.back().time += shift;
  };
  for (std::int64_t copy = 1; copy <= repetition.copies; ++copy)
    std::for_each(begin, end, [&](const MemoryPoint& point) { take(point, repetition.shift(copy)); });
  std::for_each(end, simulated.end(), [&](const MemoryPoint& point) { take(point, repetition.missing()); });
  return curve;
}

/// Finds the blocks that hold the activations of the peak, and the operation that allocates there; a computing
/// operation is preferred.
void explain(MemoryUse& use, const workloads::StepGraph& step, const std::vector<Alive>& buffers) {
  std::map<std::int32_t, BlockActivations> blocks;
  std::map<std::int32_t, std::set<std::int32_t>> microbatches;
  for (const auto& [buffer, from, until] : buffers) {
    if (from > use.peak_at || until <= use.peak_at) continue;
    const auto& producer = step.op(buffer->producer);
    if (buffer->kind == workloads::MemoryKind::activations) {
      auto& block = blocks[producer.block];
      block.block = producer.block;
      block.size += buffer->size;
      microbatches[producer.block].insert(producer.microbatch);
    }
    const bool computes = producer->kind == workloads::StepOp::Kind::compute;
    if (from == use.peak_at &&
        (use.peak_op < 0 || (computes && step.op(use.peak_op)->kind != workloads::StepOp::Kind::compute)))
      use.peak_op = buffer->producer;
  }
  for (auto& [position, block] : blocks) {
    block.microbatches = std::ssize(microbatches[position]);
    use.activations_by_block.push_back(block);
  }
}

}  // namespace

Bytes& MemoryParts::of(workloads::MemoryKind kind) { return part(*this, kind); }
const Bytes& MemoryParts::of(workloads::MemoryKind kind) const { return part(*this, kind); }

std::vector<MemoryPoint> memory_curve(const workloads::StepGraph& step, const program::Program& program,
                                      const timeline::Timeline& timeline, std::int32_t rank) {
  const auto buffers = by_stage(step);
  const auto& mine = buffers[position_of(program.stage_of_rank[position_of(rank)])];
  return in_step(curve_of(held_by(step, program, rank), alive_on(rank, mine, timeline)), timeline.repetition());
}

StepMemory::StepMemory(const workloads::StepGraph& step, const program::Program& program,
                       const timeline::Timeline& timeline)
    : step_(step), program_(program), timeline_(timeline), buffers_(by_stage(step)) {}

MemoryUse StepMemory::of(std::int32_t rank, Bytes capacity) const {
  const auto stage = program_.stage_of_rank[rank];
  const auto& held = held_by(step_, program_, rank);
  const auto buffers = alive_on(rank, buffers_[position_of(stage)], timeline_);
  MemoryPoint worst;
  bool first = true;
  for_each_point(held, buffers, [&](const MemoryPoint& point) {
    if (first || point.total() > worst.total()) worst = point;
    first = false;
  });
  MemoryUse use;
  static_cast<MemoryParts&>(use) = worst;
  use.peak = worst.total();
  use.capacity = capacity;
  use.fits = use.peak <= capacity;
  use.peak_at = worst.time;
  use.stage = stage;
  use.rank = rank;
  use.weight_padding = held.weight_padding;
  explain(use, step_, buffers);
  const auto& repetition = timeline_.repetition();
  use.peak_at = repetition.in_step(use.peak_at);
  if (use.peak_op >= 0)
    use.peak_microbatch =
        repetition.microbatch(use.peak_op, repetition.first_copy(use.peak_op), step_.op(use.peak_op).microbatch);
  return use;
}

MemoryUse memory_of(const workloads::StepGraph& step, const program::Program& program,
                    const timeline::Timeline& timeline, std::int32_t rank, Bytes capacity) {
  return StepMemory(step, program, timeline).of(rank, capacity);
}

}  // namespace lockstep::metrics
