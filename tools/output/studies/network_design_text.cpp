#include <algorithm>

#include "sim/core/quantity_text.hpp"
#include "tools/output/elements/table.hpp"
#include "tools/output/results/memory_verdict.hpp"
#include "tools/output/studies/network_design_report.hpp"

namespace lockstep::output {
namespace {

using design_networks::DesignedNetwork;
using design_networks::NetworkDesign;
using Fate = DesignedNetwork::Fate;

constexpr double day_s = 86400;

std::string count_text(std::int64_t count) { return with_separators(static_cast<double>(count)); }
std::string networks_text(std::int64_t count) { return count_text(count) + (count == 1 ? " network" : " networks"); }

const DesignedNetwork& at(const NetworkDesign& design, std::int64_t number) {
  return design.networks[static_cast<std::size_t>(number)];
}

/// ", MAY NOT FIT", or nothing; what does not fit is no answer.
std::string unfit_after(const design_networks::TimedNetwork& timed) {
  const auto words = unfit_words(timed.fit);
  return words.empty() ? "" : ", " + words;
}

std::string front_table(const DesignedSpace& of, const NetworkDesign& design) {
  const auto& workloads = of.space.workloads();
  const bool equal_chips = design.has_equal_chips();
  std::vector<std::string> header = {"network"};
  if (workloads.size() == 1) header.emplace_back("step");
  header.insert(header.end(), {"run, days", equal_chips ? "to buy" : "an hour", "network's power", "whole run"});
  Table table(header);
  table.fold(34, 0);
  int row = 0;
  for (const auto number : design.front) {
    const auto& network = at(design, number);
    std::vector<std::string> cells = {std::to_string(++row) + ". " + of.space.label(number) +
                                      unfit_after(*network.timed)};
    if (workloads.size() == 1) cells.push_back(format(Seconds(network.timed->step_s.front())));
    cells.insert(cells.end(), {fixed(network.timed->run_s / day_s, 1), money_text(design.money(number)),
                               format(network.machine.network_power), money_text(network.timed->total)});
    table.add(std::move(cells));
  }
  return table.to_string();
}

std::string steps_table(const DesignedSpace& of, const NetworkDesign& design) {
  const auto& workloads = of.space.workloads();
  if (workloads.size() < 2) return "";
  double all = 0;
  for (const auto& workload : workloads) all += workload.weight;
  std::vector<std::string> header = {"step of", "tokens"};
  for (std::size_t i = 1; i <= design.front.size(); ++i) header.push_back(std::to_string(i) + ".");
  Table table(header);
  for (std::size_t i = 0; i < workloads.size(); ++i) {
    std::vector<std::string> cells = {workloads[i].file.stem().string(), percent(workloads[i].weight / all)};
    for (const auto number : design.front) cells.push_back(format(Seconds(at(design, number).timed->step_s[i])));
    table.add(std::move(cells));
  }
  return "\n" + table.to_string();
}

std::string bill_table(const NetworkDesign& design) {
  std::vector<std::string> header = {"parts"}, parts;
  for (std::size_t i = 1; i <= design.front.size(); ++i) header.push_back(std::to_string(i) + ".");
  for (const auto number : design.front) {
    for (const auto& line : at(design, number).machine.network) {
      if (std::find(parts.begin(), parts.end(), line.part) == parts.end()) parts.push_back(line.part);
    }
  }
  if (parts.empty()) return "";
  Table table(header);
  for (const auto& part : parts) {
    std::vector<std::string> cells = {part};
    for (const auto number : design.front) {
      const auto& lines = at(design, number).machine.network;
      const auto line = std::find_if(lines.begin(), lines.end(), [&](const auto& one) { return one.part == part; });
      cells.push_back(line == lines.end() ? "-" : count_text(line->count));
    }
    table.add(std::move(cells));
  }
  std::vector<std::string> sums = {"to buy"};
  for (const auto number : design.front) sums.push_back(money_text(at(design, number).machine.to_buy));
  table.add(std::move(sums));
  return "\n" + table.to_string();
}

std::string proof(const DesignedSpace& of, const NetworkDesign& design) {
  std::int64_t too_large = 0;
  for (const auto& one : design.networks) too_large += one.timed && !one.timed->is_answer() ? 1 : 0;
  std::string text = "\nof " + networks_text(std::ssize(design.networks)) + ": " +
                     count_text(design.count(Fate::simulated)) + " simulated, ";
  const auto pruned = design.count(Fate::pruned);
  text += pruned == 0
              ? "none pruned by its bound"
              : count_text(pruned) +
                    " pruned, since one above costs no more, draws no more and takes no longer than their bound" +
                    (of.within > 0 ? " and " + percent(of.within) : "");
  if (const auto refused = design.count(Fate::refused); refused > 0) {
    const auto first = std::find_if(design.networks.begin(), design.networks.end(),
                                    [](const auto& one) { return one.fate == Fate::refused; });
    text += "; " + count_text(refused) + " cannot be built or run (" + first->refusal + "; expected " +
            first->expected + ")";
  }
  if (too_large > 0) text += "; " + count_text(too_large) + " simulated ones DO NOT FIT into the chips' memory";
  text += "\n";
  if (!design.stopped) return text;
  text += "stopped with " + count_text(design.count(Fate::open)) + " open: ";
  if (design.first_open < 0) return text + "their parts were not counted yet\n";
  const auto& machine = at(design, design.first_open).machine;
  return text + "the list is proven below " + money_text(design.has_equal_chips() ? machine.to_buy : machine.hour) +
         " " + of.aim.prices->currency + (design.has_equal_chips() ? "" : " an hour") +
         ", and networks from there on may be faster\n";
}

std::string assumed(const NetworkDesign& design) {
  std::string text;
  for (const auto& sentence : design.assumed()) text += "Assumed: " + sentence + ".\n";
  return text;
}

}  // namespace

std::string network_design_text(const DesignedSpace& of, const NetworkDesign& design) {
  const auto reasons = network_design_reasons(of, design);
  if (design.front.empty()) return reasons.answer + "\n" + proof(of, design);
  const bool one = design.front.size() == 1;
  std::string text = networks_text(std::ssize(design.front)) + " of " + count_text(std::ssize(design.networks)) +
                     (one ? " is" : " are") + " worth " + (one ? "its" : "their") +
                     " price: no other is as good in time, price and power";
  if (of.within > 0) text += ", times within " + percent(of.within) + " taken for equal";
  return text + "\nmoney in " + of.aim.prices->currency + ", " + with_separators(of.aim.tokens) + " tokens\n\n" +
         front_table(of, design) + steps_table(of, design) + bill_table(design) + "\n" + reasons.answer + "\n" +
         lines_of(reasons) + assumed(design) + proof(of, design);
}

}  // namespace lockstep::output
