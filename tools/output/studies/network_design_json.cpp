#include <nlohmann/json.hpp>

#include "tools/output/elements/json_document.hpp"
#include "tools/output/results/memory_verdict.hpp"
#include "tools/output/studies/network_design_report.hpp"

namespace lockstep::output {
namespace {

using Json = nlohmann::ordered_json;
using design_networks::DesignedNetwork;
using design_networks::NetworkDesign;
using Fate = DesignedNetwork::Fate;

Json settings_json(const DesignedSpace& of, std::int64_t number) {
  Json settings = Json::object();
  for (const auto& [key, value] : of.space.settings(number)) settings[key] = value;
  return settings;
}

/// What all networks have that can be built.
Json network_json(const DesignedSpace& of, const NetworkDesign& design, std::int64_t number) {
  const auto& machine = design.networks[static_cast<std::size_t>(number)].machine;
  return {{"number", number},
          {"name", of.space.label(number)},
          {"settings", settings_json(of, number)},
          {"to_buy", machine.to_buy},
          {"per_hour", machine.hour},
          {"network_w", machine.network_power.value()},
          {"site_most_w", machine.rated.value()}};
}

Json bill_json(const economics::MachinePrice& machine) {
  Json bill = Json::array();
  for (const auto& line : machine.network)
    bill.push_back(
        {{"part", line.part}, {"count", line.count}, {"price", line.price}, {"power_w", line.power.value()}});
  return bill;
}

Json simulated_json(const DesignedSpace& of, const NetworkDesign& design, std::int64_t number) {
  const auto& network = design.networks[static_cast<std::size_t>(number)];
  const auto& timed = *network.timed;
  auto json = network_json(of, design, number);
  json["run_s"] = timed.run_s;
  json["bound_s"] = network.bound_s;
  json["step_times_s"] = timed.step_s;
  json.update(fit_json(timed.fit));
  json["exposed"] = Json::array();
  for (std::size_t scenario = 0; scenario < timed.exposed_s.size(); ++scenario) {
    for (const auto& [axis, seconds] : timed.exposed_s[scenario])
      json["exposed"].push_back({{"scenario", scenario}, {"axis", axis}, {"exposed_s", seconds}});
  }
  json["cost"] = {
      {"chips", timed.for_chips}, {"network", timed.for_network}, {"energy", timed.for_energy}, {"total", timed.total}};
  json["energy_kwh"] = Joules(timed.energy_j) / one_kilowatt_hour;
  return json;
}

Json front_json(const DesignedSpace& of, const NetworkDesign& design) {
  Json front = Json::array();
  for (const auto number : design.front) {
    auto json = simulated_json(of, design, number);
    json["network"] = bill_json(design.networks[static_cast<std::size_t>(number)].machine);
    const auto next = design.next(number);
    json["next"] = {{"within_10_percent", next.within ? Json(*next.within) : Json()},
                    {"dearer", next.dearer ? Json(*next.dearer) : Json()}};
    front.push_back(std::move(json));
  }
  return front;
}

}  // namespace

std::string network_design_json(const DesignedSpace& of, const NetworkDesign& design) {
  Json workloads = Json::array();
  for (const auto& workload : of.space.workloads())
    workloads.push_back({{"scenario", workload.file.string()}, {"weight", workload.weight}});
  Json others = Json::array(), pruned = Json::array(), refused = Json::array();
  for (std::int64_t number = 0; number < std::ssize(design.networks); ++number) {
    const auto& network = design.networks[static_cast<std::size_t>(number)];
    const bool is_shown = std::find(design.front.begin(), design.front.end(), number) != design.front.end();
    if (network.fate == Fate::simulated && !is_shown) others.push_back(simulated_json(of, design, number));
    if (network.fate == Fate::pruned) {
      auto json = network_json(of, design, number);
      json["bound_s"] = network.bound_s;
      json["beaten_by"] = network.beaten_by;
      pruned.push_back(std::move(json));
    }
    if (network.fate == Fate::refused)
      refused.push_back({{"number", number},
                         {"settings", settings_json(of, number)},
                         {"why", network.refusal + "; expected " + network.expected}});
  }
  const auto least = design.least_total();
  const auto reasons = network_design_reasons(of, design);
  const Json json = {{"tokens", of.aim.tokens},
                     {"currency", of.aim.prices->currency},
                     {"within", of.within},
                     {"assumed", design.assumed()},
                     {"answer", reasons.answer},
                     {"why", reasons.why},
                     {"what_if", reasons.what_if},
                     {"workloads", workloads},
                     {"proof",
                      {{"space", std::ssize(design.networks)},
                       {"simulated", design.count(Fate::simulated)},
                       {"pruned", design.count(Fate::pruned)},
                       {"refused", design.count(Fate::refused)},
                       {"open", design.count(Fate::open)},
                       {"first_open", design.first_open < 0 ? Json() : Json(design.first_open)}}},
                     {"front", front_json(of, design)},
                     {"cheapest_run", least < 0 ? Json() : Json(least)},
                     {"others", others},
                     {"pruned", pruned},
                     {"refused", refused}};
  return json_document(json);
}

}  // namespace lockstep::output
