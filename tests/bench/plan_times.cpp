// How fast plans are timed exactly, one after the other in one process: plan_times SCENARIO [plans [best | seed]]
// The plans of the lowest bounds, as a search takes them, or plans drawn evenly from the whole space, whether or not
// they would fit; then where the time goes, by kind of plan.
#include <spdlog/logger.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <queue>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "sim/studies/planning/plan_forest.hpp"
#include "sim/studies/planning/plan_simulator.hpp"

namespace {

using namespace lockstep;
using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

/// Evenly over all plans: nodes by how many they hold.
std::vector<planning::PlanChoice> drawn(const planning::PlanSpace& space, std::size_t count, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<std::int64_t> places;
  for (std::size_t i = 0; i < count; ++i)
    places.push_back(static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(space.size())));
  std::sort(places.begin(), places.end());
  std::vector<planning::PlanChoice> plans;
  std::int64_t before = 0;
  auto next = places.begin();
  for (const auto& node : space.nodes()) {
    if (next == places.end()) break;
    if (*next >= before + node.plans) {
      before += node.plans;
      continue;
    }
    const auto all = space.plans_of(node);
    for (; next != places.end() && *next < before + node.plans; ++next)
      plans.push_back(all[static_cast<std::size_t>(*next - before)]);
    before += node.plans;
  }
  return plans;
}

/// Those that a search would time first.
std::vector<planning::PlanChoice> most_promising(const planning::PlanSpace& space, std::size_t count) {
  planning::PlanForest forest(space, 1);
  const auto later = [](const planning::PlanBranch& a, const planning::PlanBranch& b) { return goes_first(b, a); };
  std::priority_queue queue(later, forest.roots());
  std::vector<planning::PlanChoice> plans;
  while (plans.size() < count && !queue.empty()) {
    const auto branch = queue.top();
    queue.pop();
    if (branch.level == planning::PlanBranch::Level::plan) plans.push_back(branch.choice);
    const auto made = forest.below({&branch, 1});
    for (const auto& below : made.front().branches) queue.push(below);
  }
  return plans;
}

std::string kind_of(const planning::PlanSpace& space, const planning::PlanChoice& plan) {
  const auto& degrees = plan.degrees;
  std::string kind = degrees.tensor * degrees.context * degrees.expert > 1 ? "tensor " : "       ";
  kind += plan.zero == 3 ? "zero 3 " : "       ";
  if (degrees.pipeline == 1) return kind + "one stage";
  const auto& schedule = space.schedule(plan.schedule);
  return kind + (schedule.overlaps ? "overlapped" : schedule.splits_backward ? "split" : "pipeline");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: plan_times SCENARIO [plans [best | seed]]\n");
    return 2;
  }
  try {
    const planning::PlanSpace space(scenario::load_scenario(argv[1]));
    const auto count = argc > 2 ? std::strtoul(argv[2], nullptr, 10) : 100;
    const std::string_view which = argc > 3 ? argv[3] : "best";
    const auto plans =
        which == "best" ? most_promising(space, count) : drawn(space, count, std::strtoull(argv[3], nullptr, 10));
    spdlog::logger silent("bench");
    planning::PlanSimulator simulator(space);
    struct Spent {
      std::size_t plans = 0;
      double seconds = 0, most = 0;
    };
    std::map<std::string, Spent> by_kind;
    std::vector<double> times;
    const auto start = Clock::now();
    for (const auto& plan : plans) {
      const auto began = Clock::now();
      const double step_s = simulator.step_s(plan, engine::EngineKind::simgrid, silent);
      times.push_back(seconds_since(began));
      auto& spent = by_kind[kind_of(space, plan)];
      ++spent.plans;
      spent.seconds += times.back();
      spent.most = std::max(spent.most, times.back());
      if (std::getenv("PLANS") == nullptr) continue;
      std::printf("%8.2f ms, step %.9g s:", times.back() * 1e3, step_s);
      for (const auto& key : space.keys(space.node_of(plan), plan))
        std::printf(" %s=%s", key.path.c_str(), key.value.c_str());
      std::printf("\n");
    }
    const double spent = seconds_since(start);
    std::printf("%zu of %lld plans: %.2f s, %.1f plans/s in one process\n", plans.size(),
                static_cast<long long>(space.size()), spent, static_cast<double>(plans.size()) / spent);
    std::sort(times.begin(), times.end());
    for (const double part : {0.1, 0.5, 0.9, 0.99})
      std::printf("%2.0f %% within %.2f ms\n", part * 100,
                  times[static_cast<std::size_t>(part * static_cast<double>(times.size() - 1))] * 1e3);
    for (const auto& [kind, of] : by_kind) {
      std::printf("%-26s %5zu plans, %8.2f ms each, at most %8.2f ms\n", kind.c_str(), of.plans,
                  of.seconds / static_cast<double>(of.plans) * 1e3, of.most * 1e3);
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
  return 0;
}
