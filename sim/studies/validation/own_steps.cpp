// What a few steps of a machine say of its other steps: a machine's offset and a step's, as random effects (James and
// Stein's shrinkage; Searle, Casella and McCulloch, "Variance Components", 1992).
#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <utility>

#include "sim/studies/validation/scatter_private.hpp"

namespace lockstep::validation {
namespace {

constexpr double least_spread = 0.02;           ///< below this, differences are noise of the measurements
constexpr double deviation_of_median = 1.4826;  ///< standard deviation over median deviation of a normal distribution

struct Row {
  double residual;  ///< log(measured / predicted)
  double weight;    ///< rows that it stands for
};

double weighted_median(std::vector<Row> rows) {
  std::sort(rows.begin(), rows.end(), [](const Row& one, const Row& other) { return one.residual < other.residual; });
  double sum = 0, below = 0;
  for (const auto& row : rows) sum += row.weight;
  for (const auto& row : rows) {
    below += row.weight;
    if (2 * below >= sum) return row.residual;
  }
  return 0;
}

std::string machine_of(const ValidatedFamily& family) { return family.table + "|" + family.traits.chip; }

void add_rows(const ValidatedFamily& family, std::vector<Row>& rows) {
  const double weight = static_cast<double>(family.rows) / static_cast<double>(family.residuals.size());
  for (const double residual : family.residuals) rows.push_back({std::log(residual), weight});
}

double shrunk_mean(const std::vector<Row>& rows, std::size_t without, int steps, const Scatter& scatter,
                   std::mt19937_64& draw) {
  double sum = 0;
  int drawn = 0;
  for (; drawn < steps; ++drawn) {
    const auto other = draw() % (rows.size() - 1);
    sum += rows[other < without ? other : other + 1].residual;
  }
  return scatter.of_the_machine(drawn) * sum / drawn;
}

}  // namespace

double Scatter::of_the_machine(int steps) const {
  const double between = steps * machine * machine;
  return steps == 0 ? 0 : between / (between + step * step);
}

Scatter scatter_of(const std::vector<const ValidatedFamily*>& pool) {
  std::map<std::string, std::vector<Row>> machines;
  for (const auto* family : pool) add_rows(*family, machines[machine_of(*family)]);
  std::vector<Row> deviations;
  double offsets = 0;
  for (const auto& [name, rows] : machines) {
    const double middle = weighted_median(rows);
    double count = 0;
    for (const auto& row : rows) count += row.weight;
    if (rows.size() > 2) {
      for (const auto& row : rows)
        deviations.push_back({std::abs(row.residual - middle), row.weight / std::sqrt(count)});
    }
    offsets += middle * middle;
  }
  Scatter scatter;
  scatter.machines = machines.size();
  scatter.step = std::max(least_spread, deviation_of_median * weighted_median(deviations));
  scatter.machine = std::max(least_spread, std::sqrt(offsets / static_cast<double>(machines.size())));
  return scatter;
}

std::vector<ValidatedFamily> after_own_steps(const std::vector<ValidatedFamily>& families, int steps) {
  constexpr int draws = 4;
  const ErrorBands bands(families);
  std::map<std::string, std::vector<Row>> machines;
  std::map<const ValidatedFamily*, std::size_t> first_row;
  for (const auto& family : families) {
    auto& rows = machines[machine_of(family)];
    first_row[&family] = rows.size();
    add_rows(family, rows);
  }
  auto after = families;
  std::mt19937_64 draw(1);
  for (std::size_t i = 0; i < families.size(); ++i) {
    const auto& family = families[i];
    const auto& rows = machines[machine_of(family)];
    if (rows.size() < 2) continue;
    const auto scatter = bands.scatter(family.traits).value();
    const int own = std::min(steps, static_cast<int>(rows.size()) - 1);
    after[i].residuals.clear();
    for (std::size_t row = 0; row < family.residuals.size(); ++row) {
      for (int time = 0; time < draws; ++time) {
        const double moved = shrunk_mean(rows, first_row[&family] + row, own, scatter, draw);
        after[i].residuals.push_back(family.residuals[row] / std::exp(moved));
      }
    }
    std::sort(after[i].residuals.begin(), after[i].residuals.end());
  }
  return after;
}

ErrorBands bands_after_own_steps(const std::vector<ValidatedFamily>& families, int steps) {
  return ErrorBands(steps > 0 ? after_own_steps(families, steps) : families);
}

}  // namespace lockstep::validation
