#include "sim/studies/planning/pass_bound.hpp"

#include "sim/core/indexed.hpp"

namespace lockstep::planning {

namespace {

/// When something is, from each of what a pass starts with alone.
struct Sources {
  double free = never, data = never, weights = never;
  void wait_for(const Sources& other) {
    free = std::max(free, other.free);
    data = std::max(data, other.data);
    weights = std::max(weights, other.weights);
  }
};

}  // namespace

void tell_when(PassSummary& pass) {
  struct Near {
    bool after_input = false, after_compute = false, before_compute = false, before_output = false;
  };
  std::vector<Near> steps(pass.steps.size());
  const auto on_stream = [&](std::int32_t step) {
    return pass.steps[position_of(step)].collective < 0 && !pass.steps[position_of(step)].beside;
  };
  for (std::size_t i = 0; i < steps.size(); ++i) {
    for (const auto before : pass.steps[i].after) {
      const auto near = before < 0 ? Near{true, false, false, false} : steps[position_of(before)];
      steps[i].after_input = steps[i].after_input || near.after_input;
      steps[i].after_compute = steps[i].after_compute || near.after_compute || (before >= 0 && on_stream(before));
    }
  }
  for (const auto step : pass.output) {
    if (step >= 0) steps[position_of(step)].before_output = true;
  }
  for (auto i = static_cast<std::int32_t>(steps.size()); i-- > 0;) {
    const auto& later = steps[position_of(i)];
    pass.computes = pass.computes || on_stream(i);
    for (const auto before : pass.steps[position_of(i)].after) {
      if (before < 0) continue;
      auto& near = steps[position_of(before)];
      near.before_compute = near.before_compute || later.before_compute || on_stream(i);
      near.before_output = near.before_output || later.before_output;
    }
  }
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const auto& near = steps[i];
    using enum PassSummary::When;
    auto& when = pass.steps[i].when;
    if (near.after_compute) {
      when = near.before_compute ? between : near.before_output ? last : unknown;
    } else {
      when = near.after_input && near.before_compute ? first : unknown;
    }
  }
}

BlockPath path_of(const PassSummary& pass, std::span<const double> costs) {
  thread_local std::vector<Sources> ends;  // of each step
  ends.assign(pass.steps.size(), {});
  Sources stream{0, never, never}, readers;
  const auto end_of = [&](std::int32_t step) { return step < 0 ? Sources{never, 0, never} : ends[position_of(step)]; };
  for (std::size_t i = 0; i < pass.steps.size(); ++i) {
    const auto& step = pass.steps[i];
    const bool on_stream = step.collective < 0 && !step.beside;
    auto end = on_stream ? stream : Sources{};
    for (const auto before : step.after) end.wait_for(end_of(before));
    if (step.weights) end.wait_for({never, never, 0});
    const double time = step.collective < 0 ? step.compute : costs[position_of(step.collective)];
    ends[i] = {end.free + time, end.data + time, end.weights + time};
    if (on_stream) stream = ends[i];
    if (step.weights) readers.wait_for(ends[i]);
  }
  Sources output;
  for (const auto step : pass.output) output.wait_for(end_of(step));
  return {{stream.free, output.free, stream.data, output.data},
          stream.weights,
          output.weights,
          readers.free,
          readers.data,
          readers.weights};
}

}  // namespace lockstep::planning
