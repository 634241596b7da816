#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <memory>
#include <thread>

#include "sim/core/readable_file.hpp"
#include "sim/core/visible_text.hpp"
#include "sim/scenario/scenario.hpp"
#include "sim/studies/calibration/validate_attention.hpp"
#include "sim/studies/calibration/validate_products.hpp"
#include "sim/studies/validation/error_band.hpp"
#include "sim/studies/validation/memory_band.hpp"
#include "tools/commands/command_line.hpp"
#include "tools/commands/commands.hpp"
#include "tools/commands/common_options.hpp"
#include "tools/commands/engine_option.hpp"
#include "tools/commands/measured_tables.hpp"
#include "tools/commands/refuse.hpp"
#include "tools/output/elements/answer.hpp"
#include "tools/output/elements/svg.hpp"
#include "tools/output/files/file.hpp"
#include "tools/output/studies/collective_errors.hpp"
#include "tools/output/studies/validation_report.hpp"
#include "tools/report/validation_report.hpp"

namespace lockstep::commands {
namespace {

struct ValidateArguments {
  std::vector<std::string> tables;
  std::string data, json, model_of_time = "calibrated", engine = "max_min", plot, scenarios, page, errors,
                          memory_errors, out;
  int jobs = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  int own_steps = 0;
  bool families = false, leave_one_out = false, ablation = false;
};

const std::vector<std::string> models_of_time{"ideal", "roofline", "calibrated"};

void write_scenarios(const std::vector<MeasuredTable>& tables, const std::filesystem::path& folder) {
  const auto has_none = [](const MeasuredTable& table) { return table.kernels || table.is_of_collectives; };
  if (std::all_of(tables.begin(), tables.end(), has_none))
    refuse("--scenarios", "these tables have no steps, and only a step has a scenario",
           "a table of steps; `lockstep collective` times one collective");
  for (const auto& measured : tables) {
    if (has_none(measured)) continue;
    const auto& table = measured.steps;
    output::make_folder(folder / table.name);
    for (const auto& run : table.runs) {
      const auto why = run.skipped_because.empty() ? "" : "# skipped: " + run.skipped_because + "\n";
      output::write_file(folder / table.name / (std::to_string(run.row) + ".yaml"),
                         "# " + table.name + ", " + run.name + "\n" + why + scenario_text(run));
    }
  }
}

/// Scenarios are written without a simulation: there are no errors that another option could write or print.
void refuse_beside_scenarios(const ValidateArguments& arguments) {
  std::string beside;
  const auto refuse_if = [&](bool given, const std::string& option) {
    if (given) beside += (beside.empty() ? "" : ", ") + option;
  };
  refuse_if(!arguments.json.empty(), "--json");
  refuse_if(!arguments.out.empty(), "--out");
  refuse_if(!arguments.plot.empty(), "--plot");
  refuse_if(!arguments.errors.empty(), "--errors");
  refuse_if(!arguments.memory_errors.empty(), "--memory-errors");
  refuse_if(!arguments.page.empty(), "--update-docs");
  refuse_if(arguments.families, "--families");
  refuse_if(arguments.leave_one_out, "--leave-one-out");
  refuse_if(arguments.ablation, "--ablation");
  refuse_if(arguments.own_steps > 0, "--own-steps");
  if (!beside.empty())
    refuse("--scenarios", "simulates nothing, so that nothing is left for " + beside, "one or the other");
}

std::vector<validation::ValidatedRun> kernels_of(const std::vector<MeasuredTable>& tables,
                                                 const std::string& model_of_time) {
  std::vector<validation::ValidatedRun> runs;
  for (const auto& table : tables) {
    if (!table.kernels) continue;
    const auto validate_kernels = calibration::has_attention_columns(*table.kernels) ? calibration::validate_attention
                                                                                     : calibration::validate_products;
    auto kernels = validate_kernels(*table.kernels, table.steps.name, model_of_time);
    std::move(kernels.begin(), kernels.end(), std::back_inserter(runs));
  }
  return runs;
}

/// Steps of all tables, then single kernels.
std::vector<validation::ValidatedRun> validate_tables(const std::vector<MeasuredTable>& tables,
                                                      const validation::ValidateOptions& options, spdlog::logger& log) {
  std::vector<validation::RunTable> steps;
  for (const auto& table : tables) steps.push_back(table.steps);
  auto runs = validate(steps, options, log);
  auto kernels = kernels_of(tables, options.model_of_time);
  std::move(kernels.begin(), kernels.end(), std::back_inserter(runs));
  return runs;
}

std::filesystem::path catalog() { return scenario::data_root() / "topologies" / "catalog"; }

std::vector<validation::MeasuredCollective> measured_collectives(const std::vector<MeasuredTable>& tables) {
  std::vector<validation::MeasuredCollective> rows;
  for (const auto& table : tables) rows.insert(rows.end(), table.collectives.begin(), table.collectives.end());
  return rows;
}

std::vector<validation::ValidatedCollective> collectives_of(const std::vector<MeasuredTable>& tables) {
  return validation::validate_collectives(measured_collectives(tables), catalog());
}

/// Finds what is wrong with rows of kernels and collectives before a step is simulated.
void check_rows(const std::vector<MeasuredTable>& tables, const std::string& model_of_time, Problems& problems) {
  (void)kernels_of(tables, model_of_time);
  validation::check_machines(measured_collectives(tables), catalog(), problems);
}

/// The picture of runs, and of collectives as runs of their table.
std::string picture_of(std::vector<validation::ValidatedRun> runs,
                       const std::vector<validation::ValidatedCollective>& collectives, const std::string& model) {
  const std::string what = runs.empty() ? "Measured collectives" : "Measured steps, model of time: " + model;
  for (const auto& collective : collectives) {
    auto& run = runs.emplace_back();
    run.run.table = collective.row.table;
    run.run.name = "line " + std::to_string(collective.row.where.line);
    run.run.family = collective.row.chip + ", " + std::string(name(collective.row.kind));
    run.measured_s = collective.row.seconds;
    run.predicted_s = collective.predicted_s;
  }
  return output::validation_picture(runs, what);
}

/// A line for each file of a folder that is no table of measurements.
std::string not_read(const std::vector<std::filesystem::path>& files) {
  std::string text;
  for (const auto& file : files)
    text += (text.empty() ? "\n" : "") + visible(file.string()) +
            " was left out: it has no columns of measured steps, kernels or collectives\n";
  return text;
}

/// Options of the studies that simulate a number of steps of each table again and again: without contention.
validation::ValidateOptions study_options(validation::ValidateOptions options) {
  options.model_of_time = "calibrated";
  options.engine = engine::EngineKind::reference;
  return options;
}

std::vector<validation::RunTable> samples_of(const std::vector<MeasuredTable>& tables, std::size_t most) {
  std::vector<validation::RunTable> samples;
  for (const auto& table : tables) samples.push_back(sample_of(table.steps, most));
  return samples;
}

std::vector<validation::LeftOut> left_out_of(const std::vector<MeasuredTable>& tables,
                                             const validation::ValidateOptions& options, spdlog::logger& log) {
  constexpr std::size_t most = 6;
  auto study = study_options(options);
  study.responses = true;
  return leave_one_out(validate(samples_of(tables, most), study, log));
}

std::vector<validation::Ablated> ablation_of(const std::vector<MeasuredTable>& tables,
                                             const validation::ValidateOptions& options, spdlog::logger& log) {
  constexpr std::size_t most = 6;
  return validation::ablate(samples_of(tables, most), study_options(options), log);
}

std::vector<calibration::OwnSteps> own_steps_of(const std::vector<MeasuredTable>& tables,
                                                const validation::ValidateOptions& options, int given,
                                                spdlog::logger& log) {
  constexpr std::size_t most = 8;
  std::vector<validation::RunTable> steps;
  for (const auto& table : tables) steps.push_back(table.steps);
  return calibration::own_steps_study(steps, static_cast<std::size_t>(given), most, study_options(options), log);
}

/// The page, with the sections of studies that are not asked for as they stand in it; its first model's runs.
std::vector<validation::ValidatedRun> update_page(const ValidateArguments& arguments,
                                                  const std::vector<MeasuredTable>& tables,
                                                  validation::ValidateOptions options, spdlog::logger& log) {
  const auto& file = arguments.page;
  std::ifstream in(file, std::ios::binary);
  const std::string page(std::istreambuf_iterator<char>(in), {});
  const auto old_part = output::generated_part(page, file);
  options.model_of_time = "calibrated";
  auto runs = validate_tables(tables, options, log);
  output::ValidationStudies studies{left_out_of(tables, options, log), {}, {}, collectives_of(tables), {}, {}};
  if (arguments.ablation) {
    studies.ablation = ablation_of(tables, options, log);
  } else {
    studies.kept_ablation = output::section_of(old_part, output::ablation_heading);
  }
  if (arguments.own_steps > 0) {
    studies.own_steps = own_steps_of(tables, options, arguments.own_steps, log);
  } else {
    studies.kept_own_steps = output::section_of(old_part, output::own_steps_heading);
  }
  output::write_file(file, output::with_generated_part(page, output::validation_page(runs, studies), file));
  return runs;
}

void run_validate(const ValidateArguments& arguments, spdlog::logger& log) {
  if (!arguments.scenarios.empty()) refuse_beside_scenarios(arguments);
  if (arguments.json != "-") output::check_file_place(arguments.json);
  output::svg::check_place(arguments.plot);
  output::check_folder_place(arguments.scenarios);
  output::check_file_place(arguments.page);
  output::check_file_place(arguments.errors);
  output::check_file_place(arguments.memory_errors);
  output::check_folder_place(arguments.out);
  Problems problems;
  std::vector<MeasuredTable> tables;
  const auto files_of_tables = measured_files(arguments.tables, arguments.data);
  for (const auto& file : files_of_tables.tables) tables.push_back(read_measured_table(file, problems));
  check_rows(tables, arguments.page.empty() ? arguments.model_of_time : "calibrated", problems);
  problems.throw_if_any();
  if (!arguments.scenarios.empty()) return write_scenarios(tables, arguments.scenarios);
  if (arguments.model_of_time != "calibrated") {
    if (arguments.leave_one_out) refuse("--leave-one-out", "there is nothing to fit", "--model-of-time calibrated");
    if (arguments.own_steps > 0) refuse("--own-steps", "there is nothing to fit", "--model-of-time calibrated");
    if (arguments.ablation) refuse("--ablation", "there are no effects", "--model-of-time calibrated");
  }
  validation::ValidateOptions options{arguments.model_of_time, arguments.jobs, engine::engine_named(arguments.engine),
                                      progress_line()};
  const bool page = !arguments.page.empty();
  const auto model = page ? "calibrated" : arguments.model_of_time;
  const auto runs = page ? update_page(arguments, tables, options, log) : validate_tables(tables, options, log);
  const auto collectives = collectives_of(tables);
  const auto json = output::validation_json(runs, model, collectives);
  output::Answer answer;
  if (page) answer.add(arguments.page);
  forget_input(arguments.errors);  // the catalog's tables, which were read for the bands, are made anew
  forget_input(arguments.memory_errors);
  if (!arguments.memory_errors.empty())
    answer.write(arguments.memory_errors, validation::memory_families_csv(memory_families(runs)));
  if (!arguments.errors.empty()) answer.write(arguments.errors, families_csv(validated_families(runs)));
  if (!arguments.plot.empty()) answer.write(arguments.plot, picture_of(runs, collectives, model));
  answer.write(arguments.json, json);
  std::string text, left_out;
  if (!arguments.out.empty()) {
    output::NewFiles files(arguments.out);
    files.write(std::filesystem::path(arguments.out) / "validation.json", json);
    left_out = report::write_report(files, arguments.out, report::validation_report(runs, model, collectives));
    answer.finish(files, arguments.out);
  }
  if (!page && arguments.json == "-") {
    text = json;
  } else if (!page) {
    if (!runs.empty()) text = output::validation_text(runs, arguments.families || !arguments.tables.empty());
    const auto of_collectives = output::collective_errors_text(collectives);
    text += (text.empty() || of_collectives.empty() ? "" : "\n") + of_collectives;
  }
  if (arguments.leave_one_out && arguments.json != "-")
    text += "\n" + output::leave_one_out_text(left_out_of(tables, options, log));
  if (!page && arguments.ablation && arguments.json != "-")
    text += "\n" + output::ablation_text(ablation_of(tables, options, log));
  if (!page && arguments.own_steps > 0 && arguments.json != "-")
    text += "\n" + output::own_steps_text(own_steps_of(tables, options, arguments.own_steps, log), arguments.own_steps);
  if (options.progress) options.progress("done", 1);
  if (arguments.json == "-") return output::print(text);
  text += not_read(files_of_tables.left_out);
  answer.print(text + left_out);
}

}  // namespace

void add_validate(CommandLine& line, spdlog::logger& log) {
  auto command = line.command("validate", "simulate measured training steps and collectives, and print the errors");
  auto arguments = std::make_shared<ValidateArguments>();
  command.option(
      "tables", arguments->tables,
      "tables of published steps or collectives, or CSV files of your own; all published ones if none is named");
  command.option("--data", arguments->data, "a folder with tables of the same names and columns, or of your own runs");
  command.option("--model-of-time", arguments->model_of_time, "how long compute takes: ideal, roofline or calibrated")
      .one_of(models_of_time)
      .shows_default();
  add_engine_option(command, arguments->engine);
  add_jobs_option(command, arguments->jobs);
  command.flag("--families", arguments->families,
               "also print a line for every model of a table (always, if tables are named)");
  command.option("--json", arguments->json, "write families and rows as JSON to a file, or to stdout with -");
  command.option("--out", arguments->out, "folder for report.html and validation.json");
  command.option("--plot", arguments->plot, "write predicted over measured times as a picture (SVG)");
  command.option("--scenarios", arguments->scenarios,
                 "write every row as a scenario file into a folder, and simulate nothing");
  command.flag("--leave-one-out", arguments->leave_one_out,
               "also print the errors of each table with its chip's scales fitted on the other tables");
  command.flag("--ablation", arguments->ablation,
               "also print the errors of each table without each effect of the model (of 6 rows of each)");
  command
      .option("--own-steps", arguments->own_steps,
              "also take so many steps of each table and chip as a user's own: errors and bands of others before "
              "and after")
      .between(1, 100);
  command.option("--errors", arguments->errors,
                 "write the mean error of every family as CSV, such as topologies/catalog/validated.csv, from which "
                 "`run` says how accurate a step is");
  command.option("--memory-errors", arguments->memory_errors,
                 "write the errors of every family's memory as CSV, such as topologies/catalog/validated_memory.csv, "
                 "from which `run` says how surely a step fits");
  command.option("--update-docs", arguments->page,
                 "write the calibrated results between the markers of a page such as docs/validation.md");
  command.footer(
      "Examples:\n  lockstep validate\n  lockstep validate vtrain_multi torchtitan --model-of-time ideal --plot "
      "errors.svg\n"
      "  lockstep validate my_cluster.csv --json -\nColumns of your own CSV: docs/validation.md");
  command.callback([arguments, &log] { run_validate(*arguments, log); });
}

}  // namespace lockstep::commands
