#include "sim/studies/planning/timed_blocks.hpp"

#include <algorithm>

namespace lockstep::planning {
namespace {

/// The collectives of a summary with their costs.
struct Costed {
  const std::vector<PlanCollective>& collectives;
  const CollectiveCosts& costs;

  void occupy(BusyStreams& streams, std::int32_t collective) const {
    const auto which = position_of(collective);
    for (std::size_t axis = 0; axis < plan_axes.size(); ++axis) {
      if ((collectives[which].axes >> axis & 1U) != 0) streams[axis] += costs.alone[which];
    }
    if (!costs.of_network.empty()) streams.back() += costs.of_network[which];
  }
  void occupy(BusyStreams& streams, const std::vector<std::int32_t>& chain) const {
    for (const auto collective : chain) occupy(streams, collective);
  }
  [[nodiscard]] double along_data(const std::vector<std::int32_t>& chain) const {
    double time = 0;
    for (const auto collective : chain) {
      if ((collectives[position_of(collective)].axes >> data_axis & 1U) != 0)
        time += costs.alone[position_of(collective)];
    }
    return time;
  }
};

PassStreams streams_of(const PassSummary& pass, const Costed& costed) {
  PassStreams made;
  made.computes = pass.computes;
  for (const auto& step : pass.steps) {
    if (step.collective < 0) continue;
    switch (step.when) {
      case PassSummary::When::unknown: break;
      case PassSummary::When::first: costed.occupy(made.first, step.collective); break;
      case PassSummary::When::between: costed.occupy(made.between, step.collective); break;
      case PassSummary::When::last: costed.occupy(made.last, step.collective); break;
    }
  }
  return made;
}

}  // namespace

void add(BusyStreams& streams, const BusyStreams& more) {
  for (std::size_t axis = 0; axis < streams.size(); ++axis) streams[axis] += more[axis];
}

BusyStreams least(const BusyStreams& one, const BusyStreams& other) {
  BusyStreams result;
  std::transform(one.begin(), one.end(), other.begin(), result.begin(),
                 [](double a, double b) { return std::min(a, b); });
  return result;
}

BusyStreams PassStreams::all() const {
  auto streams = first;
  add(streams, between);
  add(streams, last);
  return streams;
}

PassStreams PassStreams::then(const PassStreams& next) const {
  if (!computes) return next;
  if (!next.computes) return *this;
  PassStreams made{first, between, next.last, true};
  add(made.between, last);
  add(made.between, next.first);
  add(made.between, next.between);
  return made;
}

void occupy(BusyStreams& streams, const PassSummary& pass, const CollectiveList& list, const CollectiveCosts& costs) {
  const Costed costed{list.collectives, costs};
  for (const auto& step : pass.steps) {
    if (step.collective >= 0) costed.occupy(streams, step.collective);
  }
}

TimedPasses timed(const PassesSummary& summary, const CollectiveCosts& costs) {
  const Costed costed{summary.collectives, costs};
  const auto timed = [&](const PassSummary& pass) {
    TimedPasses::Pass made{path_of(pass, costs.alone), {0, costed.along_data(pass.gathers)}, streams_of(pass, costed)};
    for (const auto& gather : pass.gathers)
      made.gather.first = &gather == &pass.gathers.front()
                              ? costs.alone[position_of(gather)]
                              : std::min(made.gather.first, costs.alone[position_of(gather)]);
    return made;
  };
  TimedPasses result;
  for (const auto& block : summary.kinds) {
    TimedPasses::Kind made{
        timed(block.forward), timed(block.backward), timed(block.input_gradient), timed(block.weight_gradient), {}};
    for (const auto* pass : {&block.forward, &block.backward}) {
      occupy(made.each, *pass, summary, costs);
      costed.occupy(made.each, pass->gathers);
    }
    result.kinds.push_back(made);
  }
  return result;
}

TimedState timed(const StateSummary& summary, const CollectiveCosts& costs) {
  const Costed costed{summary.collectives, costs};
  TimedState result;
  for (const auto& block : summary.kinds) {
    TimedState::Kind made;
    costed.occupy(made.each, block.each_microbatch);
    costed.occupy(made.once, block.last_microbatch);
    costed.occupy(made.published, block.publish);
    made.reduced_each = costed.along_data(block.each_microbatch);
    made.reduced = made.reduced_each + costed.along_data(block.last_microbatch);
    made.published_along_data = costed.along_data(block.publish);
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

}  // namespace lockstep::planning
