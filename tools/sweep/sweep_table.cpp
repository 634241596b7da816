#include "tools/sweep/sweep_table.hpp"

#include <algorithm>
#include <cstdlib>
#include <limits>

namespace lockstep::sweep {
namespace {

constexpr std::size_t most_lines = 12;

void add_cell(SweepTable::Key& key, std::unordered_set<std::string>& seen, const Statement& row, int at) {
  const auto text = row.text(at);
  key.cells.push_back(text);
  key.numbers = key.numbers && (row.type(at) == Statement::Type::whole || row.type(at) == Statement::Type::real);
  if (seen.insert(text).second) key.values.push_back(text);
}

std::size_t key_named(const SweepTable& table, const std::string& name, const std::string& option) {
  std::vector<std::string> names;
  std::string list;
  for (std::size_t i = 0; i < table.keys.size(); ++i) {
    if (table.keys[i].name == name) return i;
    names.push_back(table.keys[i].name);
    list += (list.empty() ? "" : ", ") + names.back();
  }
  const auto near = did_you_mean(name, names);
  throw ConfigError({{{option, 0, 0}, "", "'" + name + "' is not swept", near.empty() ? "one of " + list : near}});
}

}  // namespace

SweepTable read_table(Database& database, const StoreHeader& header) {
  SweepTable table;
  std::string columns, order;
  for (const auto& key : header.keys) {
    table.keys.push_back({key, {}, {}, true});
    columns += quoted_name(key) + ", ";
    order += quoted_name(key) + ", ";
  }
  for (const auto& output : sweep_outputs()) columns += std::string(output.name) + ", ";
  table.outputs.resize(sweep_outputs().size());
  Statement rows(database, "SELECT " + columns + "id FROM point WHERE status = 'done' ORDER BY " + order + "key");
  Indexed<int, std::unordered_set<std::string>> seen(table.keys.size());
  while (rows.step()) {
    int at = 0;
    for (auto& key : table.keys) {
      add_cell(key, seen[at], rows, at);
      ++at;
    }
    for (auto& output : table.outputs) {
      output.push_back(rows.type(at) == Statement::Type::null ? std::numeric_limits<double>::quiet_NaN()
                                                              : rows.real(at));
      ++at;
    }
  }
  const auto less = [](const std::string& a, const std::string& b) {
    return std::atof(a.c_str()) < std::atof(b.c_str());
  };
  for (auto& key : table.keys) {
    if (key.numbers) std::stable_sort(key.values.begin(), key.values.end(), less);
  }
  return table;
}

SweepAxes axes_named(const SweepTable& table, const std::string& y, const std::string& x, const std::string& by) {
  SweepAxes axes;
  const auto outputs = sweep_outputs();
  if (!y.empty()) axes.y = static_cast<std::size_t>(&output_named(y, "--y") - outputs.data());
  std::vector<std::size_t> varied;
  for (std::size_t i = 0; i < table.keys.size(); ++i) {
    if (table.keys[i].values.size() > 1) varied.push_back(i);
  }
  if (!by.empty()) axes.by = key_named(table, by, "--by");
  std::erase(varied, axes.by.value_or(table.keys.size()));
  if (!x.empty()) {
    axes.x = key_named(table, x, "--x");
  } else if (!varied.empty()) {
    axes.x = varied.front();
  }
  std::erase(varied, axes.x);
  if (by.empty() && !varied.empty() && table.keys[varied.front()].values.size() <= most_lines) axes.by = varied.front();
  return axes;
}

bool less_is_better(const SweepOutput& output) {
  return output.unit == "s" || output.unit == "B" || output.name.starts_with("bubble");
}

}  // namespace lockstep::sweep
