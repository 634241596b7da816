#include "sim/studies/goodput/run_model.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "sim/core/long_time.hpp"
#include "sim/core/quantity_text.hpp"
#include "sim/studies/goodput/renewal.hpp"
#include "topologies/fabrics/component_counts.hpp"
#include "workloads/sharded_layers/optimizer.hpp"

namespace lockstep::goodput {
namespace {

std::int64_t count_of(const scenario::InterruptionClass& given, const topologies::ComponentCounts& counts) {
  const auto of_tier = [&](std::int64_t all, const std::vector<std::int64_t>& by_tier) {
    if (!given.tier) return all;
    if (*given.tier == 0) return counts.torus_links;
    return *given.tier > std::ssize(by_tier) ? 0 : by_tier[position_of(*given.tier) - 1];
  };
  switch (given.of) {
    case scenario::Component::chip: return counts.chips;
    case scenario::Component::host: return counts.hosts;
    case scenario::Component::nic: return counts.nics;
    case scenario::Component::network_switch: return of_tier(counts.switches, counts.switches_of_tier);
    case scenario::Component::link: return of_tier(counts.links, counts.links_of_tier);
    case scenario::Component::optic: return 2 * of_tier(counts.links, counts.links_of_tier);
    case scenario::Component::job: return 1;
  }
  return 1;
}

/// A spare host brings its chips and NICs.
bool part_of_host(scenario::Component component) {
  return component == scenario::Component::chip || component == scenario::Component::host ||
         component == scenario::Component::nic;
}

Cause cause_of(const scenario::InterruptionClass& given, const scenario::ReliabilitySpec& spec,
               const topologies::ComponentCounts& counts, Seconds read) {
  Cause cause;
  cause.name = given.name;
  cause.of = given.of;
  cause.planned = given.planned;
  cause.count = given.count.value_or(count_of(given, counts));
  const auto number = static_cast<double>(cause.count);
  cause.rate = given.mtbf > Seconds(0) ? number / given.mtbf.value()
                                       : given.observed / given.over.value() * number /
                                             static_cast<double>(given.among.value_or(cause.count));
  cause.recovery = given.restart.value_or(spec.restart) + read;
  if (given.planned) return cause;
  cause.recovery += given.detection.value_or(spec.detection);
  cause.spared = part_of_host(given.of);
  cause.repair = given.repair.value_or(cause.spared ? spec.repair : Seconds(0));
  return cause;
}

/// A class that does not stop the job, by what the loss of its parts comes to: those without which no path is left stop
/// it for as long as they are repaired.
std::vector<Cause> by_part(const Cause& whole, const std::vector<BrokenParts>& parts) {
  std::int64_t all = 0;
  for (const auto& part : parts) all += part.alike;
  std::vector<Cause> causes;
  for (const auto& part : parts) {
    const auto known = std::find_if(causes.begin(), causes.end(), [&](const Cause& cause) {
      return part.speed > 0 ? !cause.stops && cause.speed == part.speed : cause.stops;
    });
    const bool is_new = known == causes.end();
    auto& cause = is_new ? causes.emplace_back(whole) : *known;
    if (is_new) {
      cause.name += ", such as " + part.name;
      cause.count = 0;
      cause.rate = 0;
      cause.stops = part.speed == 0;
      cause.speed = part.speed;
      cause.spared = cause.spared && cause.stops;
    }
    const double share = static_cast<double>(part.alike) / static_cast<double>(all);
    cause.rate += share * whole.rate;
    cause.count += std::max<std::int64_t>(1, std::llround(share * static_cast<double>(whole.count)));
  }
  if (causes.size() == 1) causes.front().name = whole.name;
  return causes;
}

/// Adafactor's sums of rows and columns, well under a hundredth of the weights, are left out.
/// What all sites of local updates agree on, the outer optimizer's state, is there once.
Bytes checkpoint_size(const scenario::Scenario& scenario, const RunFacts& facts, Problems& problems) {
  if (const auto given = scenario.reliability->checkpoint.size) return *given;
  if (facts.parameters == 0) {
    const std::string key = "reliability.checkpoint";
    problems.add({scenario.where(key), key, "has no size, and without a model there are no weights to derive it from",
                  "size: such as 5 TB"});
    return Bytes(0);
  }
  workloads::WeightUpdate all{};
  all.optimizer_elements = facts.parameters;
  const auto of_site = Bytes(2) * facts.parameters + state_of(scenario.step.optimizer, all);
  const auto outer = scenario.step.local_updates ? workloads::outer_state_element * facts.parameters : Bytes(0);
  return of_site * facts.sites + outer;
}

/// Of the storage, for the whole run, and of the host that has the most; a rate of 0 is no limit.
Seconds slower_of(Bytes all, BytesPerSecond storage, Bytes on_host, BytesPerSecond host) {
  const auto time = [](Bytes size, BytesPerSecond rate) { return rate > BytesPerSecond(0) ? size / rate : Seconds(0); };
  return std::max(time(all, storage), time(on_host, host));
}

/// More than one failure a step is a mistake in a unit, not a run.
void check_rate(const scenario::Scenario& scenario, const Cause& cause, const std::string& key, Seconds step,
                Problems& problems) {
  if (cause.rate * step.value() <= 1) return;
  problems.add({scenario.where(key), key,
                "happens every " + format(Seconds(1 / cause.rate)) + ", more than once in a step of " + format(step),
                cause.count == 1 ? "a longer time between failures"
                                 : "a longer time between failures of one of the " + std::to_string(cause.count)});
}

void check(const scenario::Scenario& scenario, const RunModel& model) {
  if (model.interval < model.least_interval()) {
    const std::string key = "reliability.checkpoint.interval";
    const bool step = model.least_interval() == model.step;
    throw ConfigError({{scenario.where(key), key,
                        "is shorter than " + std::string(step ? "a step" : "a checkpoint takes to be written"),
                        "at least " + format(model.least_interval())}});
  }
  const auto shares = expected_shares(model);
  if (shares.useful > 1e-6) return;
  const auto all = shares.all_causes();
  struct Loss {
    double share;
    const char *of, *expected;
  };
  const std::array losses{
      Loss{all.lost_work, "work done again", "a shorter interval between checkpoints, longer times between failures"},
      Loss{all.recovery, "recovery", "longer times between failures, shorter ones to recover"},
      Loss{all.waiting, "waiting for repair", "a shorter repair, or more spares"},
      Loss{shares.fewer_chips, "missing hosts", "a shorter repair, or more spares"},
      Loss{all.slower, "training beside broken parts", "a shorter repair of these parts"},
      Loss{shares.checkpoints + shares.beside_writing, "checkpoints", "a longer interval between checkpoints"}};
  const auto& worst =
      *std::max_element(losses.begin(), losses.end(), [](const Loss& a, const Loss& b) { return a.share < b.share; });
  const double rate = model.failure_rate();
  const std::string key = "reliability";
  throw ConfigError(
      {{scenario.where(key), key,
        "the run does not get on: it is interrupted every " + format_long(Seconds(rate > 0 ? 1 / rate : HUGE_VAL)) +
            " on average, and most of its time goes to " + worst.of,
        worst.expected}});
}

}  // namespace

double RunModel::failure_rate() const {
  double sum = 0;
  for (const auto& cause : causes) sum += cause.planned || !cause.stops ? 0 : cause.rate;
  return sum;
}

double RunModel::speed_without(std::int64_t hosts) const {
  const auto known = std::ssize(speeds);
  if (hosts <= 0) return 1;
  if (hosts <= known) return speeds[position_of(hosts) - 1];
  const double last = speeds.empty() ? 1 : speeds.back();
  return std::max(0.0, last - share_of_host * static_cast<double>(hosts - known));
}

void check_has_reliability(const scenario::Scenario& scenario) {
  if (scenario.reliability) return;
  throw ConfigError({{scenario.where(""), "reliability", "missing",
                      "what interrupts the run: {failures: {gpu: {of: chip, mtbf: 50000 h}}, restart: 5 min, "
                      "checkpoint: {write_bandwidth: 1 TB/s}}"}});
}

std::int64_t replica_chips(const topologies::Mesh& mesh) {
  std::int64_t chips = mesh.ranks();
  for (const auto& axis : mesh.axes()) {
    if (axis.name == "data" || axis.name == "fsdp") chips /= axis.size();
  }
  return chips;
}

BytesPerSecond nics_rate(const scenario::Scenario& scenario) {
  const auto* node = scenario.cluster.node();
  if (node != nullptr) return node->nic * static_cast<double>(node->nics);
  return scenario.cluster.chip().dcn_per_host.value_or(BytesPerSecond(0));
}

std::int64_t paid_chips(const scenario::Scenario& scenario) {
  const auto chips = scenario.chips();
  if (!scenario.reliability) return chips;
  const auto hosts = std::max<std::int64_t>(count_components(scenario.cluster).hosts, 1);
  return chips + scenario.reliability->spares * (chips / hosts);
}

BytesPerSecond host_rate(const scenario::Scenario& scenario, bool beside_training) {
  const auto& checkpoint = scenario.reliability->checkpoint;
  if (!checkpoint.over_nics) return checkpoint.host;
  const auto nics = nics_rate(scenario) * (beside_training ? 0.5 : 1.0);
  return checkpoint.host > BytesPerSecond(0) ? std::min(checkpoint.host, nics) : nics;
}

double RunModel::hosts_in_repair() const {
  double sum = 0;
  for (const auto& cause : causes) sum += cause.spared ? cause.rate * cause.repair.value() : 0;
  return sum;
}

Seconds RunModel::least_interval() const { return std::max(step, until_durable); }

RunModel run_model(const scenario::Scenario& scenario, const RunFacts& facts) {
  const auto& spec = *scenario.reliability;
  const auto counts = count_components(scenario.cluster);
  Problems problems;
  RunModel model;
  model.checkpoint = checkpoint_size(scenario, facts, problems);
  if (spec.checkpoint.over_nics && nics_rate(scenario) == BytesPerSecond(0)) {
    const std::string key = "reliability.checkpoint.over";
    problems.add({scenario.where(key), key, "the cluster's hosts have no NICs", "storage"});
  }
  problems.throw_if_any();
  const double writer = facts.share_of_writer > 0 ? facts.share_of_writer : 1 / static_cast<double>(counts.hosts);
  const Bytes host_writes(std::llround(static_cast<double>(model.checkpoint.value()) * writer));
  const Bytes host_reads = facts.host_reads > Bytes(0) ? facts.host_reads : host_writes;
  model.write = slower_of(model.checkpoint, spec.checkpoint.write, host_writes,
                          host_rate(scenario, spec.checkpoint.asynchronous));
  model.read = slower_of(model.checkpoint, spec.checkpoint.read, host_reads, host_rate(scenario, false));
  model.stall = spec.checkpoint.asynchronous ? spec.checkpoint.stall : model.write;
  model.until_durable = spec.checkpoint.asynchronous ? model.write : Seconds(0);
  model.reshard = spec.reshard;
  model.spares = spec.spares;
  model.elastic = spec.elastic;
  model.step = facts.step;
  const auto host_chips = counts.chips / std::max<std::int64_t>(counts.hosts, 1);
  model.share_of_host =
      static_cast<double>(std::max(host_chips, facts.replica_chips)) / static_cast<double>(counts.chips);
  model.speeds = facts.speeds;
  if (spec.checkpoint.asynchronous) model.speed_while_writing = facts.speed_while_writing;
  for (std::size_t place = 0; place < spec.classes.size(); ++place) {
    const auto& given = spec.classes[place];
    const auto cause = cause_of(given, spec, counts, model.read);
    const auto key = "reliability.failures." + given.name;
    if (cause.count == 0) {
      if (given.published) continue;
      const auto tier = given.tier ? " of tier " + std::to_string(*given.tier) : "";
      problems.add({scenario.where(key), key,
                    "the cluster has no " + std::string(scenario::component_names[given.of]) + tier,
                    "count: how many there are, or another component"});
      continue;
    }
    check_rate(scenario, cause, key, facts.step, problems);
    const bool is_simulated = place < facts.broken.size() && !facts.broken[place].empty();
    const auto causes = is_simulated ? by_part(cause, facts.broken[place]) : std::vector{cause};
    model.causes.insert(model.causes.end(), causes.begin(), causes.end());
  }
  problems.throw_if_any();
  model.interval = spec.checkpoint.interval.value_or(best_interval(model));
  check(scenario, model);
  return model;
}

}  // namespace lockstep::goodput
