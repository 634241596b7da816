#include "sim/scenario/reading_private.hpp"

namespace lockstep::scenario {
namespace {

constexpr std::int64_t most_components = 1'000'000'000;
constexpr std::int64_t most_tiers = 16;
constexpr double most_slowdown = 1e6, least_bandwidth = 1e-6;

/// The rate of the first class of the catalog that is of the same component.
void take_published_rate(const YamlView& mtbf, InterruptionClass& into) {
  for (const auto& row : published_failures()) {
    if (row.of != into.of) continue;
    into.mtbf = row.mtbf;
    into.observed = row.observed;
    into.over = row.over;
    into.among = row.among;
    return;
  }
  mtbf.problem("the catalog has no published rate of a " + std::string(component_names[into.of]),
               "a time between failures of one, such as 50000 h");
}

void read_rate(const YamlView& view, InterruptionClass& into) {
  const std::string expected = "mtbf: 50000 h, or observed: {failures: 148, over: 54 days, among: 16384}";
  const auto mtbf = view["mtbf"];
  const auto observed = view["observed"];
  if (mtbf.exists() && observed.exists()) return observed.problem("cannot be given with mtbf", "one of the two");
  if (mtbf.exists()) {
    if (mtbf.is_scalar() && mtbf.text() == "published") return take_published_rate(mtbf, into);
    into.mtbf = mtbf.seconds();
    return;
  }
  if (!observed.exists()) return view.problem("has no rate", expected);
  if (!observed.expect_map("such as {failures: 148, over: 54 days, among: 16384}")) return;
  const auto failures = observed.require("failures", "how many were counted");
  const auto over = observed.require("over", "the time in which they were counted, such as 54 days");
  const auto among = observed["among"];
  if (failures.exists()) into.observed = failures.number(1e-9, 1e12);
  if (over.exists()) into.over = over.seconds();
  if (among.exists()) into.among = among.integer(1, most_components);
  observed.refuse_unknown_keys();
}

bool in_network(Component of) {
  return of == Component::network_switch || of == Component::link || of == Component::optic;
}

/// What a job that goes on without a part has left of it.
void read_what_is_left(const YamlView& view, InterruptionClass& into) {
  const auto stops = view["stops"];
  const bool unclear = stops.exists() && !(stops.is_scalar() && (stops.text() == "true" || stops.text() == "false"));
  if (stops.exists()) into.stops = stops.boolean() || unclear;
  const auto bandwidth = view["bandwidth"], slowdown = view["slowdown"];
  if (bandwidth.exists()) into.bandwidth = bandwidth.number(least_bandwidth, 1);
  if (slowdown.exists()) into.slowdown = slowdown.number(1, most_slowdown);
  const auto only = [&](const YamlView& key, bool fits, const char* expected) {
    if (key.exists() && !unclear && (into.stops || !fits))
      key.problem("says what is left of a part that does not stop the job", expected);
  };
  only(bandwidth, into.of == Component::nic, "stops: false, and a class of NICs");
  only(slowdown, into.of == Component::chip || into.of == Component::host,
       "stops: false, and a class of chips or hosts");
  if (into.stops) return;
  if (into.of == Component::job) stops.problem("without the job nothing goes on", "a part of the cluster");
  if (into.planned) stops.problem("cannot be given with planned: true", "one of the two");
  if ((into.of == Component::chip || into.of == Component::host) && !slowdown.exists())
    stops.problem("a job does not go on without a chip",
                  "slowdown: how many times as long a broken one computes, such as 1.3");
}

InterruptionClass read_class(const std::string& name, const YamlView& view) {
  InterruptionClass result;
  result.name = name;
  const auto of = view.require("of", "what is interrupted: chip, host, nic, switch, link, optic or job");
  if (of.exists()) result.of = static_cast<Component>(of.choice({component_names.begin(), component_names.end()}));
  const auto count = view["count"];
  if (count.exists()) result.count = count.integer(1, most_components);
  if (count.exists() && result.of == Component::job)
    count.problem("there is one job", "count only of parts of the cluster");
  read_rate(view, result);
  const auto planned = view["planned"];
  if (planned.exists()) result.planned = planned.boolean();
  const auto time = [&](std::string_view key, std::optional<Seconds>& into) {
    const auto value = view[key];
    if (!value.exists()) return;
    into = value.seconds(true);
    if (result.planned && key != "restart")
      value.problem("cannot be given with planned: true",
                    "only restart: a planned stop is neither detected nor repaired");
  };
  time("detection", result.detection);
  time("restart", result.restart);
  time("repair", result.repair);
  const auto tier = view["tier"];
  if (tier.exists()) result.tier = tier.integer(result.of == Component::network_switch ? 1 : 0, most_tiers);
  if (tier.exists() && !in_network(result.of))
    tier.problem("only networks have tiers", "a class of switches, links or optics");
  read_what_is_left(view, result);
  (void)view["source"].text();
  view.refuse_unknown_keys();
  return result;
}

void read_classes(const YamlView& failures, KeyReader& keys, ReliabilitySpec& into) {
  const std::string expected = "published, or classes of interruptions, such as {gpu: {of: chip, mtbf: 50000 h}}";
  if (failures.is_scalar() && failures.text() == "published") {
    into.classes = published_failures();
    return;
  }
  if (!failures.expect_map(expected)) return;
  for (const auto& name : failures.keys()) {
    const auto one = keys.optional(failures, name);
    if (one.expect_map("such as {of: chip, mtbf: 50000 h}")) into.classes.push_back(read_class(name, one));
  }
  if (failures.keys().empty()) failures.problem("is empty", "at least one class");
}

/// A part that stays broken for no time slows nothing.
void check_repairs(const YamlView& failures, const ReliabilitySpec& spec) {
  for (const auto& one : spec.classes) {
    const auto usual = in_network(one.of) ? Seconds(0) : spec.repair;
    if (!one.stops && !one.planned && one.repair.value_or(usual) == Seconds(0))
      failures[one.name].problem("is broken for no time", "repair: how long the job goes on without it, such as 4 h");
  }
}

void read_checkpoint(const YamlView& view, KeyReader& keys, CheckpointSpec& checkpoint) {
  const auto interval = keys.optional(view, "interval");
  if (interval.exists() && interval.text() != "optimal") checkpoint.interval = interval.seconds();
  const auto size = keys.optional(view, "size");
  if (size.exists()) checkpoint.size = size.bytes();
  const auto host = keys.optional(view, "host_bandwidth");
  if (host.exists()) checkpoint.host = host.bytes_per_second();
  const auto over = keys.optional(view, "over");
  if (over.exists()) checkpoint.over_nics = over.choice({"storage", "nics"}) == 1;
  const bool is_limited = host.exists() || checkpoint.over_nics;
  const auto write = is_limited ? keys.optional(view, "write_bandwidth")
                                : keys.require(view, "write_bandwidth",
                                               "the rate at which the whole run writes a checkpoint, such as 2 TB/s");
  if (write.exists()) checkpoint.write = write.bytes_per_second();
  const auto read = keys.optional(view, "read_bandwidth");
  checkpoint.read = read.exists() ? read.bytes_per_second() : checkpoint.write;
  const auto mode = keys.optional(view, "mode");
  if (mode.exists()) checkpoint.asynchronous = mode.choice({"blocking", "asynchronous"}) == 1;
  const auto stall = keys.optional(view, "stall");
  if (stall.exists()) checkpoint.stall = stall.seconds(true);
  if (stall.exists() && !checkpoint.asynchronous)
    stall.problem("a blocking checkpoint stalls training for as long as it is written", "mode: asynchronous");
  if (checkpoint.asynchronous && !stall.exists()) {
    mode.problem("training stands still while a checkpoint is copied from the chips", "stall: how long, such as 5 s");
  }
  view.refuse_unknown_keys();
}

}  // namespace

const std::vector<InterruptionClass>& published_failures() {
  static const auto classes = [] {
    Problems problems;
    const auto root = YamlView::from_file(topology_catalog() / "failures.yaml", problems);
    std::vector<InterruptionClass> read;
    for (const auto& name : root.keys()) {
      read.push_back(read_class(name, root[name]));
      read.back().published = true;
    }
    problems.throw_if_any();
    return read;
  }();
  return classes;
}

ReliabilitySpec read_reliability(const YamlView& view, KeyReader& keys) {
  ReliabilitySpec result;
  if (!view.expect_map("{failures: {...}, restart: 5 min, checkpoint: {...}}")) return result;
  const auto failures =
      keys.require(view, "failures", "classes of interruptions, such as {gpu: {of: chip, mtbf: 50000 h}}");
  if (failures.exists()) read_classes(failures, keys, result);
  const auto time = [&](std::string_view key, Seconds& into) {
    const auto value = keys.optional(view, key);
    if (value.exists()) into = value.seconds(true);
  };
  const auto restart =
      keys.require(view, "restart", "the time from noticing an interruption to training again, such as 5 min");
  if (restart.exists()) result.restart = restart.seconds(true);
  time("detection", result.detection);
  time("reshard", result.reshard);
  time("repair", result.repair);
  check_repairs(failures, result);
  const auto spares = keys.optional(view, "spares");
  if (spares.exists()) result.spares = spares.integer(0, 1'000'000);
  keys.flag(view, "elastic", result.elastic);
  const auto checkpoint = keys.require(view, "checkpoint", "{write_bandwidth: ..., ...}");
  if (checkpoint.exists() && checkpoint.expect_map("{write_bandwidth: ..., ...}"))
    read_checkpoint(checkpoint, keys, result.checkpoint);
  view.refuse_unknown_keys();
  return result;
}

}  // namespace lockstep::scenario
