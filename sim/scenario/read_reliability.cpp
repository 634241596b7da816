#include "sim/scenario/reading_private.hpp"

namespace lockstep::scenario {
namespace {

constexpr std::int64_t most_components = 1'000'000'000;

void read_rate(const YamlView& view, InterruptionClass& into) {
  const std::string expected = "mtbf: 50000 h, or observed: {failures: 148, over: 54 days, among: 16384}";
  const auto mtbf = view["mtbf"];
  const auto observed = view["observed"];
  if (mtbf.exists() && observed.exists()) return observed.problem("cannot be given with mtbf", "one of the two");
  if (mtbf.exists()) {
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

InterruptionClass read_class(const std::string& name, const YamlView& view) {
  InterruptionClass result;
  result.name = name;
  const auto of = view.require("of", "what is interrupted: chip, host, nic, switch, link or job");
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
  view.refuse_unknown_keys();
  return result;
}

void read_checkpoint(const YamlView& view, KeyReader& keys, CheckpointSpec& checkpoint) {
  const auto interval = keys.optional(view, "interval");
  if (interval.exists() && interval.text() != "optimal") checkpoint.interval = interval.seconds();
  const auto size = keys.optional(view, "size");
  if (size.exists()) checkpoint.size = size.bytes();
  const auto write =
      keys.require(view, "write_bandwidth", "the rate at which the whole run writes a checkpoint, such as 2 TB/s");
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

ReliabilitySpec read_reliability(const YamlView& view, KeyReader& keys) {
  ReliabilitySpec result;
  if (!view.expect_map("{failures: {...}, restart: 5 min, checkpoint: {...}}")) return result;
  const auto failures =
      keys.require(view, "failures", "classes of interruptions, such as {gpu: {of: chip, mtbf: 50000 h}}");
  if (failures.exists() && failures.expect_map("classes of interruptions, such as {gpu: {of: chip, mtbf: 50000 h}}")) {
    for (const auto& name : failures.keys()) {
      const auto one = keys.optional(failures, name);
      if (one.expect_map("such as {of: chip, mtbf: 50000 h}")) result.classes.push_back(read_class(name, one));
    }
    if (failures.keys().empty()) failures.problem("is empty", "at least one class");
  }
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
