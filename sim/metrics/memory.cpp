#include "sim/metrics/memory.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

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

using Buffers = std::vector<const workloads::Buffer*>;

/// The buffers of each stage that take memory.
std::vector<Buffers> by_stage(const workloads::StepGraph& step) {
  std::vector<Buffers> result(step.held.size());
  for (const auto& buffer : step.buffers) {
    if (buffer.size.value() > 0) result[position_of(buffer.stage)].push_back(&buffer);
  }
  return result;
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

}  // namespace

Bytes& MemoryParts::of(workloads::MemoryKind kind) { return part(*this, kind); }
const Bytes& MemoryParts::of(workloads::MemoryKind kind) const { return part(*this, kind); }

StepMemory::StepMemory(const workloads::StepGraph& step, const program::Program& program,
                       const timeline::Timeline& timeline)
    : step_(step),
      program_(program),
      timeline_(timeline),
      buffers_(by_stage(step)),
      of_operation_(position_of(timeline.ops())) {}

std::vector<StepMemory::Alive> StepMemory::alive_on(std::int32_t rank) const {
  const auto& buffers = buffers_[position_of(program_.stage_of_rank[rank])];
  std::vector<Alive> result;
  result.reserve(buffers.size());
  for (const auto* buffer : buffers) {
    if (!timeline_.took_part(buffer->producer, rank)) continue;
    auto last = buffer->producer;
    auto until = timeline_.simulated(last, rank).end;
    for (const auto reader : buffer->readers) {
      if (!timeline_.took_part(reader, rank)) continue;
      const auto end = timeline_.simulated(reader, rank).end;
      if (end < until || (end == until && reader < last)) continue;
      until = end;
      last = reader;
    }
    result.push_back({buffer, last});
  }
  return result;
}

/// By time. Buffers begin and end with operations, and those of a rank come in a few runs by time, while the ends of
/// buffers do not.
std::vector<StepMemory::Change> StepMemory::changes_on(std::int32_t rank, const std::vector<Alive>& buffers) {
  std::vector<OfOperation> next(buffers.size());  // buffer that begins, or ends, with the same operation
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    const auto number = static_cast<std::int32_t>(i);
    next[i].begins = std::exchange(of_operation_[buffers[i].buffer->producer].begins, number);
    next[i].ends = std::exchange(of_operation_[buffers[i].last].ends, number);
  }
  struct Event {
    Seconds time;
    std::int32_t first;  // buffer
    bool frees, at_once;
  };
  std::vector<Event> events;
  timeline_.for_each_op_of(rank, [&](workloads::OpId op) {
    const auto [begins, ends] = std::exchange(of_operation_[op], {});
    if (begins < 0 && ends < 0) return;
    const auto span = timeline_.simulated(op, rank);
    const bool at_once = span.end == span.start;
    if (begins >= 0) events.push_back({span.start, begins, false, at_once});
    if (ends >= 0) events.push_back({span.end, ends, true, at_once});
  });
  sort_runs(events, [](const Event& a, const Event& b) { return a.time < b.time; });
  std::vector<Change> changes;
  changes.reserve(2 * buffers.size());
  for (const auto& [time, first, frees, at_once] : events) {
    for (auto i = first; i >= 0; i = frees ? next[position_of(i)].ends : next[position_of(i)].begins)
      changes.push_back({time, buffers[position_of(i)].buffer, i, frees, at_once});
  }
  return changes;
}

template <class See, class Visit>
void StepMemory::for_each_point(std::int32_t rank, const std::vector<Change>& changes, See see, Visit visit) const {
  const auto& held = held_by(rank);
  MemoryPoint point;
  point.weights = held.weights;
  point.optimizer = held.optimizer;
  point.overhead = held.overhead;
  point.host = held.host;
  point.buffers = held.buffers;
  const auto apply = [&](const Change& change) {
    const auto size = change.buffer->size;
    point.of(change.buffer->kind) += change.frees ? Bytes(0) - size : size;
    see(change);
  };
  for (auto first = changes.begin(); first != changes.end();) {
    if (first->time > point.time) visit(point);
    point.time = first->time;
    const auto last = std::find_if(first, changes.end(), [&](const Change& c) { return c.time > point.time; });
    // At one instant, memory that is freed is available to what begins. What takes no time begins and ends one after
    // the other.
    const auto is_free_before = [](const Change& change) { return change.frees && !change.at_once; };
    std::for_each(first, last, [&](const Change& change) {
      if (is_free_before(change)) apply(change);
    });
    bool begun = false;
    std::for_each(first, last, [&](const Change& change) {
      if (is_free_before(change)) return;
      if (change.frees && std::exchange(begun, false)) visit(point);
      apply(change);
      begun = begun || (!change.frees && change.at_once);
    });
    first = last;
  }
  visit(point);
}

/// Finds the blocks that hold the activations of the peak, and the operation that allocates there; a computing
/// operation is preferred, and of those the last to begin.
void StepMemory::explain(MemoryUse& use, const std::vector<const workloads::Buffer*>& held_then) const {
  std::map<std::int32_t, BlockActivations> blocks;
  std::map<std::int32_t, std::set<std::int32_t>> microbatches;
  for (const auto* buffer : held_then) {
    const auto& producer = step_.op(buffer->producer);
    if (buffer->kind == workloads::MemoryKind::activations) {
      auto& block = blocks[producer.block];
      block.block = producer.block;
      block.size += buffer->size;
      microbatches[producer.block].insert(producer.microbatch);
    }
    const bool computes = producer->kind == workloads::StepOp::Kind::compute;
    if (timeline_.simulated(buffer->producer, use.rank).start == use.peak_at &&
        (computes || use.peak_op < 0 || step_.op(use.peak_op)->kind != workloads::StepOp::Kind::compute))
      use.peak_op = buffer->producer;
  }
  for (auto& [position, block] : blocks) {
    block.microbatches = std::ssize(microbatches[position]);
    use.activations_by_block.push_back(block);
  }
}

MemoryUse StepMemory::of(std::int32_t rank, Bytes capacity) {
  const auto& held = held_by(rank);
  const auto buffers = alive_on(rank);
  const auto changes = changes_on(rank, buffers);
  MemoryPoint worst;
  Bytes most(-1);
  std::size_t seen = 0, seen_at_worst = 0;
  for_each_point(
      rank, changes, [&](const Change&) { ++seen; },
      [&](const MemoryPoint& point) {
        const auto total = point.total();
        if (total <= most) return;
        most = total;
        worst = point;
        seen_at_worst = seen;
      });
  MemoryUse use;
  static_cast<MemoryParts&>(use) = worst;
  use.peak = most;
  use.capacity = capacity;
  use.peak_at = worst.time;
  use.stage = program_.stage_of_rank[rank];
  use.rank = rank;
  use.weight_padding = held.weight_padding;
  std::vector<bool> is_held(buffers.size(), false);
  std::vector<std::int32_t> begun;  // in that order
  seen = 0;
  for_each_point(
      rank, changes,
      [&](const Change& change) {
        if (seen++ >= seen_at_worst) return;
        is_held[position_of(change.number)] = !change.frees;
        if (!change.frees) begun.push_back(change.number);
      },
      [](const MemoryPoint&) {});
  std::vector<const workloads::Buffer*> then;
  for (const auto number : begun) {
    if (is_held[position_of(number)]) then.push_back(buffers[position_of(number)].buffer);
  }
  explain(use, then);
  const auto& repetition = timeline_.repetition();
  use.peak_at = repetition.in_step(use.peak_at);
  if (use.peak_op >= 0)
    use.peak_microbatch =
        repetition.microbatch(use.peak_op, repetition.first_copy(use.peak_op), step_.op(use.peak_op).microbatch);
  return use;
}

std::vector<MemoryPoint> StepMemory::curve(std::int32_t rank) {
  std::vector<MemoryPoint> simulated;
  for_each_point(
      rank, changes_on(rank, alive_on(rank)), [](const Change&) {},
      [&](const MemoryPoint& point) { simulated.push_back(point); });
  return in_step(simulated, timeline_.repetition());
}

std::vector<MemoryPoint> memory_curve(const workloads::StepGraph& step, const program::Program& program,
                                      const timeline::Timeline& timeline, std::int32_t rank) {
  return StepMemory(step, program, timeline).curve(rank);
}

MemoryUse memory_of(const workloads::StepGraph& step, const program::Program& program,
                    const timeline::Timeline& timeline, std::int32_t rank, Bytes capacity) {
  return StepMemory(step, program, timeline).of(rank, capacity);
}

}  // namespace lockstep::metrics
