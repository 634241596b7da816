#include "sim/planning/pass_floor.hpp"

namespace lockstep {

PassPath path_of(const PassSketch& pass, std::span<const double> prices) {
  thread_local std::vector<Front> ends;  // of each step, from the free stream alone and from the input alone
  ends.assign(pass.steps.size(), {});
  Front stream{0, never};
  const auto from = [&](std::int32_t step) { return step < 0 ? Front{never, 0} : ends[static_cast<std::size_t>(step)]; };
  for (std::size_t i = 0; i < pass.steps.size(); ++i) {
    const auto& step = pass.steps[i];
    const bool on_stream = step.collective < 0 && !step.beside;
    Front start = on_stream ? stream : Front{never, never};
    for (const auto before : step.after) {
      const auto end = from(before);
      start = {std::max(start.free, end.free), std::max(start.data, end.data)};
    }
    const double time = step.collective < 0 ? step.compute : prices[static_cast<std::size_t>(step.collective)];
    ends[i] = {start.free + time, start.data + time};
    if (on_stream) stream = ends[i];
  }
  Front output{never, never};
  for (const auto step : pass.output) {
    const auto end = from(step);
    output = {std::max(output.free, end.free), std::max(output.data, end.data)};
  }
  return {stream.free, output.free, stream.data, output.data};
}

}  // namespace lockstep
