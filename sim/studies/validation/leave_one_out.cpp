#include "sim/studies/validation/leave_one_out.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace lockstep::validation {
namespace {

struct Scales {
  double x = 0, y = 0;  ///< logarithms
};

using Rows = std::vector<const ValidatedRun*>;

double log_error(const ValidatedRun& run) { return std::log(run.predicted_s / run.measured_s); }

/// Normal equations of rows weighted by 1 / (rows of their table). A memory that nothing depends on keeps its scale: a
/// little is added to the diagonal, as if every table had a row that asks for none.
Scales fitted_to(const std::vector<const Rows*>& tables) {
  double xx = 1e-3, xy = 0, yy = 1e-3, xe = 0, ye = 0;
  for (const auto* rows : tables) {
    const double weight = 1 / static_cast<double>(rows->size());
    for (const auto* run : *rows) {
      const auto& [compute, memory] = run->response;
      xx += weight * compute * compute;
      xy += weight * compute * memory;
      yy += weight * memory * memory;
      xe -= weight * compute * log_error(*run);
      ye -= weight * memory * log_error(*run);
    }
  }
  const double determinant = xx * yy - xy * xy;
  return {(xe * yy - ye * xy) / determinant, (ye * xx - xe * xy) / determinant};
}

ErrorStatistics errors_with(const Rows& rows, const Scales& scales) {
  std::vector<double> errors;
  for (const auto* run : rows)
    errors.push_back(std::exp(log_error(*run) + run->response.compute * scales.x + run->response.memory * scales.y) -
                     1);
  return statistics_of(std::move(errors));
}

}  // namespace

std::vector<LeftOut> leave_one_out(const std::vector<ValidatedRun>& runs) {
  std::vector<std::pair<std::pair<std::string, std::string>, Rows>>
      by_table;  // chip and table, in the order of the rows
  for (const auto& run : runs) {
    if (!run.counts() || run.traits.chip.empty()) continue;
    const std::pair key{run.traits.chip, run.run.table};
    auto at = std::find_if(by_table.begin(), by_table.end(), [&](const auto& each) { return each.first == key; });
    if (at == by_table.end()) at = by_table.insert(at, {key, {}});
    at->second.push_back(&run);
  }
  std::stable_sort(by_table.begin(), by_table.end(),
                   [](const auto& a, const auto& b) { return a.first.first < b.first.first; });
  std::vector<LeftOut> made;
  for (const auto& [key, rows] : by_table) {
    std::vector<const Rows*> all, others;
    for (const auto& [other, members] : by_table) {
      if (other.first != key.first) continue;
      all.push_back(&members);
      if (other.second != key.second) others.push_back(&members);
    }
    if (others.empty()) continue;
    const auto left = fitted_to(others);
    made.push_back({key.first, key.second, errors_with(rows, {}), errors_with(rows, fitted_to(all)),
                    errors_with(rows, left), std::exp(left.x), std::exp(left.y)});
  }
  return made;
}

}  // namespace lockstep::validation
