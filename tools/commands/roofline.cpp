#include <cmath>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "sim/core/quantity_text.hpp"
#include "sim/studies/roofline/network_study.hpp"
#include "sim/studies/roofline/study.hpp"
#include "tools/commands/command_line.hpp"
#include "tools/commands/commands.hpp"
#include "tools/output/elements/answer.hpp"
#include "tools/output/elements/json_document.hpp"
#include "tools/output/elements/table.hpp"
#include "tools/output/files/file.hpp"
#include "tools/output/results/memory_verdict.hpp"
#include "tools/output/results/scenario_inputs.hpp"
#include "tools/output/studies/roofline_plots.hpp"
#include "tools/report/roofline_report.hpp"

namespace lockstep::commands {
namespace {

struct RooflineArguments {
  std::string scenario, json, out;
  std::vector<std::string> overrides;
};

std::string text_of(const scenario::Scenario& scenario, const roofline::RooflineStudy& study) {
  std::string text =
      scenario.name + ": roofline of " + output::model_text(scenario) + " on " + output::chips_text(scenario) + "\n\n";
  text += "  C = " + format(study.balance.flops) + " a chip, W = " + format(study.balance.axis) +
          " an axis (both directions), C/W = " + output::fixed(study.balance.intensity(), 0) + " FLOPs a byte\n";
  text += "  B = " + output::with_separators(study.layer.tokens) +
          " tokens, D = " + output::fixed(study.layer.d_model, 0) + ", F = " + output::fixed(study.layer.d_ff, 0) +
          ", N = " + output::with_separators(static_cast<double>(study.chips)) +
          " chips: " + output::fixed(study.tokens_per_chip, 0) + " tokens a chip\n\n";

  text += "FSDP is compute-bound above C/(W M) tokens a chip:\n";
  output::Table fsdp({"  FSDP over", "book", "exact rings", "simulated", "this batch"});
  for (const auto& row : study.thresholds) {
    fsdp.add({"  " + row.group, output::fixed(row.book, 0), output::fixed(row.exact, 0),
              output::fixed(row.simulated, 0), output::fixed(study.tokens_per_chip, 0)});
  }
  text += fsdp.to_string() + "\n";
  text +=
      "Tensor parallelism over one ring is compute-bound below Y = F W/C = " + output::fixed(study.tensor.book, 1) +
      "; simulated: up to " + std::to_string(study.tensor.simulated) +
      (study.tensor.tried.empty() ? ""
                                  : " of the sizes tried (largest " + std::to_string(study.tensor.tried.back()) + ")") +
      ", with products overlapping their collectives\n";
  text += "FSDP + TP over " + std::to_string(study.fsdp_axes) + " + " + std::to_string(study.tensor_axes) +
          " axes is compute-bound above " + output::fixed(study.mixed_need, 0) +
          " tokens a chip; X_opt = sqrt(B/F M_X/M_Y N) = " + output::fixed(study.best_fsdp, 0) + "\n";
  text += "The closed forms name " + output::plan_text(study.named) +
          (study.fsdp_alone_hides ? " (FSDP alone hides its communication)" : "") + "\n\n";

  text += "One layer's forward by the book's closed forms, and the whole step simulated on the default placement:\n";
  output::Table splits({"  split", "T_math", "T_fsdp", "T_tp", "book says", "no contention", "contention", "memory"});
  for (const auto& split : study.splits) {
    if (!split.refused.empty()) continue;
    const bool hides = split.fsdp < split.math && split.tensor < split.math;
    splits.add({"  " + output::plan_text(split.plan), format(split.math), format(split.fsdp), format(split.tensor),
                hides ? "compute-bound" : "comm-bound", format(split.without_contention), format(split.with_contention),
                output::fit_words(split.fit)});
  }
  text += splits.to_string();
  for (const auto& split : study.splits) {
    text +=
        "  " + output::plan_text(split.plan) + ": " + (split.refused.empty() ? split.placement : split.refused) + "\n";
  }
  text += "The two differ where rings share links: see docs/case_studies/llama2-13b-placement.md.\n";
  return text;
}

nlohmann::ordered_json json_of(const scenario::Scenario& scenario, const roofline::RooflineStudy& study) {
  nlohmann::ordered_json json = {
      {"scenario", scenario.name},
      {"flops_per_s", study.balance.flops.value()},
      {"axis_bandwidth_bytes_per_s", study.balance.axis.value()},
      {"intensity_flops_per_byte", study.balance.intensity()},
      {"chips", study.chips},
      {"tokens_per_chip", study.tokens_per_chip},
      {"fsdp_axes", study.fsdp_axes},
      {"tensor_axes", study.tensor_axes},
      {"best_fsdp", study.best_fsdp},
      {"mixed_threshold_tokens_per_chip", study.mixed_need},
      {"named_plan", {{"fsdp", study.named.fsdp}, {"tensor", study.named.tensor}}},
      {"fsdp_thresholds", nlohmann::ordered_json::array()},
      {"tensor_limit",
       {{"book", study.tensor.book}, {"simulated", study.tensor.simulated}, {"tried", study.tensor.tried}}},
      {"splits", nlohmann::ordered_json::array()}};
  for (const auto& row : study.thresholds) {
    json["fsdp_thresholds"].push_back(
        {{"group", row.group}, {"book", row.book}, {"exact", row.exact}, {"simulated", row.simulated}});
  }
  for (const auto& split : study.splits) {
    json["splits"].push_back(
        {{"fsdp", split.plan.fsdp},
         {"tensor", split.plan.tensor},
         {"math_s", split.math.value()},
         {"fsdp_s", split.fsdp.value()},
         {"tensor_s", split.tensor.value()},
         {"placement", split.placement},
         {"step_without_contention_s", split.without_contention.value()},
         {"step_with_contention_s", split.with_contention.value()},
         {"fits", split.fit != studies::Fit::does_not_fit},
         {"verdict", split.refused.empty() ? nlohmann::ordered_json(name(split.fit)) : nlohmann::ordered_json()},
         {"refused", split.refused}});
  }
  return json;
}

std::string text_of(const scenario::Scenario& scenario, const roofline::NetworkRoofline& study) {
  std::string text = scenario.name + ": roofline of a layer of " + output::model_text(scenario) + " on " +
                     output::chips_text(scenario) + "\n\n  C = " + format(study.flops) + " a chip, " +
                     output::fixed(study.tokens_per_chip, 0) + " tokens a chip in this batch\n\n";
  text += "Communication hides behind compute above so many tokens a chip:\n";
  output::Table table({"  of a layer", "bandwidth", "book", "exact", "simulated", "this batch"});
  for (const auto& level : study.levels)
    table.add({"  " + level.group, format(level.bandwidth), output::fixed(level.book, 1), output::fixed(level.exact, 1),
               output::fixed(level.simulated, 1), output::fixed(study.tokens_per_chip, 0)});
  text += table.to_string();
  for (const auto& level : study.levels) {
    const auto of_a_pod = [&](double tokens) {
      return output::with_separators(std::round(tokens * static_cast<double>(level.unit)));
    };
    if (level.unit > 1)
      text += "  In tokens of a pod: book " + of_a_pod(level.book) + ", exact " + of_a_pod(level.exact) +
              ", simulated " + of_a_pod(level.simulated) + "\n";
  }
  text += "\nExposed communication of a layer over its compute, by the exact line and simulated:\n";
  output::Table points({"  of a layer", "tokens a chip", "line", "simulated"});
  for (const auto& level : study.levels) {
    for (const auto& point : level.points)
      points.add({"  " + level.group, output::fixed(point.tokens_per_chip, 1), output::percent(point.line),
                  output::percent(point.simulated)});
  }
  return text + points.to_string();
}

nlohmann::ordered_json json_of(const scenario::Scenario& scenario, const roofline::NetworkRoofline& study) {
  nlohmann::ordered_json json = {{"scenario", scenario.name},
                                 {"flops_per_s", study.flops.value()},
                                 {"chips", study.chips},
                                 {"tokens_per_chip", study.tokens_per_chip},
                                 {"levels", nlohmann::ordered_json::array()}};
  for (const auto& level : study.levels) {
    nlohmann::ordered_json points = nlohmann::ordered_json::array();
    for (const auto& point : level.points)
      points.push_back({{"tokens_per_chip", point.tokens_per_chip},
                        {"line_exposed_share", point.line},
                        {"simulated_exposed_share", point.simulated}});
    json["levels"].push_back({{"group", level.group},
                              {"bandwidth_bytes_per_s", level.bandwidth.value()},
                              {"chips_of_a_pod", level.unit},
                              {"book", level.book},
                              {"exact", level.exact},
                              {"simulated", level.simulated},
                              {"points", points}});
  }
  return json;
}

/// Nodes, graphs and pods.
void run_on_a_network(const RooflineArguments& arguments, const scenario::Scenario& scenario, spdlog::logger& log) {
  const auto progress = progress_line();
  const auto study = roofline::study_network(scenario, log, [&](std::string_view stage, double fraction) {
    if (progress) progress(stage, fraction);
  });
  const auto json = output::json_document(json_of(scenario, study));
  output::Answer answer;
  std::string left_out;
  if (!arguments.out.empty()) {
    output::NewFiles files(arguments.out);
    files.write(std::filesystem::path(arguments.out) / "roofline.json", json);
    files.write(std::filesystem::path(arguments.out) / "exposed_by_tokens_per_chip.svg",
                draw(output::exposed_plot(study)));
    left_out = report::write_report(files, arguments.out, report::roofline_report(scenario, study));
    answer.finish(files, arguments.out);
  }
  answer.write(arguments.json, json);
  if (arguments.json == "-") return output::print(json);
  answer.print(text_of(scenario, study) + left_out);
}

void run_roofline(const RooflineArguments& arguments, spdlog::logger& log) {
  output::check_folder_place(arguments.out);
  if (arguments.json != "-") output::check_file_place(arguments.json);
  const auto scenario = load_scenario(arguments.scenario, parse_overrides(arguments.overrides));
  (void)preparation::prepare_step(scenario);
  if (roofline::is_network(scenario)) return run_on_a_network(arguments, scenario, log);
  auto progress = progress_line();
  const auto study = roofline::study_roofline(scenario, log, [&](std::string_view stage, double fraction) {
    if (progress) progress(stage, fraction);
  });
  const auto json = output::json_document(json_of(scenario, study));
  output::Answer answer;
  std::string left_out;
  if (!arguments.out.empty()) {
    output::NewFiles files(arguments.out);
    files.write(std::filesystem::path(arguments.out) / "roofline.json", json);
    files.write(std::filesystem::path(arguments.out) / "ratio_by_tokens_per_chip.svg", draw(output::ratio_plot(study)));
    files.write(std::filesystem::path(arguments.out) / "times_by_batch.svg", draw(output::times_plot(study)));
    left_out = report::write_report(files, arguments.out, report::roofline_report(scenario, study));
    answer.finish(files, arguments.out);
  }
  answer.write(arguments.json, json);
  if (arguments.json == "-") return output::print(json);
  answer.print(text_of(scenario, study) + left_out);
}

}  // namespace

void add_roofline(CommandLine& line, spdlog::logger& log) {
  auto command = line.command("roofline", "closed forms and thresholds of a scenario beside simulated values");
  auto arguments = std::make_shared<RooflineArguments>();
  command.option("scenario", arguments->scenario, "scenario file (YAML)").required();
  command.option("--json", arguments->json, "write the study as JSON to a file, or to stdout with -");
  command.option("--out", arguments->out,
                 "folder for report.html, roofline.json and the plots (SVG): two of a torus, one of a network");
  command.option("--set", arguments->overrides, "replace a key of the scenario: a.b=c (may be repeated)").repeatable();
  command.footer("Example:\n  lockstep roofline scenarios/llama2-13b-fsdp-tp-block.yaml");
  command.callback([arguments, &log] { run_roofline(*arguments, log); });
}

}  // namespace lockstep::commands
