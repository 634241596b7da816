#include "tools/sweep/export_csv.hpp"

#include <limits>

#include "sim/core/quantity_text.hpp"
#include "tools/output/files/csv_field.hpp"
#include "tools/sweep/outputs.hpp"

namespace lockstep::sweep {
namespace {

std::string field(const Statement& row, int at) {
  switch (row.type(at)) {
    case Statement::Type::whole: return std::to_string(row.whole(at));
    case Statement::Type::real: return exact(row.real(at));
    case Statement::Type::text: return output::csv_field(row.text(at));
    case Statement::Type::blob:
    case Statement::Type::null: return "";
  }
  return "";
}

/// The word of docs/json.md's `memory.verdict`, from the row's outputs, which begin at `first`; "" where it is not
/// known.
std::string verdict_of(const Statement& row, int first) {
  const auto output = [&](const char* name) {
    const int at = first + static_cast<int>(place_of_output(name));
    return row.type(at) == Statement::Type::null ? std::numeric_limits<double>::quiet_NaN() : row.real(at);
  };
  const auto fit = fit_of_point(output("fits"), output("peak_bytes"), output("capacity_bytes"));
  return fit ? std::string(name(*fit)) : "";
}

}  // namespace

std::string export_csv(Database& database, const StoreHeader& header) {
  std::string columns, order;
  for (const auto& key : header.keys) {
    columns += quoted_name(key) + ", ";
    order += quoted_name(key) + ", ";
  }
  columns += "status";
  for (const auto& output : sweep_outputs()) columns += ", " + std::string(output.name);
  const int first = static_cast<int>(header.keys.size()) + 1;
  const int verdict = first + static_cast<int>(sweep_outputs().size());
  Statement rows(database, "SELECT " + columns + ", NULL AS verdict, error FROM point ORDER BY " + order + "key");
  std::string text;
  for (int at = 0; at < rows.columns(); ++at) text += (at > 0 ? "," : "") + output::csv_field(rows.column_name(at));
  text += "\n";
  while (rows.step()) {
    for (int at = 0; at < rows.columns(); ++at)
      text += (at > 0 ? "," : "") + (at == verdict ? verdict_of(rows, first) : field(rows, at));
    text += "\n";
  }
  return text;
}

}  // namespace lockstep::sweep
