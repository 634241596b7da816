#include "tools/commands/measured_tables.hpp"

#include <algorithm>

#include "sim/scenario/scenario.hpp"
#include "sim/studies/calibration/validate_attention.hpp"
#include "sim/studies/calibration/validate_products.hpp"

namespace lockstep::commands {
namespace {

std::filesystem::path shipped_data() { return scenario::data_root() / "tests" / "validation" / "data"; }

bool is_file_name(const std::string& text) { return text.ends_with(".csv") || text.find('/') != std::string::npos; }

bool has_kernel_columns(const CsvTable& table) {
  return calibration::has_product_columns(table) || calibration::has_attention_columns(table);
}

/// All tables of a folder: the published ones in their order, then its other files in the own format.
MeasuredFiles tables_in(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files, others, left_out;
  for (const auto& table : validation::published_tables()) {
    const auto file = folder / (std::string(table.name) + ".csv");
    if (std::filesystem::exists(file)) files.push_back(file);
  }
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    if (entry.path().extension() != ".csv" || validation::find_published_table(entry.path().stem().string()) != nullptr)
      continue;
    Problems ignored;
    const CsvTable table(entry.path(), ignored);
    const bool is_table = validation::resembles_measured_columns(table) || has_kernel_columns(table) ||
                          validation::has_collective_columns(table);
    (is_table ? others : left_out).push_back(entry.path());
  }
  std::sort(others.begin(), others.end());
  std::sort(left_out.begin(), left_out.end());
  files.insert(files.end(), others.begin(), others.end());
  if (error || files.empty())
    throw ConfigError({{{folder.string(), 0, 0},
                        "",
                        "has no tables of measured runs",
                        "a folder with CSV files as docs/validation.md describes them"}});
  return {files, left_out};
}

}  // namespace

std::unique_ptr<const CsvTable> read_measured_csv(const std::filesystem::path& file, Problems& problems) {
  const auto before = problems.size();
  auto table = std::make_unique<const CsvTable>(file, problems);
  if (table->rows().empty() && problems.size() == before)
    table->problem("", "has no rows", "a line for each measurement below the header");
  return table;
}

MeasuredFiles measured_files(const std::vector<std::string>& named, const std::filesystem::path& given) {
  const auto folder = given.empty() ? shipped_data() : given;
  if (named.empty()) return tables_in(folder);
  std::vector<std::filesystem::path> files;
  std::vector<std::string> names;
  for (const auto& table : validation::published_tables()) names.emplace_back(table.name);
  Problems problems;
  for (const auto& text : named) {
    const auto file = is_file_name(text) ? std::filesystem::path(text) : folder / (text + ".csv");
    if (!is_file_name(text) && !std::filesystem::exists(file)) {
      if (validation::find_published_table(text) != nullptr) {
        problems.add({{file.string(), 0, 0},
                      "",
                      "no such file",
                      "table " + text + (given.empty() ? " of the installed data" : " in the folder of --data")});
        continue;
      }
      const auto near = did_you_mean(text, names);
      problems.add({{"tables", 0, 0},
                    "",
                    "there is no table '" + text + "'",
                    near.empty() ? "a table such as " + names.front() + ", or a CSV file" : near});
    }
    files.push_back(file);
  }
  problems.throw_if_any();
  return {files, {}};
}

MeasuredTable read_measured_table(const std::filesystem::path& file, Problems& problems) {
  auto table = read_measured_csv(file, problems);
  const auto name = file.stem().string();
  const auto folder = file.parent_path();
  if (!validation::has_measured_columns(*table) && has_kernel_columns(*table))
    return {{name, {}, folder, true}, std::move(table), {}};
  if (validation::has_collective_columns(*table))
    return {{name, {}, folder, true}, {}, validation::read_measured_collectives(*table, name, problems), true};
  const auto* published = validation::has_measured_columns(*table) ? nullptr : validation::find_published_table(name);
  if (published != nullptr) return {{name, read_published_runs(*published, *table), folder, true}, {}, {}};
  return {{name, validation::read_measured_runs(*table, name), folder, false}, {}, {}};
}

}  // namespace lockstep::commands
