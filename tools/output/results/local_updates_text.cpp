#include "tools/output/results/local_updates_text.hpp"

#include <cmath>
#include <nlohmann/json.hpp>

#include "sim/core/counted.hpp"
#include "sim/core/long_time.hpp"
#include "sim/core/quantity_text.hpp"
#include "tools/output/elements/table.hpp"

namespace lockstep::output {
namespace {

using Json = nlohmann::ordered_json;
using metrics::OuterReduction;

std::string precision(std::int64_t bits) {
  return bits == 32 ? "fp32" : bits == 16 ? "bf16" : std::to_string(bits) + "-bit";
}

std::string bits(BytesPerSecond rate) {
  const double gigabits = rate.value() * 8 / 1e9;
  return gigabits > 0 && gigabits < 0.095 ? six_digits(std::round(1e4 * gigabits) / 10) + " Mb/s"
                                          : fixed(gigabits, 1) + " Gb/s";
}

Bytes whole(double bytes) { return Bytes(static_cast<std::int64_t>(bytes + 0.5)); }

}  // namespace

std::string local_updates_heading(const workloads::LocalUpdates& asked, const metrics::LocalUpdates& found) {
  return counted(found.sites, "site") + " of " + counted(found.chips_of_site, "chip") + " train apart along " +
         asked.axis + ": " + counted(asked.inner_steps, "inner step") + " of " + format(found.inner_step) +
         " a period, " + counted(asked.fragments, "fragment") +
         (asked.fragments > 1 ? ", one every " + counted(asked.steps_between(), "step") : "") + ", reduced in " +
         precision(asked.bits) +
         (asked.delay > 0 ? " beside " + counted(asked.delay, "inner step") : " while chips wait");
}

std::string local_updates_share(const metrics::LocalUpdates& found) {
  const auto of_step = [&](Seconds OuterReduction::*part) { return format(found.of_step(part)); };
  return "a step's mean share: " + of_step(&OuterReduction::exposed) + " exposed, " + of_step(&OuterReduction::slower) +
         " by which inner steps are slower, " + of_step(&OuterReduction::optimizer) + " outer optimizer";
}

std::string traffic_between_sites(const metrics::LocalUpdates& found) {
  const auto sent = found.sent_by_chip_of_period();
  return "a chip sends " + format(whole(sent)) + " to other sites in a period of " + format_up_to_long(found.period()) +
         ", " + format(whole(sent / static_cast<double>(found.inner_steps))) + " a step; a site's links carry " +
         bits(found.mean_rate_of_site()) + " on average and " + bits(found.peak_rate_of_site()) +
         " while the busiest fragment travels";
}

std::string fragments_text(const OuterReduction& reduction) {
  return std::to_string(reduction.first_fragment) +
         (reduction.fragments > 1 ? " and " + std::to_string(reduction.fragments - 1) + " like it" : "");
}

std::string local_updates_text(const workloads::LocalUpdates& asked, const metrics::LocalUpdates& found) {
  Table table({"fragment", "bytes (full)", "a chip sends", "reduction", "alone", "exposed", "slower", "optimizer",
               "site's links"});
  for (const auto& one : found.reductions)
    table.add({fragments_text(one), format(one.full_size), format(whole(one.sent_by_chip)), format(one.reduction),
               format(one.alone), format(one.exposed), format(one.slower), format(one.optimizer),
               bits(found.rate_of_site(one))});
  return local_updates_heading(asked, found) + "\n" + table.to_string() + "  " + local_updates_share(found) + "\n  " +
         traffic_between_sites(found) + "\n  global parameters and outer momentum take " + format(found.state) +
         " of " + (asked.on_host ? "a chip's share of its host" : "a chip") +
         (found.buffers > Bytes(0) ? ", outer gradients under way " + format(found.buffers) : "") + "\n";
}

Json local_updates_json(const workloads::LocalUpdates& asked, const metrics::LocalUpdates& found) {
  Json reductions = Json::array();
  for (const auto& one : found.reductions)
    reductions.push_back({{"fragments", one.fragments},
                          {"first_fragment", one.first_fragment},
                          {"full_bytes", one.full_size.value()},
                          {"sent_by_chip_bytes", one.sent_by_chip},
                          {"alone_s", one.alone.value()},
                          {"reduction_s", one.reduction.value()},
                          {"exposed_s", one.exposed.value()},
                          {"slower_s", one.slower.value()},
                          {"optimizer_s", one.optimizer.value()},
                          {"site_bytes_per_s", found.rate_of_site(one).value()}});
  const auto sent = found.sent_by_chip_of_period();
  return {{"axis", asked.axis},
          {"sites", found.sites},
          {"chips_of_site", found.chips_of_site},
          {"inner_steps", asked.inner_steps},
          {"fragments", asked.fragments},
          {"fragment_layers", asked.in_runs ? "sequential" : "interleaved"},
          {"delay", asked.delay},
          {"precision", precision(asked.bits)},
          {"outer_state", asked.on_host ? "host" : "chip"},
          {"inner_step_s", found.inner_step.value()},
          {"period_s", found.period().value()},
          {"exposed_s", found.of_step(&OuterReduction::exposed).value()},
          {"slower_s", found.of_step(&OuterReduction::slower).value()},
          {"optimizer_s", found.of_step(&OuterReduction::optimizer).value()},
          {"sent_by_chip_of_period_bytes", sent},
          {"sent_by_chip_of_step_bytes", sent / static_cast<double>(asked.inner_steps)},
          {"site_mean_bytes_per_s", found.mean_rate_of_site().value()},
          {"site_peak_bytes_per_s", found.peak_rate_of_site().value()},
          {"state_bytes", found.state.value()},
          {"buffer_bytes", found.buffers.value()},
          {"reductions", reductions}};
}

std::string inputs_text(const std::optional<workloads::LocalUpdates>& asked) {
  if (!asked) return "none";
  return asked->axis + ": " + counted(asked->inner_steps, "inner step") + ", " + counted(asked->fragments, "fragment") +
         (asked->in_runs ? " of layers in a row" : "") + ", delay " + std::to_string(asked->delay) + ", " +
         precision(asked->bits) + ", outer state on the " + (asked->on_host ? "host" : "chip");
}

}  // namespace lockstep::output
