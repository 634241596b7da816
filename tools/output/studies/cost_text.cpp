#include <algorithm>
#include <cmath>
#include <functional>

#include "sim/core/quantity_text.hpp"
#include "tools/output/elements/table.hpp"
#include "tools/output/studies/cost_report.hpp"

namespace lockstep::output {
namespace {

using economics::RunCost;

/// Money with as many digits as matter: whole units from a thousand on.
std::string money(double amount) { return amount >= 1000 ? with_separators(std::round(amount)) : fixed(amount, 2); }

std::string tokens_text(double tokens) {
  return tokens >= 1e12 ? fixed(tokens / 1e12, 2) + "e12 tokens" : fixed(tokens / 1e9, 1) + "e9 tokens";
}

std::string days_text(Seconds time) { return fixed(time / Seconds(86400), 1) + " days"; }

std::string bill_text(const std::vector<CostedScenario>& runs) {
  std::vector<std::string> header = {"network"}, parts;
  for (const auto& run : runs) {
    header.push_back(run.name);
    for (const auto& line : run.cost.network) {
      if (std::find(parts.begin(), parts.end(), line.part) == parts.end()) parts.push_back(line.part);
    }
  }
  if (parts.empty()) return "";
  Table table(header);
  const auto row = [&](const std::string& name, const std::function<std::string(const RunCost&)>& cell) {
    std::vector<std::string> cells = {name};
    for (const auto& run : runs) cells.push_back(cell(run.cost));
    table.add(std::move(cells));
  };
  for (const auto& part : parts) {
    row(part, [&](const RunCost& cost) {
      const auto line = std::find_if(cost.network.begin(), cost.network.end(),
                                     [&](const economics::BillLine& one) { return one.part == part; });
      return line == cost.network.end() ? std::string("-") : with_separators(static_cast<double>(line->count));
    });
  }
  row("to buy", [](const RunCost& cost) {
    double price = 0;
    for (const auto& line : cost.network) price += line.price;
    return money(price);
  });
  return "\n" + table.to_string();
}

}  // namespace

std::string cost_text(const std::vector<CostedScenario>& runs, const CostAim& aim) {
  std::vector<RunCost> costs;
  std::vector<std::string> header = {tokens_text(aim.tokens)};
  for (const auto& run : runs) {
    costs.push_back(run.cost);
    header.push_back(run.name);
  }
  Table table(header);
  const auto row = [&](const std::string& name, const std::function<std::string(const RunCost&)>& cell) {
    std::vector<std::string> cells = {name};
    for (const auto& cost : costs) cells.push_back(cell(cost));
    table.add(std::move(cells));
  };
  const auto any = [&](const std::function<bool(const RunCost&)>& has) {
    return std::any_of(costs.begin(), costs.end(), has);
  };
  row("chips", [](const RunCost& cost) { return with_separators(static_cast<double>(cost.chips)); });
  row("step time", [](const RunCost& cost) { return format(cost.step); });
  if (any([](const RunCost& cost) { return cost.goodput < 1; }))
    row("useful time", [](const RunCost& cost) { return percent(cost.goodput); });
  row("run", [](const RunCost& cost) { return days_text(cost.run); });
  row("chips, " + aim.currency, [](const RunCost& cost) { return money(cost.for_chips); });
  if (any([](const RunCost& cost) { return cost.for_network > 0; }))
    row("network, " + aim.currency, [](const RunCost& cost) { return money(cost.for_network); });
  if (any([](const RunCost& cost) { return cost.for_energy > 0; }))
    row("energy, " + aim.currency, [](const RunCost& cost) { return money(cost.for_energy); });
  row("total, " + aim.currency, [](const RunCost& cost) { return money(cost.total); });
  row("for 1e9 tokens, " + aim.currency, [](const RunCost& cost) { return money(cost.per_billion_tokens); });
  row("power of the site", [](const RunCost& cost) { return format(cost.site); });
  row("  least in a step", [](const RunCost& cost) { return format(cost.site_least); });
  row("  most in a step", [](const RunCost& cost) { return format(cost.site_most); });
  row("energy", [](const RunCost& cost) { return format(cost.energy); });
  if (any([](const RunCost& cost) { return cost.tonnes.has_value(); }))
    row("carbon dioxide", [](const RunCost& cost) { return money(cost.tonnes.value_or(0)) + " t"; });
  std::string text = table.to_string() + bill_text(runs);

  const auto better = economics::better_in_all(costs);
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (better[i])
      text += "\n" + runs[i].name + ": " + runs[*better[i]].name +
              " takes no longer, costs no more and needs no more energy.";
  }
  if (std::any_of(better.begin(), better.end(), [](const auto& other) { return other.has_value(); })) text += "\n";

  std::vector<std::string> told;
  for (const auto& cost : costs) {
    for (const auto& note : cost.notes) {
      if (std::find(told.begin(), told.end(), note) == told.end()) told.push_back(note);
    }
  }
  for (std::size_t i = 0; i < told.size(); ++i) text += (i == 0 ? "\nAssumed: " : "Assumed: ") + told[i] + ".\n";
  return text;
}

}  // namespace lockstep::output
