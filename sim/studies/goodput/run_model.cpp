#include "sim/studies/goodput/run_model.hpp"

#include <algorithm>

#include "sim/core/quantity_text.hpp"
#include "sim/studies/goodput/renewal.hpp"
#include "topologies/fabrics/component_counts.hpp"
#include "workloads/sharded_layers/optimizer.hpp"

namespace lockstep::goodput {
namespace {

std::int64_t count_of(scenario::Component component, const topologies::ComponentCounts& counts) {
  switch (component) {
    case scenario::Component::chip: return counts.chips;
    case scenario::Component::host: return counts.hosts;
    case scenario::Component::nic: return counts.nics;
    case scenario::Component::network_switch: return counts.switches;
    case scenario::Component::link: return counts.links;
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
  cause.count = given.count.value_or(count_of(given.of, counts));
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

/// Adafactor's sums of rows and columns, well under a hundredth of the weights, are left out.
Bytes checkpoint_size(const scenario::Scenario& scenario, std::int64_t parameters, Problems& problems) {
  if (const auto given = scenario.reliability->checkpoint.size) return *given;
  if (parameters == 0) {
    const std::string key = "reliability.checkpoint";
    problems.add({scenario.where(key), key, "has no size, and without a model there are no weights to derive it from",
                  "size: such as 5 TB"});
    return Bytes(0);
  }
  workloads::WeightUpdate all{};
  all.optimizer_elements = parameters;
  return Bytes(2) * parameters + state_of(scenario.step.optimizer, all);
}

void check(const scenario::Scenario& scenario, const RunModel& model) {
  if (model.interval < model.least_interval()) {
    const std::string key = "reliability.checkpoint.interval";
    const bool step = model.least_interval() == model.step;
    throw ConfigError({{scenario.where(key), key,
                        "is shorter than " + std::string(step ? "a step" : "a checkpoint takes to be written"),
                        "at least " + format(model.least_interval())}});
  }
  if (expected_shares(model).useful > 1e-6) return;
  const std::string key = "reliability";
  throw ConfigError(
      {{scenario.where(key), key,
        "the run does not get on: it is interrupted every " + format(Seconds(1 / model.failure_rate())) + " on average",
        "longer times between failures, shorter ones to recover"}});
}

}  // namespace

double RunModel::failure_rate() const {
  double sum = 0;
  for (const auto& cause : causes) sum += cause.planned ? 0 : cause.rate;
  return sum;
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
  model.checkpoint = checkpoint_size(scenario, facts.parameters, problems);
  model.write = model.checkpoint / spec.checkpoint.write;
  model.read = model.checkpoint / spec.checkpoint.read;
  model.stall = spec.checkpoint.asynchronous ? spec.checkpoint.stall : model.write;
  model.until_durable = spec.checkpoint.asynchronous ? model.write : Seconds(0);
  model.reshard = spec.reshard;
  model.spares = spec.spares;
  model.elastic = spec.elastic;
  model.step = facts.step;
  const auto host_chips = counts.chips / std::max<std::int64_t>(counts.hosts, 1);
  model.share_of_host =
      static_cast<double>(std::max(host_chips, facts.replica_chips)) / static_cast<double>(counts.chips);
  for (const auto& given : spec.classes) {
    model.causes.push_back(cause_of(given, spec, counts, model.read));
    if (model.causes.back().count > 0) continue;
    const auto key = "reliability.failures." + given.name;
    problems.add({scenario.where(key), key, "the cluster has no " + std::string(scenario::component_names[given.of]),
                  "count: how many there are, or another component"});
  }
  problems.throw_if_any();
  model.interval = spec.checkpoint.interval.value_or(best_interval(model));
  check(scenario, model);
  return model;
}

}  // namespace lockstep::goodput
