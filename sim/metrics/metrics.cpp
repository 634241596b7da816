#include "sim/metrics/metrics.hpp"

#include <algorithm>
#include <map>

#include "sim/metrics/sweep_private.hpp"
#include "workloads/sharding/joined_axes.hpp"

namespace lockstep {
namespace {

Bytes& of_kind(MemoryPoint& memory, MemoryKind kind) {
  switch (kind) {
    case MemoryKind::weights: return memory.weights;
    case MemoryKind::gradients: return memory.gradients;
    case MemoryKind::optimizer: return memory.optimizer;
    case MemoryKind::activations: return memory.activations;
    case MemoryKind::other: return memory.other;
  }
  return memory.other;
}

}  // namespace

double Metrics::tokens_per_second() const { return static_cast<double>(tokens) / step_time.value(); }
double Metrics::mfu() const { return model_flops.value() / (static_cast<double>(chips) * peak.value() * step_time.value()); }
double Metrics::hfu() const { return executed_flops.value() / (static_cast<double>(chips) * peak.value() * step_time.value()); }

Breakdown breakdown_of(const Program& program, const Timeline& timeline, std::int32_t rank) {
  Breakdown result;
  sweep(program, timeline, rank, [&](double, double length, bool computing, std::int32_t first) {
    (computing ? result.compute : first >= 0 ? result.exposed_comm : result.bubble) += Seconds(length);
  });
  return result;
}

std::vector<CommunicationUse> communication_of(const StepGraph& step, const Program& program, const Timeline& timeline, std::int32_t rank) {
  std::map<std::pair<std::string, std::optional<CollectiveKind>>, CommunicationUse> uses;
  auto use_of = [&](std::int32_t op) -> CommunicationUse& {
    const auto& vertex = step.op(program.ops[static_cast<std::size_t>(op)].vertex);
    const auto axis = vertex.given_time ? vertex.stream : joined(vertex.axes);
    const auto kind = vertex.given_time ? std::nullopt : std::optional(vertex.collective);
    auto& use = uses[{axis, kind}];
    use.axis = axis;
    use.kind = kind;
    return use;
  };
  for (std::int32_t op = 0; op < timeline.ops(); ++op) {
    if (program.ops[static_cast<std::size_t>(op)].kind != ProgramOp::Kind::collective || !timeline.took_part(op, rank)) continue;
    auto& use = use_of(op);
    const auto span = timeline.span(op, rank);
    ++use.count;
    use.full_size += step.op(program.ops[static_cast<std::size_t>(op)].vertex).full_size;
    use.busy += span.end - span.start;
  }
  sweep(program, timeline, rank, [&](double, double length, bool computing, std::int32_t first) {
    if (!computing && first >= 0) use_of(first).exposed += Seconds(length);
  });
  std::vector<CommunicationUse> result;
  for (auto& [key, use] : uses) result.push_back(use);
  return result;
}

std::vector<MemoryPoint> memory_curve(const StepGraph& step, const Program& program, const Timeline& timeline, std::int32_t rank) {
  struct Change {
    Seconds time;
    Bytes size;  // negative: freed
    MemoryKind kind;
  };
  std::vector<Change> changes;
  const auto stage = program.stage_of_rank[static_cast<std::size_t>(rank)];
  for (const auto& buffer : step.buffers) {
    if (buffer.size.value() == 0 || buffer.stage != stage || !timeline.took_part(buffer.producer, rank)) continue;
    const auto span = timeline.span(buffer.producer, rank);
    Seconds until = span.end;
    for (const auto reader : buffer.readers) {
      if (timeline.took_part(reader, rank)) until = std::max(until, timeline.span(reader, rank).end);
    }
    changes.push_back({span.start, buffer.size, buffer.kind});
    changes.push_back({until, Bytes(0) - buffer.size, buffer.kind});
  }
  std::stable_sort(changes.begin(), changes.end(), [](const Change& a, const Change& b) { return a.time < b.time; });
  std::vector<MemoryPoint> curve(1);
  const auto& held = step.held[static_cast<std::size_t>(stage)];
  curve.front().weights = held.weights;
  curve.front().optimizer = held.optimizer;
  for (const auto& change : changes) {
    // At one instant what ends makes room for what begins: only their sum is a point.
    if (change.time > curve.back().time) {
      curve.push_back(curve.back());
      curve.back().time = change.time;
    }
    of_kind(curve.back(), change.kind) += change.size;
  }
  return curve;
}

MemoryUse memory_of(const StepGraph& step, const Program& program, const Timeline& timeline, std::int32_t rank, Bytes capacity) {
  const auto curve = memory_curve(step, program, timeline, rank);
  const auto worst = std::max_element(curve.begin(), curve.end(), [](const MemoryPoint& a, const MemoryPoint& b) {
    return a.total() < b.total();
  });
  MemoryUse use;
  use.peak = worst->total();
  use.capacity = capacity;
  use.fits = use.peak <= capacity;
  use.weights = worst->weights;
  use.gradients = worst->gradients;
  use.optimizer = worst->optimizer;
  use.activations = worst->activations;
  use.other = worst->other;
  use.peak_at = worst->time;
  use.weight_padding = step.held[static_cast<std::size_t>(program.stage_of_rank[static_cast<std::size_t>(rank)])].weight_padding;
  return use;
}

std::int32_t critical_rank(const Timeline& timeline) {
  std::int32_t lowest = timeline.ranks();
  for (std::int32_t op = 0; op < timeline.ops(); ++op) {
    for (std::int32_t rank = 0; rank < lowest; ++rank) {
      if (!timeline.took_part(op, rank)) continue;
      if (timeline.span(op, rank).end == timeline.makespan()) lowest = rank;
      if (timeline.uniform(op)) break;  // the others that took part end with this one
    }
  }
  return lowest < timeline.ranks() ? lowest : 0;
}

}  // namespace lockstep
