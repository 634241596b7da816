#pragma once
/// `lockstep goodput` for people and for programs.
#include <optional>
#include <string>

#include "sim/studies/goodput/study.hpp"

namespace lockstep::output {

/// The aim of the run: the tokens to train on, and the price of a chip.
struct GoodputAim {
  double tokens_per_s = 0;  ///< while it trains
  std::int64_t chips = 0;
  std::int64_t spare_chips = 0;               ///< of spare hosts, which are paid for, too
  std::optional<double> tokens;               ///< of the whole training
  std::optional<double> price_per_chip_hour;  ///< any currency
};

[[nodiscard]] std::string goodput_text(const scenario::Scenario& scenario, const goodput::GoodputStudy& study,
                                       const GoodputAim& aim);
[[nodiscard]] std::string goodput_json(const scenario::Scenario& scenario, const goodput::GoodputStudy& study,
                                       const GoodputAim& aim);

/// Failures by kind of part under the run's own rates and under published ones, as SVG.
[[nodiscard]] std::string failures_picture(const goodput::BesidePublished& beside, Seconds length);

}  // namespace lockstep::output
