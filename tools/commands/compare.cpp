#include <algorithm>
#include <cstdio>
#include <memory>

#include "sim/studies/isolated.hpp"
#include "tools/commands/command_line.hpp"
#include "tools/commands/commands.hpp"
#include "tools/commands/engine_option.hpp"
#include "tools/output/elements/png.hpp"
#include "tools/output/files/file.hpp"
#include "tools/output/results/result_json.hpp"
#include "tools/output/results/scenario_comparison.hpp"
#include "tools/report/compare_report.hpp"

namespace lockstep::commands {
namespace {

struct CompareArguments {
  std::vector<std::string> scenarios, overrides, varied;
  std::string json, out;
  std::string engine = "automatic";
  bool png = false;
};

constexpr std::size_t most_scenarios = 64;  // columns that anybody reads

/// One column: a file with keys replaced.
struct Variant {
  std::string file, label;  ///< label: the varied keys, "" without
  std::vector<scenario::KeyOverride> overrides;
};

/// "1,[2,3],4" as three values: commas inside brackets and quotes belong to a value.
std::vector<std::string> values_in(const std::string& text) {
  std::vector<std::string> values(1);
  int depth = 0;
  char quote = 0;
  for (const char c : text) {
    if (quote != 0) {
      if (c == quote) quote = 0;
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else if (c == '[' || c == '{') {
      ++depth;
    } else if (c == ']' || c == '}') {
      --depth;
    } else if (c == ',' && depth == 0) {
      values.emplace_back();
      continue;
    }
    values.back() += c;
  }
  return values;
}

/// Every file with every combination of the varied values, the last --vary fastest.
std::vector<Variant> variants_of(const CompareArguments& arguments) {
  const auto common = parse_overrides(arguments.overrides);
  std::vector<Variant> variants;
  for (const auto& file : arguments.scenarios) variants.push_back({file, "", common});
  for (const auto& text : arguments.varied) {
    const auto equals = text.find('=');
    if (equals == std::string::npos || equals == 0) {
      throw ConfigError({{{"--vary", 0, 0},
                          "",
                          "'" + text + "' has no " + (equals == 0 ? "key" : "values"),
                          "KEY=VALUE,VALUE,... such as batch.sequences=512,1024"}});
    }
    const auto key = text.substr(0, equals);
    const auto values = values_in(text.substr(equals + 1));
    if (std::find(values.begin(), values.end(), "") != values.end()) {
      throw ConfigError({{{"--vary", 0, 0},
                          "",
                          "'" + text + "' has an empty value",
                          "KEY=VALUE,VALUE,... such as batch.sequences=512,1024"}});
    }
    if (variants.size() * values.size() > most_scenarios) {
      throw ConfigError({{{"--vary", 0, 0},
                          "",
                          "these would be more than " + std::to_string(most_scenarios) + " scenarios",
                          "fewer values, or lockstep sweep"}});
    }
    std::vector<Variant> combined;
    for (const auto& variant : variants) {
      for (const auto& value : values) {
        combined.push_back(variant);
        combined.back().label += (variant.label.empty() ? "" : " ") + key.substr(key.rfind('.') + 1) + "=" + value;
        combined.back().overrides.push_back({key, value});
      }
    }
    variants = std::move(combined);
  }
  if (variants.size() < 2) {
    throw ConfigError({{{"compare", 0, 0},
                        "",
                        "there is only one scenario",
                        "two or more files, or one with --vary KEY=VALUE,VALUE,..."}});
  }
  return variants;
}

/// Checked as far as can be done without simulating; every problem of every scenario once.
std::vector<scenario::Scenario> load_all(const std::vector<Variant>& variants,
                                         std::vector<output::ScenarioInputs>& inputs) {
  std::vector<scenario::Scenario> scenarios;
  Problems problems;
  std::vector<std::string> told;
  for (const auto& variant : variants) {
    try {
      auto scenario = load_scenario(variant.file, variant.overrides);
      inputs.push_back(output::inputs_of(scenario, preparation::prepare(scenario)));
      scenarios.push_back(std::move(scenario));
    } catch (const ConfigError& error) {
      for (const auto& problem : error.problems()) {
        if (std::find(told.begin(), told.end(), problem.to_string()) != told.end()) continue;
        told.push_back(problem.to_string());
        problems.add(problem);
      }
    }
  }
  problems.throw_if_any();
  return scenarios;
}

/// The file's stem, its folder too where stems are equal, and the varied keys.
std::string name_of(const Variant& variant, const std::vector<Variant>& all) {
  const auto stem = [](const Variant& of) { return std::filesystem::path(of.file).stem().string(); };
  const bool one_file =
      std::all_of(all.begin(), all.end(), [&](const Variant& other) { return other.file == variant.file; });
  const bool same_stem = std::any_of(all.begin(), all.end(), [&](const Variant& other) {
    return other.file != variant.file && stem(other) == stem(variant);
  });
  if (one_file && !variant.label.empty()) return variant.label;
  return (same_stem ? variant.file : stem(variant)) + (variant.label.empty() ? "" : " " + variant.label);
}

void run_compare(const CompareArguments& arguments, spdlog::logger& log) {
  output::check_folder_place(arguments.out);
  output::check_png_writer(arguments.png ? arguments.out : "");
  if (arguments.json != "-") output::check_file_place(arguments.json);
  const auto variants = variants_of(arguments);
  std::vector<output::ScenarioInputs> inputs;
  const auto scenarios = load_all(variants, inputs);
  const auto progress = progress_line();
  engine::load(engine::engine_named(arguments.engine));
  std::vector<output::ComparedScenario> compared;
  std::vector<std::string> timelines;
  for (std::size_t i = 0; i < scenarios.size(); ++i) {
    const auto name = name_of(variants[i], variants);
    if (progress) progress("simulating " + name, static_cast<double>(i) / static_cast<double>(scenarios.size()));
    SimulateOptions options;
    options.engine = engine::engine_named(arguments.engine);
    options.record_phases = true;
    options.routing_draws = usual_routing_draws;
    const auto answer = studies::in_child([&] {
      const auto simulation = simulate(scenarios[i], options, log);
      return result_json(scenarios[i], simulation, output::WallTimes::hidden) + '\0' +
             (arguments.out.empty() ? "" : report::packed_timeline(name, simulation));
    });
    const auto end = answer.find('\0');  // of the JSON, which has none
    compared.push_back(output::read_compared(name, std::move(inputs[i]), answer.substr(0, end)));
    timelines.push_back(answer.substr(end + 1));
  }
  if (progress) progress("done", 1);
  const auto json = comparison_json(compared);
  std::string left_out;
  if (!arguments.out.empty()) {
    output::NewFiles files(arguments.out);
    files.write(std::filesystem::path(arguments.out) / "compare.json", json);
    write_picture(files, std::filesystem::path(arguments.out) / "compare", comparison_picture(compared), arguments.png);
    left_out = report::write_report(files, arguments.out, report::compare_report(compared, timelines));
    files.finish();
  }
  if (!arguments.json.empty() && arguments.json != "-") output::write_file(arguments.json, json);
  const auto text = arguments.json == "-" ? json : comparison_text(compared) + left_out;
  output::print(text);
}

}  // namespace

void add_compare(CommandLine& line, spdlog::logger& log) {
  auto command = line.command("compare", "simulate scenarios side by side: what differs, and where the time goes");
  auto arguments = std::make_shared<CompareArguments>();
  command.option("scenarios", arguments->scenarios, "scenario files (YAML); all are compared with the first")
      .required();
  command.option("--set", arguments->overrides, "replace a key of every scenario: a.b=c (may be repeated)")
      .repeatable();
  command
      .option("--vary", arguments->varied,
              "simulate every scenario with each of these values: a.b=c,d (may be repeated)")
      .repeatable();
  add_engine_option(command, arguments->engine);
  command.option("--json", arguments->json, "write the comparison as JSON to a file, or to stdout with -");
  command.option("--out", arguments->out, "folder for report.html, compare.json and the bars of compare.svg");
  command
      .flag("--png", arguments->png,
            "also write the pictures of --out as PNG (needs rsvg-convert, Debian's librsvg2-bin)")
      .needs("--out");
  command.footer(
      "Examples:\n  lockstep compare scenarios/llama3-70b-h100.yaml scenarios/llama3-70b-v5p.yaml\n"
      "  lockstep compare scenarios/llama3-70b-h100.yaml --vary batch.sequences=512,1024,2048 --out out/batch");
  command.callback([arguments, &log] { run_compare(*arguments, log); });
}

}  // namespace lockstep::commands
