#include "sim/studies/design_networks/network_design.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <sstream>
#include <tuple>

#include "sim/core/quantity_text.hpp"
#include "sim/studies/isolated.hpp"
#include "sim/studies/planning/plan_search.hpp"

namespace lockstep::design_networks {
namespace {

using Fate = DesignedNetwork::Fate;
using planning::compared_time;

/// How many are decided at a time from what is known of all before them: few at first, when little is known.
std::size_t wave_after(std::size_t decided) { return std::clamp<std::size_t>(decided / 2, 2, 8); }

// ---- what passes from a child: fields with a tab after each ------------------------------------------

class Fields {
 public:
  explicit Fields(const std::string& text) : text_(text) {}
  std::string word() {
    std::string field;
    std::getline(text_, field, '\t');
    return field;
  }
  double number() { return std::stod(word()); }

 private:
  std::istringstream text_;
};

std::string field(const std::string& word) { return word + "\t"; }
std::string field(double number) { return exact(number) + "\t"; }

std::string to_text(const economics::MachinePrice& machine) {
  std::string text = field(machine.to_buy) + field(machine.chips_hour) + field(machine.hour) +
                     field(machine.network_power.value()) + field(machine.rated.value()) +
                     field(static_cast<double>(machine.network.size()));
  for (const auto& line : machine.network)
    text += field(line.part) + field(static_cast<double>(line.count)) + field(line.price) + field(line.power.value());
  text += field(static_cast<double>(machine.assumed.size()));
  for (const auto& sentence : machine.assumed) text += field(sentence);
  return text;
}

economics::MachinePrice machine_in(Fields& fields) {
  economics::MachinePrice machine;
  machine.to_buy = fields.number(), machine.chips_hour = fields.number(), machine.hour = fields.number();
  machine.network_power = Watts(fields.number()), machine.rated = Watts(fields.number());
  for (auto lines = static_cast<int>(fields.number()); lines > 0; --lines) {
    auto part = fields.word();
    const auto count = static_cast<std::int64_t>(fields.number());
    const double price = fields.number();
    machine.network.push_back({std::move(part), count, price, Watts(fields.number())});
  }
  for (auto sentences = static_cast<int>(fields.number()); sentences > 0; --sentences)
    machine.assumed.push_back(fields.word());
  return machine;
}

std::string to_text(const TimedNetwork& timed) {
  std::string text;
  for (const double figure : {timed.run_s, timed.for_chips, timed.for_network, timed.for_energy, timed.total,
                              timed.energy_j, static_cast<double>(timed.fit), static_cast<double>(timed.step_s.size())})
    text += field(figure);
  for (const double step_s : timed.step_s) text += field(step_s);
  for (const auto& exposed : timed.exposed_s) {
    text += field(static_cast<double>(exposed.size()));
    for (const auto& [axis, seconds] : exposed) text += field(axis) + field(seconds);
  }
  return text;
}

TimedNetwork timed_in(Fields& fields) {
  TimedNetwork timed;
  for (auto* figure :
       {&timed.run_s, &timed.for_chips, &timed.for_network, &timed.for_energy, &timed.total, &timed.energy_j})
    *figure = fields.number();
  timed.fit = static_cast<studies::Fit>(fields.number());
  for (auto steps = static_cast<int>(fields.number()); steps > 0; --steps) timed.step_s.push_back(fields.number());
  for (std::size_t scenario = 0; scenario < timed.step_s.size(); ++scenario) {
    auto& exposed = timed.exposed_s.emplace_back();
    for (auto axes = static_cast<int>(fields.number()); axes > 0; --axes) {
      auto axis = fields.word();
      exposed[std::move(axis)] = fields.number();
    }
  }
  return timed;
}

/// The first problem, without its place in the space's file, for a list of many.
std::string first_problem(const ConfigError& error) {
  const auto without_tabs = [](std::string text) {
    std::replace(text.begin(), text.end(), '\t', ' ');
    return text;
  };
  return field(without_tabs(error.problems().front().what)) + field(without_tabs(error.problems().front().expected));
}

class Walk {
 public:
  Walk(const NetworkSpace& space, const DesignAim& aim, const DesignOptions& options, spdlog::logger& log)
      : space_(space), aim_(aim), options_(options), log_(log) {
    design_.networks.resize(position_of(space.size()));
  }

  NetworkDesign run() {
    engine::load(options_.engine);
    count_parts();
    order_by_price();
    for (std::size_t next = 0; next < order_.size() && !design_.stopped;) {
      const auto end = std::min(order_.size(), next + wave_after(next));
      decide({order_.begin() + static_cast<std::ptrdiff_t>(next), order_.begin() + static_cast<std::ptrdiff_t>(end)});
      next = end;
    }
    refuse_if_nothing_runs();
    finish();
    return std::move(design_);
  }

 private:
  using Clock = std::chrono::steady_clock;

  [[nodiscard]] DesignedNetwork& at(std::int64_t number) { return design_.networks[position_of(number)]; }
  [[nodiscard]] bool out_of_time() const {
    return (options_.interrupted && options_.interrupted()) ||
           std::chrono::duration<double>(Clock::now() - started_).count() >= options_.limit_s;
  }
  void tell(std::string_view stage, double done, double all) const {
    if (options_.progress) options_.progress(stage, done / std::max(1.0, all));
  }

  /// As studies::in_children, but starts none once the time is over.
  void in_children(std::size_t count, const std::function<std::string(std::size_t)>& work,
                   const std::function<void(std::size_t, const std::string&)>& take) {
    std::vector<studies::Child> running;
    std::vector<std::size_t> which;
    for (std::size_t next = 0; next < count || !running.empty();) {
      while (next < count && std::ssize(running) < options_.jobs) {
        if (out_of_time()) {
          design_.stopped = true;
          next = count;
          break;
        }
        running.emplace_back([&] { return work(next); });
        which.push_back(next++);
      }
      if (running.empty()) return;
      const auto ready = studies::Child::first_ready(running);
      auto child = std::move(running[ready]);
      const auto index = which[ready];
      running.erase(running.begin() + static_cast<std::ptrdiff_t>(ready));
      which.erase(which.begin() + static_cast<std::ptrdiff_t>(ready));
      take(index, child.answer());
    }
  }

  /// The bill of every network; of large machines each takes a good part of a second.
  void count_parts() {
    double counted = 0;
    const auto all = static_cast<double>(space_.size());
    in_children(
        design_.networks.size(), [&](std::size_t number) { return priced(static_cast<std::int64_t>(number)); },
        [&](std::size_t number, const std::string& answer) {
          take_price(static_cast<std::int64_t>(number), answer);
          tell("counting parts", ++counted, all);
        });
    all_counted_ = !design_.stopped;
  }

  [[nodiscard]] std::string priced(std::int64_t number) const {
    std::vector<scenario::Scenario> scenarios;
    try {
      scenarios = space_.scenarios(number);
      (void)prices_on(scenarios.front().cluster, *aim_.prices);
    } catch (const ConfigError& error) {
      return field("refused") + first_problem(error);
    }
    check_prices(scenarios.front().cluster, *aim_.prices);
    return field("built") + to_text(price_of_machine(scenarios.front().cluster, *aim_.prices));
  }

  void take_price(std::int64_t number, const std::string& answer) {
    Fields fields(answer);
    if (fields.word() == "built") {
      at(number).machine = machine_in(fields);
      order_.push_back(number);
    } else {
      refuse(number, fields);
    }
  }

  void refuse(std::int64_t number, Fields& fields) {
    at(number).fate = Fate::refused;
    at(number).refusal = fields.word();
    at(number).expected = fields.word();
  }

  void order_by_price() {
    const auto key = [&](std::int64_t number) {
      const auto& machine = at(number).machine;
      return std::tuple(machine.hour, machine.rated, number);
    };
    std::sort(order_.begin(), order_.end(), [&](auto a, auto b) { return key(a) < key(b); });
  }

  /// The fastest of the front so far that needs no more power than a network that is no cheaper than all of them.
  [[nodiscard]] std::int64_t fastest_with_power_of(std::int64_t number) {
    std::int64_t fastest = -1;
    for (const auto kept : kept_) {
      if (at(kept).machine.rated > at(number).machine.rated) continue;
      if (fastest < 0 || at(kept).timed->run_s < at(fastest).timed->run_s) fastest = kept;
    }
    return fastest;
  }

  [[nodiscard]] bool is_as_fast(double run_s, double as_run_s) const {
    return compared_time(run_s) <= compared_time(as_run_s * (1 + options_.within));
  }

  void decide(const std::vector<std::int64_t>& wave) {
    std::vector<std::int64_t> rivals;
    for (const auto number : wave) rivals.push_back(options_.prune ? fastest_with_power_of(number) : -1);
    in_children(
        wave.size(), [&](std::size_t i) { return decided(wave[i], rivals[i]); },
        [&](std::size_t i, const std::string& answer) {
          take(wave[i], rivals[i], answer);
          tell("simulating networks", ++decided_, static_cast<double>(order_.size()));
        });
    for (const auto number : wave) {
      if (at(number).fate == Fate::simulated) keep_if_better(number);
    }
  }

  [[nodiscard]] std::string decided(std::int64_t number, std::int64_t rival) {
    try {
      NetworkTimes times(space_, space_.scenarios(number), aim_);
      const double bound_s = times.least_run_s();
      if (rival >= 0 && is_as_fast(at(rival).timed->run_s, bound_s)) return field("pruned") + field(bound_s);
      return field("simulated") + field(bound_s) + to_text(times.simulated(options_.engine, log_));
    } catch (const ConfigError& error) {
      return field("refused") + first_problem(error);
    }
  }

  void take(std::int64_t number, std::int64_t rival, const std::string& answer) {
    Fields fields(answer);
    const auto word = fields.word();
    if (word == "refused") return refuse(number, fields);
    auto& network = at(number);
    network.bound_s = fields.number();
    network.fate = word == "pruned" ? Fate::pruned : Fate::simulated;
    if (network.fate == Fate::pruned)
      network.beaten_by = rival;
    else
      network.timed = timed_in(fields);
  }

  void keep_if_better(std::int64_t number) {
    if (!at(number).timed->is_answer()) return;
    const auto rival = fastest_with_power_of(number);
    if (rival < 0 || !is_as_fast(at(rival).timed->run_s, at(number).timed->run_s)) kept_.push_back(number);
  }

  void refuse_if_nothing_runs() {
    const auto runs = [](const DesignedNetwork& one) { return one.fate != Fate::refused; };
    if (std::any_of(design_.networks.begin(), design_.networks.end(), runs)) return;
    const auto& first = design_.networks.front();
    throw ConfigError({{{space_.workloads().front().file.string(), 0, 0},
                        "",
                        "runs on no network of the space, the first of which says: " + first.refusal,
                        first.expected}});
  }

  /// Of equally dear networks a later one may beat an earlier one.
  void finish() {
    const auto beats = [&](std::int64_t a, std::int64_t b) {
      const auto figures = [&](std::int64_t number) {
        const auto& one = at(number);
        return std::array{compared_time(one.timed->run_s), one.machine.hour, one.machine.rated.value()};
      };
      const auto ours = figures(a), theirs = figures(b);
      return ours != theirs && ours[0] <= theirs[0] && ours[1] <= theirs[1] && ours[2] <= theirs[2];
    };
    for (const auto number : kept_) {
      if (std::none_of(kept_.begin(), kept_.end(), [&](auto other) { return beats(other, number); }))
        design_.front.push_back(number);
    }
    if (!all_counted_) return;  // an unpriced network may be cheaper than any in the order
    for (const auto number : order_) {
      if (at(number).fate == Fate::open && design_.first_open < 0) design_.first_open = number;
    }
  }

  const NetworkSpace& space_;
  const DesignAim& aim_;
  const DesignOptions& options_;
  spdlog::logger& log_;
  Clock::time_point started_ = Clock::now();
  NetworkDesign design_;
  std::vector<std::int64_t> order_;  ///< those that can be built, the cheapest first
  std::vector<std::int64_t> kept_;   ///< not beaten by one before them in that order
  bool all_counted_ = false;
  double decided_ = 0;
};

}  // namespace

std::int64_t NetworkDesign::count(Fate fate) const {
  return std::count_if(networks.begin(), networks.end(), [&](const auto& one) { return one.fate == fate; });
}

bool NetworkDesign::has_equal_chips() const {
  std::optional<double> first;
  for (const auto& one : networks) {
    if (one.machine.hour <= 0) continue;
    if (first && *first != one.machine.chips_hour) return false;
    first = one.machine.chips_hour;
  }
  return true;
}

double NetworkDesign::money(std::int64_t network) const {
  const auto& machine = networks[position_of(network)].machine;
  return has_equal_chips() ? machine.to_buy : machine.hour;
}

std::vector<std::string> NetworkDesign::assumed() const {
  std::vector<std::string> told;
  for (const auto& one : networks) {
    for (const auto& sentence : one.machine.assumed) {
      if (std::find(told.begin(), told.end(), sentence) == told.end()) told.push_back(sentence);
    }
  }
  return told;
}

NetworkDesign::Next NetworkDesign::next(std::int64_t network, double more) const {
  const auto run_s = [&](std::int64_t of) { return networks[position_of(of)].timed->run_s; };
  Next found;
  for (const auto other : front) {
    if (run_s(other) >= run_s(network)) continue;
    if (!found.dearer || money(other) < money(*found.dearer)) found.dearer = other;
    if (money(other) > money(network) * (1 + more)) continue;
    if (!found.within || run_s(other) < run_s(*found.within)) found.within = other;
  }
  return found;
}

std::int64_t NetworkDesign::least_total() const {
  const auto total = [&](std::int64_t of) { return networks[position_of(of)].timed->total; };
  const auto least = std::min_element(front.begin(), front.end(), [&](auto a, auto b) { return total(a) < total(b); });
  return least == front.end() ? -1 : *least;
}

NetworkDesign design_network(const NetworkSpace& space, const DesignAim& aim, const DesignOptions& options,
                             spdlog::logger& log) {
  return Walk(space, aim, options, log).run();
}

}  // namespace lockstep::design_networks
