#include "sim/metrics/critical_path.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>

#include "sim/metrics/blockers.hpp"
#include "sim/metrics/metrics.hpp"
#include "workloads/sharding/joined_axes.hpp"

namespace lockstep::metrics {
namespace {

CriticalSpan::Why why_after(const workloads::StepGraph& step, const program::Program& program, std::int32_t op,
                            const Blocker& blocker) {
  switch (blocker.why) {
    case Blocker::Why::none: return CriticalSpan::Why::start;
    case Blocker::Why::stream: return CriticalSpan::Why::stream;
    case Blocker::Why::needs: break;
  }
  // The step graph knows what is needed; the program also holds the order of compute.
  const auto needed = step.waits_for(program.ops[op].vertex);
  const bool is_input = std::find(needed.begin(), needed.end(), program.ops[blocker.op].vertex) != needed.end();
  return is_input ? CriticalSpan::Why::input : CriticalSpan::Why::order;
}

/// The path without its parts.
CriticalPath walk_back(const workloads::StepGraph& step, const program::Program& program,
                       const timeline::Timeline& timeline) {
  CriticalPath path;
  auto& spans = path.spans;
  auto& repeated = path.repeated;
  Blockers blockers(program, timeline);
  const auto& repetition = timeline.repetition();
  Blocker now{Blocker::Why::none, -1, critical_rank(timeline)};
  for (std::int32_t op = 0; op < timeline.ops() && now.op < 0; ++op) {
    if (timeline.took_part(op, now.rank) && timeline.simulated(op, now.rank).end == timeline.simulated_makespan())
      now.op = op;
  }
  auto copy = repetition.copies;
  // By the operation and rank at which the chain entered a copy of the period: the spans listed by then, and the copy.
  std::map<std::pair<std::int32_t, std::int32_t>, std::pair<std::size_t, std::int64_t>> entries;
  while (now.op >= 0) {
    const auto before = blockers.of(now.op, now.rank);
    spans.push_back(
        {now.op, copy, now.rank, timeline.span(now.op, now.rank, copy), why_after(step, program, now.op, before)});
    now = before;
    // The chain enters a copy of the period from the copy before it, where the same operations run.
    while (now.op >= 0 && copy > 0 && repetition.place_of(now.op) == timeline::Repetition::Place::before) {
      now.op = repetition.later[now.op];
      --copy;
      const auto [known, is_new] = entries.try_emplace({now.op, now.rank}, spans.size(), copy);
      if (is_new || repeated.times > 0) continue;
      // The chain has been here before, a few copies later: it repeats the same way through the copies that are left.
      const auto [length, at_copy] = known->second;
      repeated = {length, spans.size(), copy / (at_copy - copy), at_copy - copy};
      copy -= repeated.times * repeated.copies;
    }
  }
  std::reverse(spans.begin(), spans.end());
  repeated = {spans.size() - repeated.last, spans.size() - repeated.first, repeated.times, repeated.copies};
  if (repeated.times == 0) repeated = {};
  return path;
}

class Parts {
 public:
  Parts(const workloads::StepGraph& step, const program::Program& program) : step_(step), program_(program) {}

  /// `times`: how often the span occurs in the step.
  void take(const CriticalSpan& one, std::int64_t times) {
    using Kind = CriticalPart::Kind;
    times_ = times;
    const auto length = one.span.end - one.span.start;
    const auto& op = program_.ops[one.op];
    const auto& vertex = step_.op(op.vertex);
    if (vertex->kind == workloads::StepOp::Kind::compute) {
      const auto held = std::min(op.held, length);
      add(vertex.pass == workloads::StepPass::update ? Kind::update : Kind::compute, vertex, length - held);
      if (held > Seconds(0)) add(Kind::latency, step_.op(op.held_for), held);
      return;
    }
    if (vertex->given_time) {
      add(vertex->given == workloads::GivenTime::measured ? Kind::replayed : Kind::offload, vertex, length);
      return;
    }
    Seconds latencies(0);
    for (const auto& phase : op.phases) latencies += phase.latency;
    const auto latency = std::min(latencies, length);
    // Flows and closed forms round differently, and late dates more coarsely.
    constexpr double rounding = 1e-9;
    constexpr Seconds one_instant{1e-12};
    const auto alone =
        length <= op.closed_form * (1 + rounding) + one_instant ? length : std::max(op.closed_form, latency);
    add(Kind::latency, vertex, latency);
    add(Kind::transfer, vertex, alone - latency);
    add(Kind::contention, vertex, length - alone);
  }

  /// Times that differ by rounding are equal.
  std::vector<CriticalPart> longest_first(Seconds step_time) && {
    std::vector<CriticalPart> parts;
    for (auto& [key, part] : parts_) parts.push_back(std::move(part));
    const auto rounded = [&](const CriticalPart& part) { return std::llround(part.time / step_time * 1e10); };
    std::stable_sort(parts.begin(), parts.end(),
                     [&](const CriticalPart& a, const CriticalPart& b) { return rounded(a) > rounded(b); });
    return parts;
  }

 private:
  void add(CriticalPart::Kind kind, const workloads::StepOp& vertex, Seconds time) {
    if (time <= Seconds(0)) return;
    auto*& part = part_of_[{kind, vertex.pass, vertex.what}];
    if (part == nullptr) {
      const auto what = what_runs(vertex);
      part = &parts_.try_emplace({kind, what}, CriticalPart{kind, what}).first->second;
    }
    part->time += time * static_cast<double>(times_);
    part->spans += times_;
  }

  static std::string what_runs(const workloads::StepOp& vertex) {
    if (vertex->kind == workloads::StepOp::Kind::compute) {
      return vertex.pass == workloads::StepPass::update ? vertex->name
                                                        : std::string(name(vertex.pass)) + " " + vertex->name;
    }
    return vertex->given_time ? vertex->stream
                              : workloads::joined(vertex->axes) + " " + std::string(name(vertex->collective));
  }

  const workloads::StepGraph& step_;
  const program::Program& program_;
  std::int64_t times_ = 1;
  std::map<std::pair<CriticalPart::Kind, std::string>, CriticalPart> parts_;
  using Same = std::tuple<CriticalPart::Kind, workloads::StepPass, const workloads::StepWork*>;
  std::map<Same, CriticalPart*> part_of_;  ///< only looked up: its order is that of places in memory
};

}  // namespace

std::string_view name(CriticalSpan::Why why) {
  switch (why) {
    case CriticalSpan::Why::start: return "start";
    case CriticalSpan::Why::input: return "input";
    case CriticalSpan::Why::order: return "order";
    case CriticalSpan::Why::stream: return "stream";
  }
  return "";
}

std::string_view name(CriticalPart::Kind kind) {
  switch (kind) {
    case CriticalPart::Kind::compute: return "compute";
    case CriticalPart::Kind::transfer: return "transfer";
    case CriticalPart::Kind::latency: return "latency";
    case CriticalPart::Kind::contention: return "contention";
    case CriticalPart::Kind::replayed: return "replayed";
    case CriticalPart::Kind::offload: return "offload";
    case CriticalPart::Kind::update: return "update";
  }
  return "";
}

std::int64_t CriticalPath::length() const {
  return std::ssize(spans) + static_cast<std::int64_t>(repeated.last - repeated.first) * repeated.times;
}

std::int64_t CriticalPath::rank_changes() const {
  const auto changes = [&](std::size_t from, std::size_t to) {
    return std::int64_t{spans[from].rank != spans[to].rank ? 1 : 0};
  };
  std::int64_t total = 0, within = 0;
  for (std::size_t i = 1; i < spans.size(); ++i) {
    total += changes(i - 1, i);
    if (i > repeated.first && i < repeated.last) within += changes(i - 1, i);
  }
  if (repeated.times > 0) total += (within + changes(repeated.last - 1, repeated.first)) * repeated.times;
  return total;
}

CriticalPath critical_path_of(const workloads::StepGraph& step, const program::Program& program,
                              const timeline::Timeline& timeline) {
  auto path = walk_back(step, program, timeline);
  const auto& repeated = path.repeated;
  Parts parts(step, program);
  for (std::size_t i = 0; i < path.spans.size(); ++i)
    parts.take(path.spans[i], i >= repeated.first && i < repeated.last ? 1 + repeated.times : 1);
  path.parts = std::move(parts).longest_first(timeline.makespan());
  return path;
}

}  // namespace lockstep::metrics
