// How fast plans are ruled out and simulated: plan_speed SCENARIO [plans to simulate [best plans to search for]]
// Lower bounds of all plans, on all processors; then the most promising plans, simulated in processes of their own on
// all processors, with how near their bounds come; then a search.
#include <spdlog/logger.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <queue>
#include <string>
#include <thread>

#include "sim/studies/isolated.hpp"
#include "sim/studies/planning/plan_forest.hpp"
#include "sim/studies/planning/plan_search.hpp"

namespace {

using namespace lockstep;
using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

/// Bounds every plan: no branch is left out but for memory.
void bound(const planning::PlanSpace& space) {
  const auto start = Clock::now();
  planning::PlanForest forest(space, static_cast<int>(std::max(1U, std::thread::hardware_concurrency())));
  std::vector<planning::PlanBranch> branches = forest.roots();
  std::printf("%zu sets of axis sizes: %.2f s\n", branches.size(), seconds_since(start));
  std::int64_t fitting = 0;
  while (!branches.empty()) {
    std::vector<planning::PlanBranch> next;
    for (const auto& below : forest.below(branches)) {
      for (const auto& branch : below.branches) {
        // Bounded alone, or with those that have the same bound.
        if (branch.level == planning::PlanBranch::Level::cost_class) {
          fitting += branch.plans;
        } else {
          next.push_back(branch);
        }
      }
    }
    branches = std::move(next);
  }
  const double spent = seconds_since(start);
  std::printf("%lld bounds, %lld plans that may fit: %.2f s, %.0f plans/s\n", static_cast<long long>(forest.bounds()),
              static_cast<long long>(fitting), spent, static_cast<double>(space.size()) / spent);
}

void print_spread(const char* what, std::vector<double>& ratios) {
  std::sort(ratios.begin(), ratios.end());
  const auto at = [&](double part) {
    return ratios[static_cast<std::size_t>(part * static_cast<double>(ratios.size() - 1))];
  };
  std::printf("%s: %.4f %.4f %.4f %.4f %.4f (least, 10 %%, median, 90 %%, most)\n", what, at(0), at(0.1), at(0.5),
              at(0.9), at(1));
}

/// The most promising plans, best first: bounds against their simulation.
void simulate_some(const planning::PlanSpace& space, std::size_t count) {
  planning::PlanTree tree(space);
  const auto later = [](const planning::PlanBranch& a, const planning::PlanBranch& b) { return goes_first(b, a); };
  auto start = Clock::now();
  std::vector<planning::PlanBranch> roots;
  for (std::int32_t node = 0; node < std::ssize(space.nodes()); ++node) roots.push_back(tree.root(node));
  std::priority_queue queue(later, std::move(roots));
  std::vector<planning::PlanBranch> plans;
  while (plans.size() < count && !queue.empty()) {
    const auto branch = queue.top();
    queue.pop();
    if (branch.level == planning::PlanBranch::Level::plan) plans.push_back(branch);
    for (const auto& below : tree.below(branch).branches) queue.push(below);
  }
  std::printf("the first %zu plans, best first: %lld bounds, %.2f s\n", plans.size(),
              static_cast<long long>(tree.bounds()), seconds_since(start));
  std::fflush(stdout);

  std::vector<std::int64_t> bytes;
  for (const auto& plan : plans) bytes.push_back(tree.bounds_of(plan.choice).back().bytes);
  std::fflush(stdout);
  spdlog::logger silent("bench");
  std::vector<double> times, memories;
  std::size_t too_large = 0;
  start = Clock::now();
  studies::in_children(
      plans.size(), static_cast<int>(std::max(1U, std::thread::hardware_concurrency())),
      [&](std::size_t index) {
        const auto scenario = space.scenario(space.node_of(plans[index].choice), plans[index].choice);
        const auto figures = planning::simulated_figures(scenario, engine::EngineKind::simgrid, silent);
        return std::string(reinterpret_cast<const char*>(&figures), sizeof figures);
      },
      [&](std::size_t index, const studies::Answer& answer) {
        planning::PlanFigures figures;
        std::memcpy(&figures, answer.text().data(), sizeof figures);
        times.push_back(plans[index].bound_s / figures.step_s);
        memories.push_back(static_cast<double>(bytes[index]) / static_cast<double>(figures.peak_bytes));
        if (figures.peak_bytes > space.memory().value()) ++too_large;
        if (std::getenv("PLANS") != nullptr) {
          std::string which;
          for (const auto& key : space.keys(space.node_of(plans[index].choice), plans[index].choice))
            which += key.path + "=" + key.value + " ";
          std::printf("%.4f %.4f of %.1f GB %s\n", times.back(), memories.back(),
                      static_cast<double>(figures.peak_bytes) / 1e9, which.c_str());
          std::fflush(stdout);
        }
      });
  const double spent = seconds_since(start);
  std::printf("simulated: %.2f s, %.1f plans/s; %zu do not fit\n", spent, static_cast<double>(plans.size()) / spent,
              too_large);
  print_spread("bound / step time  ", times);
  print_spread("bound / peak memory", memories);
}

/// The search itself, with its proof.
void search(const planning::PlanSpace& space, std::size_t top) {
  spdlog::logger silent("bench");
  const auto found = search_plans(
      space,
      {.top = top,
       .jobs = static_cast<int>(std::max(1U, std::thread::hardware_concurrency())),
       .engine = engine::EngineKind::simgrid,
       .progress = [](std::string_view stage,
                      double) { std::fprintf(stderr, "\r%.*s", static_cast<int>(stage.size()), stage.data()); }},
      silent);
  const auto& proof = found.proof;
  std::printf(
      "search for %zu: %.2f s, of them %.2f s for %lld bounds; %lld plans: %lld pruned by bound, %lld by memory, %lld "
      "simulated, of them %lld do not fit\n",
      top, found.wall_s, found.bounds_s, static_cast<long long>(found.bounds), static_cast<long long>(proof.space),
      static_cast<long long>(proof.pruned_by_bound), static_cast<long long>(proof.pruned_by_memory),
      static_cast<long long>(proof.simulated), static_cast<long long>(proof.did_not_fit));
  for (const auto& plan : found.best) std::printf("  %.4f s, bound %.4f s\n", plan.figures.step_s, plan.bound_s);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: plan_speed SCENARIO [plans to simulate [best plans to search for]]\n");
    return 2;
  }
  try {
    const auto start = Clock::now();
    const planning::PlanSpace space(scenario::load_scenario(argv[1]));
    std::printf("space of %lld plans: %.2f s\n", static_cast<long long>(space.size()), seconds_since(start));
    std::fflush(stdout);
    if (std::getenv("NO_BOUND") == nullptr) bound(space);
    std::fflush(stdout);
    const auto number = [&](int which) { return argc > which ? std::strtoul(argv[which], nullptr, 10) : 0; };
    if (number(2) > 0) simulate_some(space, number(2));
    std::fflush(stdout);
    if (number(3) > 0) search(space, number(3));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
  return 0;
}
