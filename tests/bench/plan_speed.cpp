// How fast plans are ruled out and simulated: plan_speed SCENARIO [plans to simulate]
// Lower bounds of every plan of every third set of axis sizes, in one process; then plans spread over the space, simulated one
// after the other in processes of their own on all processors.
#include <spdlog/logger.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>

#include "sim/isolated.hpp"
#include "sim/planning/plan_tree.hpp"
#include "sim/planning/plan_search.hpp"

namespace {

using namespace lockstep;
using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

void bound(const PlanSpace& space) {
  auto start = Clock::now();
  PlanTree tree(space);
  const auto roots = tree.roots().branches;
  std::printf("%zu sets of axis sizes: %.2f s\n", roots.size(), seconds_since(start));
  start = Clock::now();
  std::int64_t plans = 0;
  const auto before = tree.floors();
  for (std::size_t i = 0; i < roots.size(); i += 3) {
    for (const auto& step : tree.below(roots[i]).branches) plans += std::ssize(tree.below(step).branches);
  }
  const double spent = seconds_since(start);
  std::printf("%lld bounds, %lld plans that fit: %.2f s, %.0f bounds/s\n", static_cast<long long>(tree.floors() - before), static_cast<long long>(plans), spent,
              static_cast<double>(tree.floors() - before) / spent);
}

void simulate_some(const PlanSpace& space, std::size_t count) {
  std::vector<PlanChoice> plans;
  for (std::size_t i = 0; i < count; ++i) {
    const auto all = space.plans_of(space.nodes()[i * space.nodes().size() / count]);
    plans.push_back(all[i * 7919 % all.size()]);
  }
  spdlog::logger silent("bench");
  const auto start = Clock::now();
  in_children(
      plans.size(), static_cast<int>(std::max(1U, std::thread::hardware_concurrency())),
      [&](std::size_t index) { return std::to_string(simulated_figures(space, plans[index], EngineKind::simgrid, silent).step_s); },
      [](std::size_t, Child& child) { (void)child.answer(); });
  std::printf("%zu plans simulated: %.2f s, %.1f plans/s\n", count, seconds_since(start), static_cast<double>(count) / seconds_since(start));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: plan_speed SCENARIO [plans to simulate]\n");
    return 2;
  }
  try {
    const auto start = Clock::now();
    const PlanSpace space(load_scenario(argv[1]));
    std::printf("space of %lld plans: %.2f s\n", static_cast<long long>(space.size()), seconds_since(start));
    std::fflush(stdout);
    bound(space);
    std::fflush(stdout);
    simulate_some(space, argc > 2 ? std::strtoul(argv[2], nullptr, 10) : 100);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
  return 0;
}
