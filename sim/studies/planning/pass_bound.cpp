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
