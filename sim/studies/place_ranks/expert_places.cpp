#include "sim/studies/place_ranks/expert_places.hpp"

#include <algorithm>
#include <numeric>

#include "workloads/step/expert_load.hpp"

namespace lockstep::place_ranks {
namespace {

using Ranks = std::vector<std::vector<int>>;  ///< the experts of each

double load_of(const std::vector<int>& experts, const std::vector<double>& tokens) {
  double sum = 0;
  for (const int expert : experts) sum += tokens[static_cast<std::size_t>(expert)];
  return sum;
}

std::vector<int> largest_first(std::vector<int> experts, const std::vector<double>& tokens) {
  std::stable_sort(experts.begin(), experts.end(), [&](int a, int b) {
    return tokens[static_cast<std::size_t>(a)] > tokens[static_cast<std::size_t>(b)];
  });
  return experts;
}

/// No rank is below the average. Of the k n + 1 largest experts some of n ranks has k + 1, and what else it has is no
/// less than the smallest.
double least_load(const std::vector<int>& sorted, std::size_t ranks, const std::vector<double>& tokens) {
  const auto of = [&](std::size_t place) { return tokens[static_cast<std::size_t>(sorted[place])]; };
  const auto each = sorted.size() / ranks;
  double bound = load_of(sorted, tokens) / static_cast<double>(ranks);
  for (std::size_t k = 0; k < each; ++k) {
    double sum = 0;
    for (std::size_t i = 0; i <= k; ++i) sum += of(k * ranks - i);  // the smallest k + 1 of the largest
    for (std::size_t i = 0; i + k + 1 < each; ++i) sum += of(sorted.size() - 1 - i);
    bound = std::max(bound, sum);
  }
  return bound;
}

Ranks largest_to_emptiest(const std::vector<int>& sorted, std::size_t ranks, const std::vector<double>& tokens) {
  Ranks placed(ranks);
  std::vector<double> loads(ranks, 0);
  for (const int expert : sorted) {
    std::size_t emptiest = ranks;
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      if (placed[rank].size() == sorted.size() / ranks) continue;
      if (emptiest == ranks || loads[rank] < loads[emptiest]) emptiest = rank;
    }
    placed[emptiest].push_back(expert);
    loads[emptiest] += tokens[static_cast<std::size_t>(expert)];
  }
  return placed;
}

/// Exchanges one expert of the fullest rank with one of another rank, so that the larger of the two loads falls most;
/// whether there is such an exchange.
bool exchange(Ranks& placed, const std::vector<double>& tokens) {
  std::vector<double> loads;
  for (const auto& experts : placed) loads.push_back(load_of(experts, tokens));
  const auto fullest = static_cast<std::size_t>(std::max_element(loads.begin(), loads.end()) - loads.begin());
  double best = loads[fullest] * (1 - 1e-12);
  int* mine = nullptr;
  int* theirs = nullptr;
  for (std::size_t rank = 0; rank < placed.size(); ++rank) {
    if (rank == fullest) continue;
    for (int& own : placed[fullest]) {
      for (int& other : placed[rank]) {
        const double moved = tokens[static_cast<std::size_t>(own)] - tokens[static_cast<std::size_t>(other)];
        const double larger = std::max(loads[fullest] - moved, loads[rank] + moved);
        if (larger >= best) continue;
        best = larger;
        mine = &own;
        theirs = &other;
      }
    }
  }
  if (mine == nullptr) return false;
  std::swap(*mine, *theirs);
  return true;
}

}  // namespace

PlacedExperts place_experts(const std::vector<double>& tokens, std::int64_t ranks, std::int64_t groups) {
  // Ranks that hold several groups whole have nothing to exchange but these: then groups are as large as ranks are.
  const auto parts = static_cast<std::size_t>(std::min(groups, ranks));
  const auto of_part = tokens.size() / parts, ranks_of_part = static_cast<std::size_t>(ranks) / parts;
  PlacedExperts experts;
  double bound = 0;
  for (std::size_t part = 0; part < parts; ++part) {
    std::vector<int> members(of_part);
    std::iota(members.begin(), members.end(), static_cast<int>(part * of_part));
    const auto sorted = largest_first(members, tokens);
    bound = std::max(bound, least_load(sorted, ranks_of_part, tokens));
    auto placed = largest_to_emptiest(sorted, ranks_of_part, tokens);
    while (exchange(placed, tokens)) {
    }
    for (auto& rank : placed) {
      std::sort(rank.begin(), rank.end());
      experts.order.insert(experts.order.end(), rank.begin(), rank.end());
    }
  }
  std::vector<double> moved;
  for (const int expert : experts.order) moved.push_back(tokens[static_cast<std::size_t>(expert)]);
  const double all = std::accumulate(tokens.begin(), tokens.end(), 0.0);
  experts.given = workloads::fullest_of(tokens, ranks);
  experts.placed = workloads::fullest_of(moved, ranks);
  experts.bound = all > 0 ? bound * static_cast<double>(ranks) / all : 1;
  if (experts.placed < experts.given) return experts;
  std::iota(experts.order.begin(), experts.order.end(), 0);
  experts.placed = experts.given;
  return experts;
}

}  // namespace lockstep::place_ranks
