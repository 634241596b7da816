#include <algorithm>

#include "sim/core/quantity_text.hpp"
#include "tools/output/elements/table.hpp"
#include "tools/output/studies/placement_report.hpp"

namespace lockstep::output {
namespace {

using place_ranks::OrderUse;
using place_ranks::PlacedRanks;
using place_ranks::PlacementUse;

constexpr double alike = 5e-4;  ///< less than what a percentage shows

/// Whether layers were searched beside orders.
bool has_layers(const PlacedRanks& placed) { return !placed.layers.empty(); }

std::string bytes_text(double bytes) { return format(Bytes(static_cast<std::int64_t>(bytes))); }

std::string best_name(const PlacedRanks& placed) {
  if (!placed.has_other_layers()) return placed.best.name;
  return (placed.is_given ? "the scenario's order" : placed.best.name) + " with " + layers_text(placed.layers) +
         " layers";
}

std::string answer(const PlacedRanks& placed) {
  std::string text;
  if (is_shorter(placed.best.step, placed.given)) {
    text = (has_layers(placed) ? "The best order and layers found, " + best_name(placed) + ", take "
                               : "The best order found, " + best_name(placed) + ", takes ") +
           format(placed.best.step) + " a step, " + percent(1 - placed.best.step / placed.given) +
           " less than as the ranks stand, ";
  } else {
    text = std::string("No order ") + (has_layers(placed) ? "and no split of layers " : "") +
           "was found in which a step is noticeably shorter than as the ranks stand, ";
  }
  return text + format(placed.given) + "; no order " + (has_layers(placed) ? "with any split of layers " : "") +
         "takes less than " + format(placed.bound.time) + " (" + placed.bound.why + ").";
}

OrderUse::Axis axis_of(const OrderUse& use, const std::string& name) {
  const auto found = use.axes.find(name);
  return found == use.axes.end() ? OrderUse::Axis{} : found->second;
}

/// The axes whose collectives become shorter by most, and what they do to the links between switches.
std::vector<std::string> why(const PlacedRanks& placed, const PlacementUse& use) {
  if (!is_shorter(placed.best.step, placed.given)) return {};
  std::vector<std::string> text;
  struct Saved {
    std::string what;
    Seconds given, best;
  };
  std::vector<Saved> all{{"computes", use.given.compute, use.best.compute}, {"idles", use.given.idle, use.best.idle}};
  for (const auto& [name, axis] : use.given.axes)
    all.push_back({"waits for collectives along " + name, axis.exposed, axis_of(use.best, name).exposed});
  std::stable_sort(all.begin(), all.end(),
                   [](const Saved& a, const Saved& b) { return b.given - b.best < a.given - a.best; });
  const auto of_a_step = placed.given - placed.best.step;
  for (const auto& saved : all) {  // what is at least a tenth of the difference
    if (saved.given - saved.best < of_a_step * 0.1) break;
    text.push_back("The critical rank " + saved.what + " for " + format(saved.best) + " of a step instead of " +
                   format(saved.given) + ".");
  }
  for (const auto& [name, axis] : use.given.axes) {
    const double now = axis_of(use.best, name).between_switches;
    if (axis.between_switches <= now * (1 + alike)) continue;
    text.push_back("Collectives along " + name + " put " + bytes_text(now) + " on links between switches instead of " +
                   bytes_text(axis.between_switches) + ", " + percent(1 - now / axis.between_switches) + " less.");
  }
  if (use.given.busiest > use.best.busiest * (1 + alike))
    text.push_back("The busiest of these links needs " + format(use.best.busiest) +
                   " for the bytes of a step instead of " + format(use.given.busiest) + ".");
  return text;
}

std::vector<std::string> what_if(const PlacedRanks& placed, const PlacementUse& use) {
  std::vector<std::string> text;
  const auto step = placed.best.step;
  const std::string in_this = placed.has_other_layers() ? "in this order with these layers"
                              : placed.is_given         ? "as the ranks stand"
                                                        : "in this order";
  if (use.faster_links)
    text.push_back("With 10 % more bandwidth on all links between switches a step " + in_this + " would take " +
                   beside(*use.faster_links, step) +
                   (is_shorter(*use.faster_links, step) ? "." : ": it does not wait for them."));
  text.push_back("On one switch without limits and latencies a step " + in_this + " would take " +
                 (is_shorter(use.without_limits, step)
                      ? format(use.without_limits) + ": " + percent(1 - use.without_limits / step) +
                            " of the step is what the network beyond the NICs costs."
                      : beside(use.without_limits, step) + ": the network beyond the NICs costs nothing."));
  return text;
}

}  // namespace

bool is_shorter(Seconds step, Seconds than) { return step < than * (1 - alike); }

std::string beside(Seconds step, Seconds other) {
  if (is_shorter(step, other)) return format(step) + ", " + percent(1 - step / other) + " less";
  if (step > other * (1 + alike)) return format(step) + ", " + percent(step / other - 1) + " more";
  return format(step) + " too";
}

DesignReasons placement_reasons(const PlacedRanks& placed) {
  if (!placed.use) return {answer(placed), {}, {}};
  return {answer(placed), why(placed, *placed.use), what_if(placed, *placed.use)};
}

}  // namespace lockstep::output
