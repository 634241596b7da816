#include <nlohmann/json.hpp>

#include "tools/output/elements/json_document.hpp"
#include "tools/output/studies/cost_report.hpp"

namespace lockstep::output {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kilowatt_hours(Joules energy) { return energy / one_kilowatt_hour; }

Json windows_json(const economics::PowerProfile& power) {
  Json windows = Json::array();
  for (const auto& window : power.windows) {
    windows.push_back({{"start_s", window.start.value()},
                       {"end_s", window.end.value()},
                       {"in_step_s", window.in_step.value()},
                       {"chips_w", window.power.value()}});
  }
  return windows;
}

Json json_of(const economics::RunCost& cost) {
  Json network = Json::array();
  for (const auto& line : cost.network)
    network.push_back(
        {{"part", line.part}, {"count", line.count}, {"price", line.price}, {"power_w", line.power.value()}});
  return {{"chips", cost.chips},
          {"step_time_s", cost.step.value()},
          {"goodput", cost.goodput},
          {"run_s", cost.run.value()},
          {"cost",
           {{"chips", cost.for_chips},
            {"network", cost.for_network},
            {"energy", cost.for_energy},
            {"total", cost.total},
            {"per_billion_tokens", cost.per_billion_tokens}}},
          {"energy_kwh", kilowatt_hours(cost.energy)},
          {"carbon_dioxide_t", cost.tonnes ? Json(*cost.tonnes) : Json()},
          {"power",
           {{"site_mean_w", cost.site.value()},
            {"site_least_w", cost.site_least.value()},
            {"site_most_w", cost.site_most.value()},
            {"chips_mean_w", cost.power.mean.value()},
            {"hosts_w", cost.hosts.value()},
            {"network_w", cost.network_power.value()},
            {"computing", cost.power.computing},
            {"communicating", cost.power.communicating},
            {"windows", windows_json(cost.power)}}},
          {"network", network},
          {"notes", cost.notes}};
}

}  // namespace

std::string run_cost_json(const economics::RunCost& cost) { return json_of(cost).dump(); }

economics::RunCost read_run_cost(const std::string& text) {
  const auto json = Json::parse(text);
  economics::RunCost run;
  run.chips = json["chips"];
  run.step = Seconds(json["step_time_s"]);
  run.goodput = json["goodput"];
  run.run = Seconds(json["run_s"]);
  const auto& cost = json["cost"];
  run.for_chips = cost["chips"], run.for_network = cost["network"], run.for_energy = cost["energy"];
  run.total = cost["total"], run.per_billion_tokens = cost["per_billion_tokens"];
  run.energy = one_kilowatt_hour * json["energy_kwh"].get<double>();
  if (!json["carbon_dioxide_t"].is_null()) run.tonnes = json["carbon_dioxide_t"].get<double>();
  const auto& power = json["power"];
  run.site = Watts(power["site_mean_w"]);
  run.site_least = Watts(power["site_least_w"]), run.site_most = Watts(power["site_most_w"]);
  run.power.mean = Watts(power["chips_mean_w"]);
  run.hosts = Watts(power["hosts_w"]), run.network_power = Watts(power["network_w"]);
  run.power.computing = power["computing"], run.power.communicating = power["communicating"];
  for (const auto& window : power["windows"])
    run.power.windows.push_back(
        {Seconds(window["start_s"]), Seconds(window["end_s"]), Seconds(window["in_step_s"]), Watts(window["chips_w"])});
  for (const auto& line : json["network"])
    run.network.push_back({line["part"], line["count"], line["price"], Watts(line["power_w"])});
  run.notes = json["notes"].get<std::vector<std::string>>();
  return run;
}

std::string cost_json(const std::vector<CostedScenario>& runs, const CostAim& aim) {
  std::vector<economics::RunCost> costs;
  for (const auto& run : runs) costs.push_back(run.cost);
  const auto better = economics::better_in_all(costs);
  Json json = {{"tokens", aim.tokens}, {"currency", aim.currency}, {"runs", Json::array()}};
  for (std::size_t i = 0; i < runs.size(); ++i) {
    Json run = {{"name", runs[i].name}};
    run.update(json_of(runs[i].cost));
    run["better_in_all"] = better[i] ? Json(runs[*better[i]].name) : Json();
    json["runs"].push_back(std::move(run));
  }
  return json_document(json);
}

}  // namespace lockstep::output
