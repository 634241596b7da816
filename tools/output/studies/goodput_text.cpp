#include "tools/output/studies/goodput_text.hpp"

#include <cmath>
#include <nlohmann/json.hpp>

#include "sim/core/counted.hpp"
#include "sim/core/long_time.hpp"
#include "sim/core/quantity_text.hpp"
#include "tools/output/elements/json_document.hpp"
#include "tools/output/elements/table.hpp"
#include "tools/output/results/scenario_inputs.hpp"

namespace lockstep::output {
namespace {

constexpr double day = 86400;

std::string two_digits(double fraction) { return fixed(100 * fraction, 2) + " %"; }

double days_of(const GoodputAim& aim, double useful) { return *aim.tokens / (aim.tokens_per_s * useful * day); }
/// Of all chips that are paid for.
double chip_hours_of(const GoodputAim& aim, double useful) {
  return days_of(aim, useful) * 24 * static_cast<double>(aim.chips + aim.spare_chips);
}
std::string tokens_text(double tokens) {
  const double billions = tokens / 1e9;
  return billions < 1     ? with_separators(tokens)
         : billions < 1e3 ? six_digits(billions) + "e9"
                          : in_threes(fixed(billions, 0)) + "e9";
}
/// "2.3 days"; shorter times in hours and less.
std::string days_text(double days) { return days < 2 ? format_long(Seconds(days * day)) : fixed(days, 1) + " days"; }

std::string checkpoint_text(const goodput::GoodputStudy& study) {
  const auto& model = study.model;
  std::string text = "checkpoint of " + format(model.checkpoint) + ": training stands still for " + format(model.stall);
  if (model.until_durable > Seconds(0)) text += ", safe " + format(model.until_durable) + " later";
  text += ", read in " + format(model.read) + "; every " + format_long(model.interval);
  if (model.step > Seconds(0)) text += " (" + fixed(std::round(model.interval / model.step), 0) + " steps)";
  text += ".\nThe best interval is " + format_long(study.best.interval) + " with " + two_digits(study.best.useful);
  if (study.model.failure_rate() > 0) text += "; first order, sqrt(2 C M) = " + format_long(study.first_order);
  text += ".\n  every";
  for (const auto& choice : study.around)
    text += "  " + format_long(choice.interval) + ": " + two_digits(choice.useful);
  return text + "\n";
}

std::string count_text(const goodput::Cause& cause) {
  const auto kind = std::string(scenario::component_names[cause.of]);
  return cause.of == scenario::Component::job ? kind : with_separators(static_cast<double>(cause.count)) + " x " + kind;
}

std::string causes_text(const goodput::GoodputStudy& study) {
  const auto& model = study.model;
  Table table({"interruption", "of", "MTBF of one", "a day", "lost work", "recovery", "waiting", "all"});
  for (std::size_t i = 0; i < model.causes.size(); ++i) {
    const auto& cause = model.causes[i];
    const auto& share = study.expected.causes[i];
    if (!cause.stops) continue;
    table.add({cause.name, count_text(cause), format_long(cause.mtbf()), fixed(share.interruptions * day, 2),
               two_digits(share.lost_work), two_digits(share.recovery), two_digits(share.waiting),
               two_digits(share.lost_work + share.recovery + share.waiting)});
  }
  const auto all = study.expected.all_causes();
  table.add({"all", "", "", fixed(all.interruptions * day, 2), two_digits(all.lost_work), two_digits(all.recovery),
             two_digits(all.waiting), two_digits(all.lost_work + all.recovery + all.waiting)});
  return table.to_string();
}

/// Parts that are broken for a while and do not stop the run.
std::string broken_parts_text(const goodput::GoodputStudy& study) {
  const auto& model = study.model;
  Table table({"goes on without", "of", "MTBF of one", "a day", "broken", "step", "slower"});
  bool any = false;
  for (std::size_t i = 0; i < model.causes.size(); ++i) {
    const auto& cause = model.causes[i];
    const auto& share = study.expected.causes[i];
    if (cause.stops) continue;
    any = true;
    table.add({cause.name, count_text(cause), format_long(cause.mtbf()), fixed(share.losses * day, 2),
               fixed(cause.rate * cause.repair.value(), 2), signed_percent(1 / cause.speed - 1),
               two_digits(share.slower)});
  }
  return any ? table.to_string() +
                   "broken: parts on average; step: simulated without one; slower: share of the time\n\n"
             : "";
}

/// Of hosts that are missing, and beside a checkpoint.
std::string speeds_text(const goodput::RunModel& model) {
  std::string text;
  if (model.elastic && !model.speeds.empty()) {
    for (std::size_t i = 0; i < model.speeds.size(); ++i)
      text += (i == 0 ? "" : ", ") + std::to_string(i + 1) + ": " + two_digits(model.speeds[i]);
    text = "speed with so many hosts missing, simulated: " + text + "\n";
  }
  if (model.speed_while_writing < 1)
    text +=
        "speed while a checkpoint is written over the NICs, at least: " + two_digits(model.speed_while_writing) + "\n";
  return text;
}

std::string spares_text(const goodput::GoodputStudy& study) {
  if (!study.spares) return "";
  Table table({"spare hosts", "waits: useful", "of a chip", "elastic: useful", "of a chip"});
  for (const auto& row : study.spares->rows) {
    table.add({std::to_string(row.waiting.spares), two_digits(row.waiting.useful), two_digits(row.waiting.of_a_chip),
               two_digits(row.elastic.useful), two_digits(row.elastic.of_a_chip)});
  }
  const auto best = [](const goodput::SpareChoice& choice) {
    return std::to_string(choice.spares) + " (" + two_digits(choice.of_a_chip) + ")";
  };
  return "\n" + table.to_string() + "most useful time of a chip, spares included: " + best(study.spares->best_waiting) +
         " where the run waits for repairs, " + best(study.spares->best_elastic) + " where it is elastic\n";
}

/// Failures in the length of a simulated run.
std::string published_text(const goodput::GoodputStudy& study) {
  if (!study.published) return "";
  const auto& beside = *study.published;
  const auto count = [&](const std::optional<double>& rate, const std::string& none) {
    return rate ? with_separators(std::round(*rate * study.simulated.length.value())) : none;
  };
  Table table({"failures in " + format_long(study.simulated.length), "own rates", "published rates"});
  for (const auto& kind : beside.kinds)
    table.add(
        {std::string(scenario::component_names[kind.of]), count(kind.own, "no class"), count(kind.published, "none")});
  table.add({"all", count(beside.own, ""), count(beside.published, "")});
  table.add({"training that counts", two_digits(study.expected.useful), two_digits(beside.shares.useful)});
  return table.to_string() + "failures that stop the run; planned stops are left out\n\n";
}

nlohmann::ordered_json published_json(const goodput::GoodputStudy& study) {
  using Json = nlohmann::ordered_json;
  if (!study.published) return {};
  const auto& beside = *study.published;
  const auto per_day = [](const std::optional<double>& rate) { return rate ? Json(*rate * day) : Json(); };
  Json kinds = Json::array();
  for (const auto& kind : beside.kinds)
    kinds.push_back({{"of", std::string(scenario::component_names[kind.of])},
                     {"own_per_day", per_day(kind.own)},
                     {"published_per_day", per_day(kind.published)}});
  return {{"goodput", beside.shares.useful},
          {"own_per_day", beside.own * day},
          {"published_per_day", beside.published * day},
          {"kinds", kinds}};
}

nlohmann::ordered_json shares_json(const goodput::TimeShares& shares) {
  const auto all = shares.all_causes();
  return {{"useful", shares.useful},           {"checkpoints", shares.checkpoints},
          {"lost_work", all.lost_work},        {"recovery", all.recovery},
          {"waiting_for_repair", all.waiting}, {"fewer_chips", shares.fewer_chips},
          {"broken_parts", all.slower},        {"beside_checkpoints", shares.beside_writing}};
}

nlohmann::ordered_json spares_json(const goodput::GoodputStudy& study) {
  using Json = nlohmann::ordered_json;
  if (!study.spares) return {};
  const auto choice = [](const goodput::SpareChoice& one) {
    return Json{{"hosts", one.spares}, {"goodput", one.useful}, {"goodput_of_a_chip", one.of_a_chip}};
  };
  Json json{{"best_waiting", choice(study.spares->best_waiting)},
            {"best_elastic", choice(study.spares->best_elastic)},
            {"waiting", Json::array()},
            {"elastic", Json::array()},
            {"speeds_with_hosts_missing", study.model.speeds}};
  for (const auto& row : study.spares->rows) {
    json["waiting"].push_back(choice(row.waiting));
    json["elastic"].push_back(choice(row.elastic));
  }
  return json;
}

/// JSON has no infinity: a time between failures that never happen is null.
nlohmann::ordered_json finite(double value) {
  return std::isfinite(value) ? nlohmann::ordered_json(value) : nlohmann::ordered_json();
}

}  // namespace

std::string goodput_text(const scenario::Scenario& scenario, const goodput::GoodputStudy& study,
                         const GoodputAim& aim) {
  const auto& expected = study.expected;
  const auto& simulated = study.simulated;
  const auto all = expected.all_causes();
  std::string text = scenario.name + ": goodput of " + model_text(scenario) + " on " + chips_text(scenario) + "\n\n";
  text += "useful time " + two_digits(expected.useful) + " by the renewal formula; " +
          two_digits(simulated.mean.useful) + " +- " + two_digits(simulated.half_width) + " (95 %) by simulation of " +
          std::to_string(simulated.runs) + " runs of " + format_long(simulated.length) + ",\nnine of ten between " +
          two_digits(simulated.low) + " and " + two_digits(simulated.high) + "\n";
  if (all.interruptions > 0)
    text += "interrupted every " + format_long(Seconds(1 / all.interruptions)) + ", " +
            fixed(all.interruptions * simulated.length.value(), 0) + " times in " + format_long(simulated.length) +
            "\n\n";
  else
    text += "never interrupted\n\n";

  Table losses({"time goes to", "formula", "simulated"});
  const auto row = [&](const std::string& name, double by_formula, double by_simulation) {
    losses.add({name, two_digits(by_formula), two_digits(by_simulation)});
  };
  const auto seen = simulated.mean.all_causes();
  row("training that counts", expected.useful, simulated.mean.useful);
  row("checkpoints", expected.checkpoints, simulated.mean.checkpoints);
  row("work done again", all.lost_work, seen.lost_work);
  row("detection, restart, reading", all.recovery, seen.recovery);
  row("waiting for repair", all.waiting, seen.waiting);
  if (study.model.elastic) row("fewer chips", expected.fewer_chips, simulated.mean.fewer_chips);
  if (all.losses > 0) row("slower beside broken parts", all.slower, seen.slower);
  if (study.model.speed_while_writing < 1)
    row("slower beside checkpoints", expected.beside_writing, simulated.mean.beside_writing);
  text += losses.to_string() + "\n" + causes_text(study) + "\n" + published_text(study) + broken_parts_text(study) +
          checkpoint_text(study) + speeds_text(study.model) + spares_text(study);
  for (const auto& note : study.notes) text += note + "\n";

  if (aim.tokens_per_s <= 0) return text;
  text += "\n" + with_separators(std::round(aim.tokens_per_s)) +
          " tokens/s while it trains: " + fixed(aim.tokens_per_s * expected.useful * day / 1e9, 1) +
          "e9 tokens a day\n";
  if (aim.tokens) {
    text += tokens_text(*aim.tokens) + " tokens take " + days_text(days_of(aim, expected.useful)) +
            " (nine of ten runs: " + days_text(days_of(aim, simulated.high)) + " to " +
            days_text(days_of(aim, simulated.low)) + "), " +
            with_separators(std::round(chip_hours_of(aim, expected.useful))) + " chip hours";
    if (aim.spare_chips > 0) text += ", those of " + counted(aim.spare_chips, "spare chip") + " included";
    if (aim.price_per_chip_hour)
      text += ", cost " + with_separators(std::round(chip_hours_of(aim, expected.useful) * *aim.price_per_chip_hour));
    text += "\n";
  }
  return text;
}

std::string goodput_json(const scenario::Scenario& scenario, const goodput::GoodputStudy& study,
                         const GoodputAim& aim) {
  using Json = nlohmann::ordered_json;
  const auto& model = study.model;
  const auto& simulated = study.simulated;
  const auto all = study.expected.all_causes();
  Json json = {{"scenario", scenario.name},
               {"chips", aim.chips},
               {"goodput", study.expected.useful},
               {"shares", shares_json(study.expected)},
               {"mean_time_between_interruptions_s", finite(1 / all.interruptions)},
               {"simulation",
                {{"goodput", simulated.mean.useful},
                 {"half_width_95", simulated.half_width},
                 {"percentile_5", simulated.low},
                 {"percentile_95", simulated.high},
                 {"runs", simulated.runs},
                 {"seed", simulated.seed},
                 {"length_s", simulated.length.value()},
                 {"shares", shares_json(simulated.mean)}}},
               {"checkpoint",
                {{"size_bytes", model.checkpoint.value()},
                 {"stall_s", model.stall.value()},
                 {"speed_while_writing", model.speed_while_writing},
                 {"until_durable_s", model.until_durable.value()},
                 {"read_s", model.read.value()},
                 {"interval_s", model.interval.value()},
                 {"best_interval_s", study.best.interval.value()},
                 {"goodput_at_best", study.best.useful},
                 {"first_order_interval_s", finite(study.first_order.value())}}},
               {"intervals", Json::array()},
               {"interruptions", Json::array()},
               {"step_time_s", model.step.value()},
               {"tokens_per_s", aim.tokens_per_s},
               {"tokens_per_day", aim.tokens_per_s * study.expected.useful * day}};
  for (const auto& choice : study.around)
    json["intervals"].push_back({{"interval_s", choice.interval.value()}, {"goodput", choice.useful}});
  for (std::size_t i = 0; i < model.causes.size(); ++i) {
    const auto& cause = model.causes[i];
    const auto& share = study.expected.causes[i];
    json["interruptions"].push_back({{"name", cause.name},
                                     {"of", std::string(scenario::component_names[cause.of])},
                                     {"count", cause.count},
                                     {"mtbf_s", cause.mtbf().value()},
                                     {"planned", cause.planned},
                                     {"stops", cause.stops},
                                     {"speed", cause.stops ? Json() : Json(cause.speed)},
                                     {"per_day", (cause.stops ? share.interruptions : share.losses) * day},
                                     {"lost_work", share.lost_work},
                                     {"recovery", share.recovery},
                                     {"waiting_for_repair", share.waiting},
                                     {"slower", share.slower}});
  }
  json["spares"] = spares_json(study);
  json["published"] = published_json(study);
  json["notes"] = study.notes;
  if (aim.tokens) {
    const double useful = study.expected.useful;
    json["training"] = {
        {"tokens", *aim.tokens}, {"days", days_of(aim, useful)}, {"chip_hours", chip_hours_of(aim, useful)}};
    if (aim.price_per_chip_hour) json["training"]["cost"] = chip_hours_of(aim, useful) * *aim.price_per_chip_hour;
  }
  return json_document(json);
}

}  // namespace lockstep::output
