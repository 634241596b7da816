#include "sim/planning/timed_blocks.hpp"

#include <algorithm>

namespace lockstep {
namespace {

std::size_t at(std::int32_t index) { return static_cast<std::size_t>(index); }

/// The collectives of a sketch with their prices.
struct Priced {
  const std::vector<PricedCollective>& collectives;
  std::span<const double> prices;

  void occupy(BusyStreams& streams, std::int32_t collective) const {
    for (std::size_t axis = 0; axis < streams.size(); ++axis) {
      if ((collectives[at(collective)].axes >> axis & 1U) != 0) streams[axis] += prices[at(collective)];
    }
  }
  void occupy(BusyStreams& streams, const std::vector<std::int32_t>& chain) const {
    for (const auto collective : chain) occupy(streams, collective);
  }
  [[nodiscard]] double along_data(const std::vector<std::int32_t>& chain) const {
    double time = 0;
    for (const auto collective : chain) {
      if ((collectives[at(collective)].axes >> data_axis & 1U) != 0) time += prices[at(collective)];
    }
    return time;
  }
};

BusyStreams least(const BusyStreams& one, const BusyStreams& other) {
  BusyStreams result;
  std::transform(one.begin(), one.end(), other.begin(), result.begin(), [](double a, double b) { return std::min(a, b); });
  return result;
}

}  // namespace

TimedPasses timed(const PassesSketch& sketch, std::span<const double> prices) {
  const Priced priced{sketch.collectives, prices};
  const auto timed = [&](const PassSketch& pass) {
    TimedPasses::Pass made{path_of(pass, prices), {0, priced.along_data(pass.gathers)}};
    for (const auto gather : pass.gathers) made.gather.first = &gather == &pass.gathers.front() ? prices[at(gather)] : std::min(made.gather.first, prices[at(gather)]);
    return made;
  };
  TimedPasses result;
  for (const auto& block : sketch.kinds) {
    TimedPasses::Kind made{timed(block.forward), timed(block.backward), timed(block.input_gradient), timed(block.weight_gradient), {}};
    for (const auto* pass : {&block.forward, &block.backward}) {
      for (const auto& step : pass->steps) {
        if (step.collective >= 0) priced.occupy(made.each, step.collective);
      }
      priced.occupy(made.each, pass->gathers);
    }
    result.kinds.push_back(made);
  }
  return result;
}

TimedState timed(const StateSketch& sketch, std::span<const double> prices) {
  const Priced priced{sketch.collectives, prices};
  TimedState result;
  for (const auto& block : sketch.kinds) {
    TimedState::Kind made;
    priced.occupy(made.each, block.each_microbatch);
    priced.occupy(made.once, block.last_microbatch);
    priced.occupy(made.published, block.publish);
    made.reduced_each = priced.along_data(block.each_microbatch);
    made.reduced = made.reduced_each + priced.along_data(block.last_microbatch);
    made.published_along_data = priced.along_data(block.publish);
    made.update = block.update;
    made.held = block.held;
    made.gradients = block.gradients;
    result.kinds.push_back(made);
  }
  return result;
}

TimedState least(const TimedState& one, const TimedState& other) {
  TimedState result = one;
  for (std::size_t kind = 0; kind < result.kinds.size(); ++kind) {
    auto& made = result.kinds[kind];
    const auto& more = other.kinds[kind];
    made.each = least(made.each, more.each);
    made.once = least(made.once, more.once);
    made.published = least(made.published, more.published);
    made.reduced_each = std::min(made.reduced_each, more.reduced_each);
    made.reduced = std::min(made.reduced, more.reduced);
    made.published_along_data = std::min(made.published_along_data, more.published_along_data);
    made.update = std::min(made.update, more.update);
    made.held = std::min(made.held, more.held);
    made.gradients = std::min(made.gradients, more.gradients);
  }
  return result;
}

}  // namespace lockstep
