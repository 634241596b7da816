// The most likely parameters of one machine, from what is known of others and a few measurements of its own.
#include <algorithm>
#include <cmath>

#include "sim/studies/calibration/fit.hpp"

namespace lockstep::calibration {
namespace {

constexpr double difference = 0.05;  ///< of a logarithm, for slopes: above the steps that waves and choices make
constexpr int rounds = 3;            ///< times are nearly powers of the parameters, so the second hardly moves
constexpr double slight = 1e-3;      ///< of a logarithm: not worth another round
constexpr double slopeless = 1e-6;

using Vector = std::vector<double>;

/// Solves a x = b by elimination; a is symmetric and, by the priors on its diagonal, positive definite.
Vector solved(std::vector<Vector> a, Vector b) {
  const auto size = b.size();
  for (std::size_t i = 0; i < size; ++i) {
    for (std::size_t row = i + 1; row < size; ++row) {
      const double factor = a[row][i] / a[i][i];
      for (std::size_t k = i; k < size; ++k) a[row][k] -= factor * a[i][k];
      b[row] -= factor * b[i];
    }
  }
  for (std::size_t i = size; i-- > 0;) {
    for (std::size_t k = i + 1; k < size; ++k) b[i] -= a[i][k] * b[k];
    b[i] /= a[i][i];
  }
  return b;
}

class FromPrior {
 public:
  FromPrior(const std::vector<FitParameter>& parameters, const FitErrors& errors, double noise)
      : parameters_(parameters), errors_(errors), noise_(noise), kept_(parameters.size()) {
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      kept_[i] = parameters[i].fixed_because;
      values_.push_back(parameters[i].value);
    }
  }

  Fit run() {
    now_ = errors_(values_);
    const double before = root_mean_square(now_);
    for (int round = 0; round < rounds; ++round) {
      find_slopes();
      if (step() < slight) break;
    }
    Fit fit{{}, before, root_mean_square(now_)};
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      const auto& parameter = parameters_[i];
      const bool kept = !kept_[i].empty();
      const bool limit = values_[i] <= parameter.low || values_[i] >= parameter.high;
      fit.parameters.push_back(
          {parameter.name, parameter.value, values_[i], kept ? 0 : determined(i), kept_[i], !kept && limit});
    }
    return fit;
  }

 private:
  [[nodiscard]] bool is_free(std::size_t i) const { return kept_[i].empty(); }

  /// d error / d log of each parameter. What no row depends on, or hardly, is put back.
  void find_slopes() {
    slopes_.assign(parameters_.size(), Vector(now_.size(), 0));
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      if (!is_free(i)) continue;
      auto moved = values_;
      const double way = values_[i] * std::exp(difference) > parameters_[i].high ? -difference : difference;
      moved[i] *= std::exp(way);
      const auto there = errors_(moved);
      double steepest = 0;
      for (std::size_t row = 0; row < now_.size(); ++row) {
        slopes_[i][row] = (there[row] - now_[row]) / way;
        steepest = std::max(steepest, std::abs(slopes_[i][row]));
      }
      if (steepest < slopeless) {
        kept_[i] = "no row depends on it";
      } else if (determined(i) < hardly) {
        kept_[i] = "hardly determined";
      }
      if (!is_free(i) && values_[i] != parameters_[i].value) {
        values_[i] = parameters_[i].value;
        now_ = errors_(values_);
      }
    }
  }

  /// Moves to where the linear errors and the priors together are least; the longest way, in logarithms.
  double step() {
    std::vector<std::size_t> free;
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      if (is_free(i)) free.push_back(i);
    }
    std::vector<Vector> a(free.size(), Vector(free.size(), 0));
    Vector b(free.size(), 0);
    for (std::size_t i = 0; i < free.size(); ++i) {
      const auto& parameter = parameters_[free[i]];
      const double weight = noise_ * noise_ / (parameter.spread * parameter.spread);
      a[i][i] += weight;
      b[i] -= weight * std::log(values_[free[i]] / parameter.value);
      for (std::size_t row = 0; row < now_.size(); ++row) {
        b[i] -= slopes_[free[i]][row] * now_[row];
        for (std::size_t k = 0; k < free.size(); ++k) a[i][k] += slopes_[free[i]][row] * slopes_[free[k]][row];
      }
    }
    const auto way = solved(a, b);
    double longest = 0;
    auto moved = values_;
    for (std::size_t i = 0; i < free.size(); ++i) {
      const auto& parameter = parameters_[free[i]];
      moved[free[i]] = std::clamp(values_[free[i]] * std::exp(way[i]), parameter.low, parameter.high);
      longest = std::max(longest, std::abs(std::log(moved[free[i]] / values_[free[i]])));
    }
    const auto there = errors_(moved);
    if (objective(moved, there) > objective(values_, now_)) return 0;  // a kink between them: what was found is better
    values_ = moved;
    now_ = there;
    return longest;
  }

  [[nodiscard]] double objective(const Vector& values, const Vector& errors) const {
    double sum = 0;
    for (const double error : errors) sum += error * error;
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      if (!is_free(i)) continue;
      const double away = noise_ * std::log(values[i] / parameters_[i].value) / parameters_[i].spread;
      sum += away * away;
    }
    return sum;
  }

  /// As FittedParameter::determined, along the slopes.
  [[nodiscard]] double determined(std::size_t i) const {
    const double best = root_mean_square(now_);
    double least = HUGE_VAL;
    for (const double way : {std::log(0.9), std::log(1.1)}) {
      auto moved = now_;
      for (std::size_t row = 0; row < moved.size(); ++row) moved[row] += slopes_[i][row] * way;
      least = std::min(least, std::abs(root_mean_square(moved) - best));
    }
    return least;
  }

  const std::vector<FitParameter>& parameters_;
  const FitErrors& errors_;
  double noise_;
  std::vector<std::string> kept_;
  Vector values_, now_;  ///< errors at these values
  std::vector<Vector> slopes_;
};

}  // namespace

Fit fit_from_prior(const std::vector<FitParameter>& parameters, const FitErrors& errors, double noise) {
  return FromPrior(parameters, errors, noise).run();
}

}  // namespace lockstep::calibration
