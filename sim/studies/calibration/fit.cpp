#include "sim/studies/calibration/fit.hpp"

#include <algorithm>
#include <cmath>
#include <nlopt.hpp>

namespace lockstep::calibration {
namespace {

/// Parameters between 0 and 1, so that steps of all are alike.
double to_unit(const FitParameter& parameter, double value) {
  if (parameter.low > 0) return std::log(value / parameter.low) / std::log(parameter.high / parameter.low);
  return value / parameter.high;
}
double from_unit(const FitParameter& parameter, double unit) {
  if (parameter.low > 0) return parameter.low * std::pow(parameter.high / parameter.low, unit);
  return parameter.high * unit;
}

class Fitting {
 public:
  Fitting(const std::vector<FitParameter>& parameters, const FitErrors& errors)
      : parameters_(parameters), errors_(errors), kept_(parameters.size()) {
    for (const auto& parameter : parameters)
      values_.push_back(parameter.fixed_because.empty() ? std::clamp(parameter.value, parameter.low, parameter.high)
                                                        : parameter.value);
    start_ = values_;
    before_ = at(values_);
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      kept_[i] = parameters[i].fixed_because;
      if (kept_[i].empty() && !matters(i)) kept_[i] = "no row depends on it";
      if (kept_[i].empty()) free_.push_back(i);
    }
  }

  /// Fits; what the measurements hardly determine is put back, and what is left is fitted again from the start.
  void run(int most) {
    for (bool again = true; again && !free_.empty();) {
      descend_from_here(most);
      again = put_back_undetermined();
    }
  }

  [[nodiscard]] Fit result() const {
    Fit fit{{}, before_, at(values_)};
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      const auto& parameter = parameters_[i];
      const bool kept = !kept_[i].empty();
      const double unit = kept ? 0.5 : to_unit(parameter, values_[i]);
      fit.parameters.push_back({parameter.name, parameter.value, values_[i], kept ? 0 : determined(i, fit.after),
                                kept_[i], !kept && (unit < 1e-4 || unit > 1 - 1e-4)});
    }
    return fit;
  }

 private:
  /// Again from what was found, as long as it helps: looking over whole ranges leads off ridges that a run ends on.
  void descend_from_here(int most) {
    constexpr int rounds = 6;
    constexpr double helps = 0.98;
    spent_ = 0;
    for (int round = 0; round < rounds && !free_.empty() && spent_ < most; ++round) {
      const double before = at(values_);
      scan(most);
      descend(std::min(most / 2, most - spent_));
      if (at(values_) > helps * before) break;
    }
  }

  bool put_back_undetermined() {
    const double best = at(values_);
    std::vector<std::size_t> left;
    for (const auto i : free_) {
      if (determined(i, best) >= hardly) {
        left.push_back(i);
      } else {
        kept_[i] = "hardly determined";
      }
    }
    const bool any = left.size() < free_.size();
    free_ = left;
    if (any) values_ = start_;
    return any;
  }

  [[nodiscard]] double at(const std::vector<double>& values) const {
    ++spent_;
    return root_mean_square(errors_(values));
  }

  /// Whether any error moves when the parameter goes to the ends or the middle of its range.
  [[nodiscard]] bool matters(std::size_t i) const {
    const auto base = errors_(values_);
    for (const double unit : {0.0, 0.5, 1.0}) {
      auto values = values_;
      values[i] = from_unit(parameters_[i], unit);
      const auto moved = errors_(values);
      for (std::size_t j = 0; j < base.size(); ++j) {
        if (std::abs(moved[j] - base[j]) > 1e-9) return true;
      }
    }
    return false;
  }

  [[nodiscard]] double determined(std::size_t i, double best) const {
    double least = HUGE_VAL;
    for (const double factor : {0.9, 1.1}) {
      auto values = values_;
      values[i] = std::clamp(values[i] * factor, parameters_[i].low, parameters_[i].high);
      if (values[i] != values_[i]) least = std::min(least, at(values) - best);
    }
    return std::isfinite(least) ? std::max(least, 0.0) : 0;
  }

  /// One parameter after the other over its whole range.
  void scan(int most) {
    constexpr int most_points = 12, least_points = 3, share = 8;  // of the evaluations, an eighth
    const int points = std::clamp(most / (share * static_cast<int>(free_.size())), least_points, most_points);
    double least = at(values_);
    for (const auto i : free_) {
      for (int point = 0; point <= points; ++point) {
        auto values = values_;
        values[i] = from_unit(parameters_[i], static_cast<double>(point) / points);
        if (const double error = at(values); error < least) {
          least = error;
          values_ = values;
        }
      }
    }
  }

  void descend(int most) {
    if (most <= 0) return;
    const auto count = free_.size();
    nlopt::opt search(nlopt::LN_SBPLX, static_cast<unsigned>(count));
    search.set_lower_bounds(std::vector<double>(count, 0));
    search.set_upper_bounds(std::vector<double>(count, 1));
    search.set_initial_step(std::vector<double>(count, 0.1));
    search.set_xtol_abs(std::vector<double>(count, 1e-7));
    search.set_maxeval(most);
    search.set_min_objective([](const std::vector<double>& units, std::vector<double>&,
                                void* self) { return static_cast<Fitting*>(self)->at_units(units); },
                             this);
    std::vector<double> units;
    for (const auto i : free_) units.push_back(std::clamp(to_unit(parameters_[i], values_[i]), 0.0, 1.0));
    double least = 0;
    search.optimize(units, least);
    if (least <= at(values_)) values_ = values_of(units);
  }

  [[nodiscard]] std::vector<double> values_of(const std::vector<double>& units) const {
    auto values = values_;
    for (std::size_t j = 0; j < free_.size(); ++j) values[free_[j]] = from_unit(parameters_[free_[j]], units[j]);
    return values;
  }
  [[nodiscard]] double at_units(const std::vector<double>& units) const { return at(values_of(units)); }

  const std::vector<FitParameter>& parameters_;
  const FitErrors& errors_;
  std::vector<std::string> kept_;  ///< why a parameter stays where it was
  std::vector<double> values_, start_;
  std::vector<std::size_t> free_;
  double before_ = 0;
  mutable int spent_ = 0;  ///< evaluations
};

}  // namespace

double root_mean_square(const std::vector<double>& errors) {
  double sum = 0;
  for (const double error : errors) sum += error * error;
  return errors.empty() ? 0 : std::sqrt(sum / static_cast<double>(errors.size()));
}

Fit fit(const std::vector<FitParameter>& parameters, const FitErrors& errors, int most) {
  Fitting fitting(parameters, errors);
  fitting.run(most);
  return fitting.result();
}

}  // namespace lockstep::calibration
