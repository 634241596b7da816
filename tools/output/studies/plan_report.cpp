#include "tools/output/studies/plan_report.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>

#include "sim/core/quantity_text.hpp"
#include "tools/output/elements/json_document.hpp"
#include "tools/output/elements/table.hpp"
#include "tools/output/results/error_band_text.hpp"
#include "tools/output/results/memory_verdict.hpp"
#include "tools/output/results/scenario_inputs.hpp"
#include "tools/output/results/scenario_notes.hpp"

namespace lockstep::output {
namespace {

using Json = nlohmann::ordered_json;

std::string recompute_name(const workloads::Recompute& recompute) {
  return recompute.all ? "full" : recompute.any() ? "selective" : "none";
}

std::string schedule_name(const planning::PlanSpace& space, const planning::ScheduleChoice& choice) {
  return choice.schedule < 0 ? "" : space.base().search.schedules[position_of(choice.schedule)];
}

Json parallel_json(const planning::PlanChoice& choice) {
  Json json;
  for (int axis = 0; axis < std::ssize(planning::plan_axes); ++axis)
    json[planning::plan_axis_name(axis, choice.zero)] = size_of(choice.degrees, axis);
  json["zero"] = choice.zero;
  return json;
}

std::optional<validation::ErrorBand> band_of(const planning::PlanSpace& space, const planning::RankedPlan& plan) {
  const auto& figures = plan.figures;
  const double exposed = std::accumulate(figures.exposed_s.begin(), figures.exposed_s.end(), 0.0);
  return validation::error_band(space.scenario(plan.choice, space.base().batch.sequences), exposed / figures.step_s);
}

Json best_json(const planning::PlanSpace& space, const planning::RankedPlan& plan, const planning::PlanFigures& best) {
  const auto& choice = plan.choice;
  const auto& figures = plan.figures;
  Json json{{"parallel", parallel_json(choice)},
            {"microbatches", choice.microbatches},
            {"schedule", choice.schedule.schedule < 0 ? Json() : Json(schedule_name(space, choice.schedule))},
            {"chunks", choice.schedule.chunks},
            {"recompute", recompute_name(space.recomputations()[position_of(choice.recompute)])}};
  for (const auto& key : space.keys(space.node_of(choice), choice)) json["set"].push_back(key.path + "=" + key.value);
  json["step_time_s"] = figures.step_s;
  json["step_time_band"] = band_json(band_of(space, plan), Seconds(figures.step_s));
  json["lower_bound_s"] = plan.bound_s;
  json["mfu"] = figures.mfu;
  json["memory"] = {{"peak_bytes", figures.peak_bytes}, {"capacity_bytes", space.memory().value()}};
  json["memory"].update(fit_json(studies::fit_of(Bytes(figures.peak_bytes), program_memory(space))));
  json["memory"]["weights_bytes"] = figures.weights_bytes;
  json["memory"]["gradients_bytes"] = figures.gradients_bytes;
  json["memory"]["optimizer_bytes"] = figures.optimizer_bytes;
  json["memory"]["activations_bytes"] = figures.activations_bytes;
  json["memory"]["other_bytes"] = figures.other_bytes;
  double exposed_s = 0;
  Json by_axis = Json::object();
  for (std::size_t axis = 0; axis < figures.exposed_s.size(); ++axis) {
    const auto name = axis < planning::plan_axes.size() ? planning::plan_axis_name(static_cast<int>(axis), choice.zero)
                                                        : std::string("several axes");
    exposed_s += figures.exposed_s[axis];
    if (figures.exposed_s[axis] > 0) by_axis[name] = figures.exposed_s[axis];
  }
  json["breakdown"] = {{"compute_s", figures.compute_s},
                       {"exposed_comm_s", exposed_s},
                       {"bubble_s", figures.bubble_s},
                       {"exposed_comm_by_axis_s", by_axis}};
  if (plan.draws) json["routing_draws"] = draws_json(*plan.draws);
  json["loses_by"] = why_it_loses(figures, best);
  return json;
}

/// What a search proved. One that was stopped says how many plans are open, and from what time on they may be.
Json proof_json(const planning::SearchProof& proof, const Json& gap) {
  Json json{{"space", proof.space},
            {"pruned_memory", proof.pruned_by_memory},
            {"pruned_bound", proof.pruned_by_bound},
            {"simulated", proof.simulated},
            {"did_not_fit", proof.did_not_fit}};
  if (proof.open > 0) {
    json["open"] = proof.open;
    json["lowest_open_s"] = proof.lowest_open_s;
  }
  json["gap"] = proof.open == 0 ? Json(0) : gap;
  return json;
}

Json proof_json(const planning::SearchResult& result) {
  return proof_json(result.proof, result.best.empty() ? Json() : Json(result.gap()));
}

std::string gap_text(const planning::SearchResult& result) {
  const auto& proof = result.proof;
  if (proof.open == 0) return "; gap 0";
  return "\nstopped after " + format(Seconds(result.wall_s)) + ": " + with_separators(static_cast<double>(proof.open)) +
         " plans are open, none of them faster than " + format(Seconds(proof.lowest_open_s)) +
         (result.best.empty() ? "" : "; gap " + percent(result.gap()));
}

}  // namespace

void PlanRows::add(const planning::PlanSpace& space, const planning::SearchResult& result, double days, double cost) {
  Json json{{"chips", space.base().chips()},
            {"days", days > 0 ? Json(days) : Json()},
            {"cost", cost > 0 ? Json(cost) : Json()},
            {"notes", notes_of(space.base())}};
  json["best"] = best_json(space, result.best.front(), result.best.front().figures);
  json["proof"] = proof_json(result);
  rows_.push_back(std::move(json));
}

void PlanRows::add_none(std::int64_t chips, const std::string& why) {
  rows_.push_back({{"chips", chips}, {"best", nullptr}, {"why", why}});
}

std::string PlanRows::to_string() const { return json_document(Json{{"rows", rows_}}); }

std::string plan_name(const planning::PlanSpace& space, const planning::PlanChoice& choice) {
  std::string text;
  const auto add = [&](const std::string& part) { text += (text.empty() ? "" : ", ") + part; };
  for (int axis = 0; axis < std::ssize(planning::plan_axes); ++axis) {
    if (size_of(choice.degrees, axis) > 1)
      add(planning::plan_axis_name(axis, choice.zero) + " " + std::to_string(size_of(choice.degrees, axis)));
  }
  add("ZeRO-" + std::to_string(choice.zero));
  add(std::to_string(choice.microbatches) + (choice.microbatches == 1 ? " microbatch" : " microbatches"));
  if (choice.schedule.schedule >= 0)
    add(schedule_name(space, choice.schedule) +
        (choice.schedule.chunks > 1 ? " x" + std::to_string(choice.schedule.chunks) : ""));
  if (space.recomputations().size() > 1)
    add("recompute " + recompute_name(space.recomputations()[position_of(choice.recompute)]));
  return text;
}

std::string placement_name(const planning::PlanSpace& space, const planning::PlanChoice& choice) {
  std::string text;
  for (const auto& axis : space.node_of(choice).placements[position_of(choice.placement)]) {
    std::string parts;
    for (const auto& part : place_text(space.cluster(), axis)) parts += (parts.empty() ? "" : ", ") + part;
    const auto name = axis.name == "data" ? planning::plan_axis_name(planning::data_axis, choice.zero) : axis.name;
    text += (text.empty() ? "" : ", ") + name + " [" + parts + "]";
  }
  return text.empty() ? "one chip" : text;
}

std::string why_it_loses(const planning::PlanFigures& plan, const planning::PlanFigures& best) {
  struct Part {
    double more;
    std::string name;
  };
  std::vector<Part> parts{{plan.compute_s - best.compute_s, "compute"}, {plan.bubble_s - best.bubble_s, "bubble"}};
  for (std::size_t axis = 0; axis < plan.exposed_s.size(); ++axis) {
    parts.push_back(
        {plan.exposed_s[axis] - best.exposed_s[axis],
         "exposed " + (axis < planning::plan_axes.size() ? std::string(planning::plan_axes[axis]) : "several axes")});
  }
  std::stable_sort(parts.begin(), parts.end(),
                   [](const Part& a, const Part& b) { return std::abs(a.more) > std::abs(b.more); });
  const double lost = plan.step_s - best.step_s;
  std::string text;
  for (const auto& part : parts) {
    if (std::abs(part.more) <= 0.1 * std::abs(lost) || std::abs(part.more) <= 1e-12) continue;
    text += (text.empty() ? "" : ", ") + std::string(part.more > 0 ? "+" : "-") + format(Seconds(std::abs(part.more))) +
            " " + part.name;
  }
  return text;
}

namespace {

/// How far to trust the best plan's step, and which of the plans shown cannot be told apart.
std::string trust_text(const planning::PlanSpace& space, const planning::SearchResult& result) {
  const auto& best = result.best.front();
  const auto band = band_of(space, best);
  if (!band) return "";
  std::string text = "\nthe best: " + band_text(*band, Seconds(best.figures.step_s)) + "\n";
  if (!band->apart) return text;
  const auto alike = std::count_if(result.best.begin(), result.best.end(), [&](const auto& plan) {
    return plan.figures.step_s < best.figures.step_s * *band->apart;
  });
  return text + (alike > 1 ? "plans 1 to " + std::to_string(alike) + " cannot be told apart: " : "") +
         "of two measured steps of one model, 80 % were predicted to within " + percent(*band->apart - 1) +
         " of each other\n";
}

}  // namespace

Bytes program_memory(const planning::PlanSpace& space) {
  return std::max(space.memory(), space.cluster().chip().capacity());
}

std::string may_not_fit_text(const planning::PlanSpace& space, const planning::RankedPlan& plan) {
  const Bytes peak(plan.figures.peak_bytes);
  if (studies::fit_of(peak, program_memory(space)) != studies::Fit::may_not_fit) return "";
  const auto sure = static_cast<double>(program_memory(space).value()) / studies::memory_band()->high;
  return memory_verdict(peak, program_memory(space)) + "; search.memory: " + format(Bytes(std::llround(sure))) +
         " leaves such plans out";
}

std::string none_keeps_within(const planning::SearchProof& proof, Bytes memory) {
  return std::string(proof.open > 0 ? "no plan found so far" : "no plan") + " keeps within " + format(memory) +
         " of memory";
}

std::string band_of_best(const planning::PlanSpace& space, const planning::SearchResult& result) {
  const auto band = band_of(space, result.best.front());
  return band ? band_text(*band, Seconds(result.best.front().figures.step_s)) : "";
}

std::string proof_line(const planning::SearchResult& result) {
  const auto& proof = result.proof;
  const auto count = [](std::int64_t number) { return with_separators(static_cast<double>(number)); };
  return "of " + count(proof.space) + " plans, " + count(proof.pruned_by_bound) +
         " have a lower bound above the last one shown, " + count(proof.pruned_by_memory) + " need more memory, " +
         count(proof.simulated) + " were simulated (" + count(proof.did_not_fit) + " of them need more memory)" +
         gap_text(result);
}

std::string plan_head(const planning::PlanSpace& space) {
  const auto& base = space.base();
  return base.name + ": " + model_text(base) + " on " + chips_text(base) + " (" + space.cluster().name() + "), " +
         with_separators(static_cast<double>(base.batch.sequences * base.batch.sequence_length)) + " tokens a step, " +
         std::string(name(base.time_model)) + " rates\n" + note_lines(base) + "\n";
}

std::string plan_text(const planning::PlanSpace& space, const planning::SearchResult& result) {
  std::string text = plan_head(space);
  if (result.best.empty()) {
    text += none_keeps_within(result.proof, space.memory()) + "\n\n";
  } else {
    const auto& best = result.best.front();
    text += "best: " + plan_name(space, best.choice) + "\n      " + placement_name(space, best.choice) +
            "\n      step time " + format(Seconds(best.figures.step_s)) + ", MFU " + percent(best.figures.mfu) + ", " +
            format(Bytes(best.figures.peak_bytes)) + " of " + format(space.memory()) + " of memory\n\n";
    std::vector<std::string> header{"plan", "step time", "MFU", "compute", "exposed", "memory"};
    const bool pipelined = std::any_of(result.best.begin(), result.best.end(), [](const auto& plan) {
      return plan.choice.degrees.pipeline > 1 || plan.figures.bubble_s > 0;
    });
    if (pipelined) header.insert(header.end() - 1, "bubble");
    const bool drawn = best.draws.has_value();
    if (drawn) header.emplace_back("best, median, worst seed");
    Table table(header);
    int rank = 0;
    std::string reasons;
    for (const auto& plan : result.best) {
      const auto& figures = plan.figures;
      double exposed = 0;
      for (const double each : figures.exposed_s) exposed += each;
      const auto number = std::to_string(++rank);
      std::vector<std::string> row{number + ". " + plan_name(space, plan.choice),
                                   format(Seconds(figures.step_s)),
                                   percent(figures.mfu),
                                   format(Seconds(figures.compute_s)),
                                   format(Seconds(exposed)),
                                   peak_text(Bytes(figures.peak_bytes), program_memory(space))};
      if (pipelined) row.insert(row.end() - 1, format(Seconds(figures.bubble_s)));
      if (drawn) {
        row.push_back(plan.draws ? format(plan.draws->best()) + ", " + format(plan.draws->median()) + ", " +
                                       format(plan.draws->worst())
                                 : "-");
      }
      table.add(std::move(row));
      if (rank == 1) continue;
      const double loss = figures.step_s / best.figures.step_s - 1;
      const auto why = why_it_loses(figures, best.figures);
      reasons += "  " + number + ". +" + fixed(loss * 100, 2) +
                 " %: " + (why.empty() ? "as fast; the canonical order decides" : why) + "; " +
                 placement_name(space, plan.choice) + "\n";
    }
    text += table.to_string();
    if (!reasons.empty()) text += "\nwhy the others lose\n" + reasons;
    text += trust_text(space, result);
    if (const auto words = may_not_fit_text(space, best); !words.empty()) text += "the best: " + words + "\n";
    text += "\n";
  }
  text += "proof: " + proof_line(result) + "\n";
  return text;
}

std::string beside_the_files_own(const planning::PlanSpace& space, const planning::SearchResult& result,
                                 const std::optional<planning::PlanFigures>& own) {
  if (!own || result.best.empty()) return "";
  const double best = result.best.front().figures.step_s;
  const auto fit = studies::fit_of(Bytes(own->peak_bytes), program_memory(space));
  const bool keeps_within = own->peak_bytes <= space.memory().value();
  const bool is_missed = best > own->step_s && keeps_within && space.plans_of_file().empty();
  return "the file's own plan takes " + format(Seconds(own->step_s)) +
         (fit == studies::Fit::fits ? "" : " and " + std::string(name(fit))) +
         (keeps_within || fit == studies::Fit::does_not_fit
              ? ""
              : ", with " + format(Bytes(own->peak_bytes)) + " more than the " + format(space.memory()) +
                    " of the search") +
         (is_missed ? " and is not in the space searched" : "") + "; the best takes " +
         percent(std::abs(1 - best / own->step_s)) + (best <= own->step_s ? " less\n" : " more\n");
}

std::string plan_json(const planning::PlanSpace& space, const planning::SearchResult& result, WallTimes times,
                      std::span<const planning::MemoryPoint> front, const Json& objective) {
  Json json{{"scenario", space.base().name},
            {"chips", space.base().chips()},
            {"notes", notes_of(space.base())},
            {"best", Json::array()}};
  for (const auto& plan : result.best) json["best"].push_back(best_json(space, plan, result.best.front().figures));
  const auto& proof = result.proof;
  json["proof"] = proof_json(result);
  if (!objective.is_null()) json["objective"] = objective;
  const bool shown = times == WallTimes::shown;
  json["plans_per_s"] = shown ? Json(static_cast<double>(proof.space) / result.wall_s) : Json();
  json["simulated_per_s"] = shown ? Json(static_cast<double>(proof.simulated) / result.wall_s) : Json();
  json["bounds_per_s"] = shown ? Json(static_cast<double>(result.bounds) / result.bounds_s) : Json();
  json["wall_s"] = shown ? Json(result.wall_s) : Json();
  for (const auto& point : front)
    json["within_memory"].push_back(
        {{"memory_bytes", point.memory.value()},
         {"best", point.best ? best_json(space, *point.best, result.best.front().figures) : Json()},
         {"searched", point.searched},
         {"proof", proof_json(point.proof, point.best ? Json(point.gap) : Json())}});
  return json_document(json);
}

}  // namespace lockstep::output
