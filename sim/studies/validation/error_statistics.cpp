#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "sim/studies/validation/validate.hpp"

namespace lockstep::validation {
namespace {

/// Ranks from 1; equal values share the mean of theirs.
std::vector<double> ranks_of(const std::vector<double>& values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return values[a] < values[b]; });
  std::vector<double> ranks(values.size());
  for (std::size_t first = 0, end = 0; first < order.size(); first = end) {
    for (end = first; end < order.size() && values[order[end]] == values[order[first]];) ++end;
    for (auto i = first; i < end; ++i) ranks[order[i]] = static_cast<double>(first + end + 1) / 2;
  }
  return ranks;
}

Family family_of(const std::string& table, const std::string& name, const std::vector<const ValidatedRun*>& runs) {
  Family family{table, name, 0, 0, 0, {}, {}, {}};
  std::vector<double> errors, memory, measured, predicted;
  for (const auto* run : runs) {
    if (!run->run.skipped_because.empty()) ++family.skipped;
    if (run->capacity_bytes > 0) ++family.ran;
    if (run->refused()) ++family.refused;
    if (run->memory_counts()) memory.push_back(run->memory_error());
    if (!run->counts()) continue;
    errors.push_back(run->error());
    measured.push_back(run->measured_s);
    predicted.push_back(run->predicted_s);
  }
  family.time = statistics_of(std::move(errors));
  family.memory = statistics_of(std::move(memory));
  family.spearman = spearman(measured, predicted);
  return family;
}

}  // namespace

ErrorStatistics statistics_of(std::vector<double> errors) {
  ErrorStatistics made;
  made.rows = errors.size();
  if (errors.empty()) return made;
  const auto count = static_cast<double>(errors.size());
  made.bias = std::accumulate(errors.begin(), errors.end(), 0.0) / count;
  for (auto& error : errors) error = std::abs(error);
  std::sort(errors.begin(), errors.end());
  made.mean_abs = std::accumulate(errors.begin(), errors.end(), 0.0) / count;
  made.median_abs = (errors[(errors.size() - 1) / 2] + errors[errors.size() / 2]) / 2;
  made.max_abs = errors.back();
  return made;
}

std::optional<double> spearman(const std::vector<double>& a, const std::vector<double>& b) {
  if (a.size() < 3) return std::nullopt;
  const auto x = ranks_of(a), y = ranks_of(b);
  const double mean = static_cast<double>(a.size() + 1) / 2;
  double xy = 0, xx = 0, yy = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    xy += (x[i] - mean) * (y[i] - mean);
    xx += (x[i] - mean) * (x[i] - mean);
    yy += (y[i] - mean) * (y[i] - mean);
  }
  if (xx == 0 || yy == 0) return std::nullopt;
  return xy / std::sqrt(xx * yy);
}

std::vector<Family> families_of(const std::vector<ValidatedRun>& runs) {
  std::vector<Family> families;
  for (std::size_t first = 0; first < runs.size();) {
    const auto& table = runs[first].run.table;
    std::vector<const ValidatedRun*> all;
    std::vector<std::pair<std::string, std::vector<const ValidatedRun*>>> by_family;
    std::map<std::string, std::size_t> places;
    for (; first < runs.size() && runs[first].run.table == table; ++first) {
      all.push_back(&runs[first]);
      const auto [at, is_new] = places.emplace(runs[first].run.family, by_family.size());
      if (is_new) by_family.emplace_back(runs[first].run.family, std::vector<const ValidatedRun*>{});
      by_family[at->second].second.push_back(&runs[first]);
    }
    std::vector<Family> parts;
    double sum = 0, rows = 0;
    for (const auto& [name, members] : by_family) {
      parts.push_back(family_of(table, name, members));
      if (!parts.back().spearman) continue;
      const auto weight = static_cast<double>(parts.back().time.rows);
      sum += weight * *parts.back().spearman;
      rows += weight;
    }
    families.push_back(family_of(table, "", all));
    families.back().spearman = rows > 0 ? std::optional(sum / rows) : std::nullopt;
    families.insert(families.end(), parts.begin(), parts.end());
  }
  return families;
}

}  // namespace lockstep::validation
