#include <algorithm>
#include <cstdint>
#include <numeric>
#include <set>
#include <utility>

#include "sim/core/cheaper.hpp"
#include "topologies/placement/placement_private.hpp"

namespace lockstep::topologies {
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

/// Every way to lay the open axes, in order, on what the fixed ones leave. There is always one: sizes that multiply to
/// what is left can be laid prime by prime.
class PlacementSearch {
 public:
  PlacementSearch(const Cluster& cluster, Requested requested, std::function<void(const std::vector<MeshAxis>&)> visit)
      : axes_(std::move(requested.axes)),
        open_(std::move(requested.open)),
        remainder_(requested.remainder),
        visit_(std::move(visit)) {
    // Inside a unit first, then outwards: of equal costs the first is kept.
    const auto& physical = cluster.axes();
    for (const AxisId axis : physical.ids()) {
      if (physical[axis].kind != PhysicalAxis::Kind::scale_out) order_.push_back(axis);
    }
    for (AxisId axis = physical.count(); axis-- > 0;) {
      if (physical[axis].kind == PhysicalAxis::Kind::scale_out) order_.push_back(axis);
    }
  }

  /// Lays open axis number `next` and all after it.
  void lay(std::size_t next, const FreePositions& free) {
    if (next == open_.size()) return consider(free);
    lay_part(next, 0, open_[next].size, free);
  }

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
    const AxisId axis = order_[at];
    // Outer axes lead a mesh axis, so that its neighbouring ranks stay inside a unit.
    const bool leads = !factors.empty() && factors.front().axis > axis;
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
    visit_(axes_);
  }

  std::vector<AxisId> order_;  ///< of the physical axes
  std::vector<MeshAxis> axes_;
  std::vector<OpenAxis> open_;
  std::optional<std::size_t> remainder_;
  std::function<void(const std::vector<MeshAxis>&)> visit_;
};

/// Visits every placement and says what keeps it from that.
std::optional<PlacementError> for_each_placement(const Cluster& cluster, const std::vector<AxisRequest>& requests,
                                                 const std::function<void(const std::vector<MeshAxis>&)>& visit,
                                                 int& tried) {
  tried = 0;
  if (auto problem = problem_of_requests(requests)) return problem;
  FreePositions free(cluster);
  Requested sorted;
  if (auto problem = sort_requests(cluster, requests, free, sorted)) return problem;
  if (auto problem = problem_of_product(cluster, requests, free, sorted)) return problem;

  PlacementSearch search(cluster, sorted, visit);
  search.lay(0, free);
  tried = search.tried;
  if (tried <= most_candidates) return std::nullopt;
  return PlacementError{sorted.axes[sorted.open.front().index].name,
                        "more than " + std::to_string(most_candidates) + " placements are possible",
                        "a place for some of the axes"};
}

bool alike(const PhysicalAxis& a, const PhysicalAxis& b) {
  return a.kind == b.kind && a.size == b.size && a.wraps == b.wraps && a.link == b.link &&
         a.hop_latency == b.hop_latency && a.twist == b.twist;
}

using Permutation = Indexed<AxisId, AxisId>;

/// Permutations of the physical axes that exchange only like ones; of anything but a single torus, none but the
/// identity.
std::vector<Permutation> symmetries(const Cluster& cluster) {
  const auto& axes = cluster.axes();
  Permutation permutation(axes.size());
  std::iota(permutation.begin(), permutation.end(), 0);
  const bool torus =
      std::all_of(axes.begin(), axes.end(), [](const auto& axis) { return axis.kind == PhysicalAxis::Kind::torus; });
  if (!torus) return {permutation};
  std::vector<Permutation> result;
  do {
    bool keeps = true;
    for (const AxisId axis : axes.ids()) keeps = keeps && alike(axes[axis], axes[permutation[axis]]);
    if (keeps) result.push_back(permutation);
  } while (std::next_permutation(permutation.begin(), permutation.end()));
  return result;
}

/// The part of a placement that decides about its groups, axis by axis.
std::vector<std::vector<std::pair<int, int>>> footprint(const std::vector<MeshAxis>& axes,
                                                        const Permutation& permutation) {
  std::vector<std::vector<std::pair<int, int>>> result;
  for (const auto& axis : axes) {
    auto& parts = result.emplace_back();
    for (const auto& factor : axis.factors) parts.emplace_back(permutation[factor.axis], factor.size);
    std::sort(parts.begin(), parts.end());
  }
  return result;
}

}  // namespace

std::variant<std::vector<MeshAxis>, PlacementError> place_by_cost(const Cluster& cluster,
                                                                  const std::vector<AxisRequest>& requests,
                                                                  const std::function<Seconds(const Mesh&)>& cost,
                                                                  int& tried) {
  std::vector<MeshAxis> best;
  Seconds least(0);
  const auto consider = [&](const std::vector<MeshAxis>& axes) {
    const Seconds candidate_cost = cost(Mesh(cluster, axes, ""));
    if (!best.empty() && !is_cheaper(candidate_cost, least)) return;
    best = axes;
    least = candidate_cost;
  };
  if (auto problem = for_each_placement(cluster, requests, consider, tried)) return *problem;
  return best;
}

std::variant<std::vector<std::vector<MeshAxis>>, PlacementError> every_placement(
    const Cluster& cluster, const std::vector<AxisRequest>& requests) {
  const auto exchanges = symmetries(cluster);
  std::set<std::vector<std::vector<std::pair<int, int>>>> seen;
  std::vector<std::vector<MeshAxis>> placements;
  int tried = 0;
  const auto keep = [&](const std::vector<MeshAxis>& axes) {
    if (seen.contains(footprint(axes, exchanges.front()))) return;
    for (const auto& exchange : exchanges) seen.insert(footprint(axes, exchange));
    placements.push_back(axes);
  };
  if (auto problem = for_each_placement(cluster, requests, keep, tried)) return *problem;
  return placements;
}

std::vector<std::string> place_text(const Cluster& cluster, const MeshAxis& axis) {
  std::vector<std::string> parts;
  for (const auto& factor : axis.factors) {
    parts.push_back(cluster.axes()[factor.axis].name + "/" + std::to_string(factor.size));
  }
  return parts;
}

}  // namespace lockstep::topologies
