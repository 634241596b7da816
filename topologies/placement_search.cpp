#include <algorithm>
#include <cstdint>
#include <numeric>
#include <utility>

#include "topologies/placement_private.hpp"

namespace lockstep {
namespace {

constexpr int most_candidates = 10'000;

/// An axis to be laid by the search.
struct OpenAxis {
  std::size_t index;  ///< among the requests
  int size;
};

/// The requests sorted by who decides where they lie.
struct Requested {
  std::vector<MeshAxis> axes;            ///< in the order of the requests; open ones still without factors
  std::vector<OpenAxis> open;            ///< the search decides
  std::optional<std::size_t> remainder;  ///< takes what is left
};

std::optional<PlacementError> sort_requests(const Cluster& cluster, const std::vector<AxisRequest>& requests,
                                            FreePositions& free, Requested& sorted) {
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const AxisRequest& request = requests[i];
    sorted.axes.push_back({request.name, {}});
    if (takes_rest(request) || (!request.place && request.size == 0)) {
      if (sorted.remainder) {
        return PlacementError{request.name,
                              "it and `" + sorted.axes[*sorted.remainder].name + "` would both take what is left",
                              "a size for one of them"};
      }
      sorted.remainder = i;
    } else if (!request.place) {
      sorted.open.push_back({i, request.size});
    } else {
      auto placed = place_parts(cluster, request, free);
      if (auto* error = std::get_if<PlacementError>(&placed)) return *error;
      sorted.axes.back() = std::get<MeshAxis>(std::move(placed));
      if (auto problem = problem_of_size(request, sorted.axes.back())) return problem;
    }
  }
  return std::nullopt;
}

/// The sizes without a place must multiply to what is left, or divide it if an axis takes the remainder.
std::optional<PlacementError> problem_of_product(const Cluster& cluster, const std::vector<AxisRequest>& requests,
                                                 const FreePositions& free, const Requested& sorted) {
  if (sorted.open.empty() && !sorted.remainder) return problem_of_leftover(cluster, free);
  constexpr std::int64_t too_many = std::int64_t{1} << 31;  // no cluster has as many; keeps the product in range
  std::int64_t wanted = 1;
  for (const OpenAxis& axis : sorted.open) wanted = std::min(wanted * axis.size, too_many);
  const int of_remainder = sorted.remainder ? requests[*sorted.remainder].size : 0;
  if (of_remainder > 0) wanted = std::min(wanted * of_remainder, too_many);

  const int left = free.left_in_all();
  const bool exact = !sorted.remainder || of_remainder > 0;
  if (exact ? wanted == left : left % wanted == 0) return std::nullopt;
  const std::size_t blamed = sorted.open.empty() ? *sorted.remainder : sorted.open.back().index;
  return PlacementError{requests[blamed].name,
                        "the axes without a place have " + (wanted == too_many ? "too many" : std::to_string(wanted)) +
                            " positions together but " + std::to_string(left) + " chips are left for them",
                        (exact ? "sizes that multiply to " : "sizes whose product divides ") + std::to_string(left)};
}

/// Tries every way to lay the open axes, in order, on what the fixed ones leave.
class PlacementSearch {
 public:
  PlacementSearch(const Cluster& cluster, Requested requested, const std::function<Seconds(const Mesh&)>& cost)
      : cluster_(cluster),
        axes_(std::move(requested.axes)),
        open_(std::move(requested.open)),
        remainder_(requested.remainder),
        cost_(cost) {
    // Inside a unit first, then outwards: of equal costs the first is kept.
    const auto& physical = cluster.axes();
    for (std::size_t axis = 0; axis < physical.size(); ++axis) {
      if (physical[axis].kind != PhysicalAxis::Kind::scale_out) order_.push_back(axis);
    }
    for (std::size_t axis = physical.size(); axis-- > 0;) {
      if (physical[axis].kind == PhysicalAxis::Kind::scale_out) order_.push_back(axis);
    }
  }

  /// Lays open axis number `next` and all after it.
  void lay(std::size_t next, const FreePositions& free) {
    if (next == open_.size()) return consider(free);
    lay_part(next, 0, open_[next].size, free);
  }

  /// Never empty in the end: sizes that multiply to what is left can be laid prime by prime.
  std::vector<MeshAxis> best;
  int tried = 0;

 private:
  /// Splits `size` positions over the physical axes from place `at` of the order on, large parts of early axes first.
  void lay_part(std::size_t next, std::size_t at, int size, const FreePositions& free) {
    if (tried > most_candidates) return;
    if (at == order_.size()) {
      if (size == 1) lay(next + 1, free);
      return;
    }
    std::vector<Factor>& factors = axes_[open_[next].index].factors;
    const std::size_t axis = order_[at];
    // Outer axes lead a mesh axis, so that its neighbouring ranks stay inside a unit.
    const bool leads = !factors.empty() && static_cast<std::size_t>(factors.front().axis) > axis;
    const int largest = std::gcd(size, free.left(axis));
    for (int part = largest; part >= 1; --part) {
      if (largest % part != 0) continue;
      FreePositions still_free = free;
      if (part > 1) factors.insert(leads ? factors.begin() : factors.end(), still_free.take(axis, part));
      lay_part(next, at + 1, size / part, still_free);
      if (part > 1) factors.erase(leads ? factors.begin() : factors.end() - 1);
    }
  }

  void consider(FreePositions free) {
    if (++tried > most_candidates) return;
    if (remainder_) axes_[*remainder_].factors = free.take_all();
    const Seconds cost = cost_(Mesh(cluster_, axes_, ""));
    if (tried > 1 && !(cost < least_cost_)) return;
    best = axes_;
    least_cost_ = cost;
  }

  const Cluster& cluster_;
  std::vector<std::size_t> order_;  ///< of the physical axes
  std::vector<MeshAxis> axes_;
  std::vector<OpenAxis> open_;
  std::optional<std::size_t> remainder_;
  const std::function<Seconds(const Mesh&)>& cost_;
  Seconds least_cost_;
};

}  // namespace

std::variant<std::vector<MeshAxis>, PlacementError> place_by_cost(const Cluster& cluster,
                                                                  const std::vector<AxisRequest>& requests,
                                                                  const std::function<Seconds(const Mesh&)>& cost,
                                                                  int& tried) {
  tried = 0;
  if (auto problem = problem_of_requests(requests)) return *problem;
  FreePositions free(cluster);
  Requested sorted;
  if (auto problem = sort_requests(cluster, requests, free, sorted)) return *problem;
  if (auto problem = problem_of_product(cluster, requests, free, sorted)) return *problem;

  PlacementSearch search(cluster, sorted, cost);
  search.lay(0, free);
  tried = search.tried;
  if (tried > most_candidates) {
    return PlacementError{sorted.axes[sorted.open.front().index].name,
                          "more than " + std::to_string(most_candidates) + " placements are possible",
                          "a place for some of the axes"};
  }
  return std::move(search.best);
}

}  // namespace lockstep
