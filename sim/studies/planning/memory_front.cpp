#include "sim/studies/planning/memory_front.hpp"

namespace lockstep::planning {
namespace {

constexpr std::int64_t parts = 4;

MemoryPoint point_of(Bytes memory, const SearchResult& result, bool searched) {
  MemoryPoint point{memory, {}, result.proof, result.gap(), searched};
  if (!result.best.empty()) point.best = result.best.front();
  return point;
}

}  // namespace

std::vector<MemoryPoint> memory_front(const scenario::Scenario& scenario, Bytes memory, const SearchResult& found,
                                      SearchOptions options, spdlog::logger& log) {
  std::vector<MemoryPoint> points{point_of(memory, found, true)};
  options.top = 1;
  SearchResult last = found;
  for (std::int64_t part = parts - 1; part > 0 && points.back().best; --part) {
    if (options.interrupted && options.interrupted()) break;
    const Bytes less(memory.value() / parts * part);
    const bool fits = last.best.front().figures.peak_bytes <= less.value();
    if (!fits) {
      auto limited = scenario;
      limited.search.memory = less;
      last = search_plans(PlanSpace(limited), options, log);
    }
    points.push_back(point_of(less, last, !fits));
  }
  return points;
}

}  // namespace lockstep::planning
