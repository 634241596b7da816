#include "tools/report/experts_page.hpp"

#include <numeric>
#include <utility>

#include "tools/output/results/scenario_inputs.hpp"
#include "tools/report/design_page.hpp"

namespace lockstep::report {
namespace {

using Json = ReportData::Json;
using place_ranks::ExpertStudy;

/// Tokens of each rank over the mean, of experts at neighbouring places.
std::vector<std::pair<double, double>> by_rank(const std::vector<double>& tokens, std::int64_t ranks) {
  const auto each = tokens.size() / static_cast<std::size_t>(ranks);
  const double mean = std::accumulate(tokens.begin(), tokens.end(), 0.0) / static_cast<double>(ranks);
  std::vector<std::pair<double, double>> points;
  for (std::size_t rank = 0; rank < static_cast<std::size_t>(ranks); ++rank) {
    const auto first = tokens.begin() + static_cast<std::ptrdiff_t>(rank * each);
    const double sum = std::accumulate(first, first + static_cast<std::ptrdiff_t>(each), 0.0);
    points.emplace_back(static_cast<double>(rank), mean > 0 ? sum / mean : 1);
  }
  return points;
}

Json tokens_of_ranks(const ExpertStudy& study, ReportData& data) {
  const auto layer = output::layer_that_gains_most(study);
  const auto& placed = study.loads[layer];
  std::vector<double> given(placed.size());
  for (std::size_t place = 0; place < placed.size(); ++place)
    given[static_cast<std::size_t>(study.layers[layer].order[place])] = placed[place];
  using Mark = ChartLine::Mark;
  return chart_panel({"Tokens of each rank, " + output::layer_name(study, layer),
                      "Over the mean of all ranks, which wait for the fullest one.",
                      {"rank", "", ChartAxis::Scale::linear},
                      {"tokens over the mean", "", ChartAxis::Scale::from_zero},
                      {{"in the order of their numbers", by_rank(given, study.ranks), Mark::line_with_dots, {}},
                       {"placed", by_rank(placed, study.ranks), Mark::line_with_dots, {}}}},
                     data);
}

Json layers(const ExpertStudy& study) {
  Json rows = Json::array();
  for (std::size_t i = 0; i < study.layers.size(); ++i) {
    const auto& layer = study.layers[i];
    rows.push_back(
        {output::layer_name(study, i), layer.given, layer.placed, layer.bound, layer.placed / layer.bound - 1});
  }
  return table_panel("The fullest rank of each layer", "Its tokens over the mean of all ranks.",
                     {{"", ""},
                      {"in the order of their numbers", "number"},
                      {"placed", "number"},
                      {"least possible", "number"},
                      {"over that", "share"}},
                     std::move(rows));
}

}  // namespace

std::optional<std::string> experts_page(const scenario::Scenario& scenario, const ExpertStudy& study,
                                        const Reproduction& again) {
  auto page =
      design_page("Places of experts: " + scenario.name,
                  output::model_text(scenario) + " on " + output::chips_text(scenario), output::experts_reasons(study),
                  {{"step in the order of their numbers", study.given.value(), "s", "", ""},
                   {"step with these places", study.placed.value(), "s", "", ""},
                   {"shorter by", 1 - study.placed / study.given, "share", "", ""},
                   {"with equal experts", study.even.value(), "s", "no expert has more tokens than another", ""}});
  page.add(tokens_of_ranks(study, page.data()));
  page.add(layers(study));
  page.add(again_panel(again));
  return page.html();
}

}  // namespace lockstep::report
