#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <memory>
#include <thread>

#include "sim/core/csv_table.hpp"
#include "tools/commands/commands.hpp"
#include "tools/output/file.hpp"
#include "tools/output/png.hpp"
#include "tools/output/validation_report.hpp"

namespace lockstep {
namespace {

struct ValidateArguments {
  std::vector<std::string> tables;
  std::string data, json, model_of_time = "roofline", plot, scenarios, page;
  int jobs = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  bool families = false;
};

const std::vector<std::string> models_of_time{"ideal", "roofline", "calibrated"};

std::filesystem::path shipped_data() { return data_root() / "tests" / "validation" / "data"; }

bool is_file_name(const std::string& text) { return text.ends_with(".csv") || text.find('/') != std::string::npos; }

/// A published table by its file's name, else a file in this program's own format.
RunTable read_table(const std::filesystem::path& file, Problems& problems) {
  const CsvTable table(file, problems);
  const auto name = file.stem().string();
  const auto* published = has_measured_columns(table) ? nullptr : find_published_table(name);
  if (published != nullptr) return {name, read_published_runs(*published, table), file.parent_path(), true};
  return {name, read_measured_runs(table, name), file.parent_path(), false};
}

/// All tables of a folder: the published ones in their order, then its other files in the own format.
std::vector<std::filesystem::path> tables_in(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files, others;
  for (const auto& table : published_tables()) {
    const auto file = folder / (std::string(table.name) + ".csv");
    if (std::filesystem::exists(file)) files.push_back(file);
  }
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    if (entry.path().extension() != ".csv" || find_published_table(entry.path().stem().string()) != nullptr) continue;
    Problems ignored;
    if (has_measured_columns(CsvTable(entry.path(), ignored))) others.push_back(entry.path());
  }
  std::sort(others.begin(), others.end());
  files.insert(files.end(), others.begin(), others.end());
  if (error || files.empty()) throw ConfigError({{{folder.string(), 0, 0}, "", "has no tables of measured runs", "a folder with CSV files as docs/validation.md describes them"}});
  return files;
}

std::vector<std::filesystem::path> files_named(const ValidateArguments& arguments) {
  const std::filesystem::path folder = arguments.data.empty() ? shipped_data() : std::filesystem::path(arguments.data);
  if (arguments.tables.empty()) return tables_in(folder);
  std::vector<std::filesystem::path> files;
  std::vector<std::string> names;
  for (const auto& table : published_tables()) names.emplace_back(table.name);
  Problems problems;
  for (const auto& text : arguments.tables) {
    const auto file = is_file_name(text) ? std::filesystem::path(text) : folder / (text + ".csv");
    if (!is_file_name(text) && !std::filesystem::exists(file)) {
      const auto near = did_you_mean(text, names);
      problems.add({{"validate", 0, 0}, "", "there is no table '" + text + "'", near.empty() ? "a table such as " + names.front() + ", or a CSV file" : near});
    }
    files.push_back(file);
  }
  problems.throw_if_any();
  return files;
}

void write_scenarios(const std::vector<RunTable>& tables, const std::filesystem::path& folder) {
  for (const auto& table : tables) {
    make_folder(folder / table.name);
    for (const auto& run : table.runs) {
      const auto why = run.skipped_because.empty() ? "" : "# skipped: " + run.skipped_because + "\n";
      write_file(folder / table.name / (std::to_string(run.row) + ".yaml"), "# " + table.name + ", " + run.name + "\n" + why + scenario_text(run));
    }
  }
}

void update_page(const std::string& file, const std::vector<RunTable>& tables, ValidateOptions options, spdlog::logger& log) {
  std::ifstream in(file, std::ios::binary);
  const std::string page(std::istreambuf_iterator<char>(in), {});
  (void)with_generated_part(page, "", file);
  std::vector<ModelResult> results;
  for (const auto& model : models_of_time) {
    options.model_of_time = model;
    results.push_back({model, validate(tables, options, log)});
  }
  write_file(file, with_generated_part(page, validation_page(results), file));
}

void write_plot(const std::string& file, const std::string& picture) {
  if (file.ends_with(".png")) {
    write_png(file, picture);
  } else {
    write_file(file, picture);
  }
}

void run_validate(const ValidateArguments& arguments, spdlog::logger& log) {
  if (arguments.json != "-") check_file_place(arguments.json);
  check_file_place(arguments.plot);
  check_png_writer(arguments.plot.ends_with(".png") ? arguments.plot : "");
  check_folder_place(arguments.scenarios);
  check_file_place(arguments.page);
  Problems problems;
  std::vector<RunTable> tables;
  for (const auto& file : files_named(arguments)) tables.push_back(read_table(file, problems));
  problems.throw_if_any();
  if (!arguments.scenarios.empty()) return write_scenarios(tables, arguments.scenarios);
  ValidateOptions options{arguments.model_of_time, arguments.jobs, EngineKind::simgrid, progress_line()};
  if (!arguments.page.empty()) {
    update_page(arguments.page, tables, options, log);
  } else {
    const auto runs = validate(tables, options, log);
    const auto json = validation_json(runs, arguments.model_of_time);
    if (!arguments.plot.empty()) write_plot(arguments.plot, validation_picture(runs, "Measured steps, model of time: " + arguments.model_of_time));
    if (!arguments.json.empty() && arguments.json != "-") write_file(arguments.json, json);
    const auto text = arguments.json == "-" ? json : validation_text(runs, arguments.families || !arguments.tables.empty());
    if (options.progress) options.progress("done", 1);
    std::fwrite(text.data(), 1, text.size(), stdout);
  }
  if (options.progress) options.progress("done", 1);
}

}  // namespace

void add_validate(CLI::App& app, spdlog::logger& log) {
  auto* command = app.add_subcommand("validate", "simulate measured training steps and print the errors");
  auto arguments = std::make_shared<ValidateArguments>();
  command->add_option("tables", arguments->tables, "tables of published steps, or CSV files of your own runs; all published ones if none is named");
  command->add_option("--data", arguments->data, "a folder with tables of the same names and columns, or of your own runs");
  command->add_option("--model-of-time", arguments->model_of_time, "how long compute takes: ideal, roofline or calibrated")->check(CLI::IsMember(models_of_time))->capture_default_str();
  command->add_option("--jobs", arguments->jobs, "simulations at a time")->check(CLI::Range(1, 1024))->capture_default_str();
  command->add_flag("--families", arguments->families, "a line for every model of a table too (always, where tables are named)");
  command->add_option("--json", arguments->json, "write families and rows as JSON to a file, or to stdout with -");
  command->add_option("--plot", arguments->plot, "write predicted over measured steps as a picture, .svg or .png (.png needs rsvg-convert, Debian's librsvg2-bin)");
  command->add_option("--scenarios", arguments->scenarios, "write every row as a scenario file into a folder, and simulate nothing");
  command->add_option("--update-docs", arguments->page, "write the results under every model of time between the markers of a page such as docs/validation.md");
  command->footer("Examples:\n  lockstep validate\n  lockstep validate vtrain_multi torchtitan --model-of-time ideal --plot errors.svg\n"
                  "  lockstep validate my_cluster.csv --json -\nColumns of your own CSV: docs/validation.md");
  command->callback([arguments, &log] { run_validate(*arguments, log); });
}

}  // namespace lockstep
