#include <algorithm>
#include <cmath>
#include <limits>

#include "sim/core/quantity_text.hpp"
#include "tools/output/elements/table.hpp"
#include "tools/output/studies/network_design_report.hpp"

namespace lockstep::output {
namespace {

using design_networks::DesignedNetwork;
using design_networks::NetworkDesign;
using design_networks::TimedNetwork;
using Fate = DesignedNetwork::Fate;

constexpr double day_s = 86400;

/// How much more the first is than the second, "12.3 %"; how much less.
std::string more(double of, double than) { return percent(of / than - 1); }
std::string less(double of, double than) { return percent(1 - of / than); }

class Reasons {
 public:
  Reasons(const DesignedSpace& of, const NetworkDesign& design)
      : of_(of), design_(design), chosen_(design.least_total()) {}

  DesignReasons all() const {
    DesignReasons reasons;
    reasons.answer = answer();
    const auto dearest = dearest_one();
    if (dearest >= 0) reasons.why.push_back(beside_dearest(dearest));
    const auto place = std::find(design_.front.begin(), design_.front.end(), chosen_);
    if (place != design_.front.begin()) reasons.why.push_back(beside_front(*(place - 1)));
    if (place + 1 != design_.front.end() && *(place + 1) != dearest) reasons.why.push_back(beside_front(*(place + 1)));
    for (const auto number : design_.front) reasons.what_if.push_back(next_money(number));
    reasons.what_if.push_back(other_prices());
    return reasons;
  }

 private:
  [[nodiscard]] const DesignedNetwork& at(std::int64_t number) const {
    return design_.networks[static_cast<std::size_t>(number)];
  }
  [[nodiscard]] const TimedNetwork& timed(std::int64_t number) const { return *at(number).timed; }
  /// As the table of the front has it, from 1 on.
  [[nodiscard]] std::string place(std::int64_t number) const {
    return std::to_string(std::find(design_.front.begin(), design_.front.end(), number) - design_.front.begin() + 1) +
           ".";
  }
  /// What is compared of the price.
  [[nodiscard]] std::string price(std::int64_t number) const {
    return money_text(design_.money(number)) + " " + of_.aim.prices->currency +
           (design_.has_equal_chips() ? "" : " an hour");
  }
  [[nodiscard]] std::string what_costs() const { return design_.has_equal_chips() ? "network" : "machine"; }

  [[nodiscard]] std::string answer() const {
    const auto& run = timed(chosen_);
    return "The cheapest run of this list is that on " + place(chosen_) + " " + of_.space.label(chosen_) + ": " +
           fixed(run.run_s / day_s, 1) + " days for " + money_text(run.total) + " " + of_.aim.prices->currency +
           ", which are " + money_text(run.for_chips) + " for chips, " + money_text(run.for_network) +
           " for the network and " + money_text(run.for_energy) + " for energy.";
  }

  /// The dearest network that can be built; -1: that is the chosen one.
  [[nodiscard]] std::int64_t dearest_one() const {
    std::int64_t dearest = chosen_;
    for (std::int64_t number = 0; number < std::ssize(design_.networks); ++number) {
      const auto& network = at(number);
      const bool is_known = network.fate == Fate::pruned || (network.timed && network.timed->is_answer());
      if (is_known && design_.money(number) > design_.money(dearest) * (1 + 1e-9)) dearest = number;
    }
    return dearest == chosen_ ? -1 : dearest;
  }

  /// "12 instead of 17 switches": the two kinds of parts of which the price differs most, where the first is without.
  [[nodiscard]] std::string parts(std::int64_t number, std::int64_t other) const {
    struct Part {
      std::string name;
      std::int64_t count, others;
      double saved;
    };
    std::vector<Part> all;
    for (const auto& line : at(other).machine.network) {
      const auto& own = at(number).machine.network;
      const auto same = std::find_if(own.begin(), own.end(), [&](const auto& one) { return one.part == line.part; });
      const bool has = same != own.end();
      all.push_back({line.part, has ? same->count : 0, line.count, line.price - (has ? same->price : 0)});
    }
    std::stable_sort(all.begin(), all.end(), [](const Part& a, const Part& b) { return a.saved > b.saved; });
    std::string text;
    for (std::size_t i = 0; i < std::min<std::size_t>(2, all.size()) && all[i].saved > 0; ++i)
      text += (text.empty() ? "" : ", ") + all[i].name + ": " + with_separators(static_cast<double>(all[i].count)) +
              " instead of " + with_separators(static_cast<double>(all[i].others));
    return text.empty() ? "" : " (" + text + ")";
  }

  [[nodiscard]] std::string beside_dearest(std::int64_t dearest) const {
    const auto& other = at(dearest);
    const auto text = "Beside the dearest one, " + of_.space.label(dearest) + ", its " + what_costs() + " costs " +
                      less(design_.money(chosen_), design_.money(dearest)) + " less, " + price(chosen_) +
                      " instead of " + price(dearest) + parts(chosen_, dearest) + ", and the run takes ";
    if (other.timed) return text + change_of_run(other.timed->run_s) + wait(dearest) + ".";
    return text + fixed(timed(chosen_).run_s / day_s, 1) + " days, where that one takes at least " +
           fixed(other.bound_s / day_s, 1) + ".";
  }
  /// "1.2 % less"
  [[nodiscard]] std::string change_of_run(double other_s) const {
    const double change = timed(chosen_).run_s / other_s - 1;
    return std::abs(change) < 5e-4 ? "as long" : percent(std::abs(change)) + (change < 0 ? " less" : " more");
  }

  [[nodiscard]] std::string beside_front(std::int64_t other) const {
    const double dearer = design_.money(chosen_) / design_.money(other) - 1;
    return "Beside " + place(other) + " its " + what_costs() + " costs " + percent(std::abs(dearer)) +
           (dearer < 0 ? " less" : " more") + ", and the run takes " + change_of_run(timed(other).run_s) + wait(other) +
           ".";
  }

  /// Of the scenario whose step differs most: along which axes it waits for less, or for more, than on the other one.
  [[nodiscard]] std::string wait(std::int64_t other) const {
    const auto& own = timed(chosen_);
    const auto& its = timed(other);
    std::size_t scenario = 0;
    const auto change = [&](std::size_t i) { return std::abs(own.step_s[i] / its.step_s[i] - 1); };
    for (std::size_t i = 1; i < own.step_s.size(); ++i) {
      if (change(i) > change(scenario)) scenario = i;
    }
    if (change(scenario) < 5e-4) return "";
    const bool is_shorter = own.step_s[scenario] < its.step_s[scenario];
    double most = 0;
    std::string axis;
    const auto look = [&](const std::string& name) {
      const double difference = exposed(its, scenario, name) - exposed(own, scenario, name);
      const double wanted = is_shorter ? difference : -difference;
      if (wanted > most) most = wanted, axis = name;
    };
    for (const auto& one : its.exposed_s[scenario]) look(one.first);
    for (const auto& one : own.exposed_s[scenario]) look(one.first);
    const auto name = of_.space.workloads().size() == 1
                          ? std::string("a step")
                          : "a step of " + of_.space.workloads()[scenario].file.stem().string();
    std::string text = ": " + name + " takes " + format(Seconds(own.step_s[scenario])) + " instead of " +
                       format(Seconds(its.step_s[scenario]));
    if (axis.empty()) return text;
    return text + " and waits " + format(Seconds(most)) + (is_shorter ? " less" : " more") + " for collectives along " +
           axis;
  }
  [[nodiscard]] static double exposed(const TimedNetwork& run, std::size_t scenario, const std::string& axis) {
    const auto found = run.exposed_s[scenario].find(axis);
    return found == run.exposed_s[scenario].end() ? 0 : found->second;
  }

  [[nodiscard]] std::string next_money(std::int64_t number) const {
    const auto next = design_.next(number);
    const std::string text = "10 % more money " +
                             std::string(design_.has_equal_chips() ? "for the network" : "an hour") + " than " +
                             place(number) + " costs buys ";
    const auto shorter = [&](std::int64_t other) { return less(timed(other).run_s, timed(number).run_s) + " shorter"; };
    if (next.within && design_.money(*next.within) > design_.money(number))
      return text + place(*next.within) + ": a run that is " + shorter(*next.within) + ", for " +
             more(design_.money(*next.within), design_.money(number)) + " more.";
    if (next.within) return text + "nothing: " + place(*next.within) + " is as fast and costs no more.";
    if (next.dearer)
      return text + "nothing; " + place(*next.dearer) + " costs " +
             more(design_.money(*next.dearer), design_.money(number)) + " more, and its run is " +
             shorter(*next.dearer) + ".";
    return text + "nothing: none of this list is faster.";
  }

  /// A run costs c + f n: f, the prices of the network over those of the list; n, its part of the run's cost. The
  /// chosen one is the cheapest while c + f n <= c' + f n' for every other one of the front.
  [[nodiscard]] std::string other_prices() const {
    double least = 0, most = std::numeric_limits<double>::infinity();
    std::int64_t below = -1, above = -1;
    for (const auto other : design_.front) {
      const double slope = timed(chosen_).for_network - timed(other).for_network;
      const double ahead =
          timed(other).total - timed(other).for_network - timed(chosen_).total + timed(chosen_).for_network;  // c' - c
      if (other == chosen_ || slope == 0) continue;
      const double factor = ahead / slope;
      if (slope > 0 && factor < most) most = factor, above = other;
      if (slope < 0 && factor > least) least = factor, below = other;
    }
    if (below < 0 && above < 0) return "It is the cheapest run of this list whatever the network's parts cost.";
    std::string text = "It stays the cheapest run of this list while the network's parts cost ";
    const auto times = [](double factor) { return fixed(factor, 2) + " times"; };
    if (below >= 0 && above >= 0) {
      text += "from " + fixed(least, 2) + " to " + times(most);
    } else {
      text += below >= 0 ? "more than " + times(least) : "less than " + times(most);
    }
    text += " what they do;";
    if (below >= 0) text += " below that, " + place(below) + " would be cheaper";
    if (below >= 0 && above >= 0) text += ", and";
    if (above >= 0) text += " above that, " + place(above) + " would be cheaper";
    return text + ".";
  }

  const DesignedSpace& of_;
  const NetworkDesign& design_;
  std::int64_t chosen_;
};

}  // namespace

std::string money_text(double amount) {
  return amount >= 1000 ? with_separators(std::round(amount)) : fixed(amount, 2);
}

DesignReasons network_design_reasons(const DesignedSpace& of, const NetworkDesign& design) {
  if (!design.front.empty()) return Reasons(of, design).all();
  const bool tried = design.count(Fate::simulated) > 0 || !design.stopped;
  return {tried ? "No network was found on which the scenarios run and fit."
                : "The search was stopped before any network was simulated.",
          {},
          {}};
}

}  // namespace lockstep::output
