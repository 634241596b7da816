#include "tools/sweep/export_csv.hpp"

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

}  // namespace

std::string export_csv(Database& database, const StoreHeader& header) {
  std::string columns, order;
  for (const auto& key : header.keys) {
    columns += quoted_name(key) + ", ";
    order += quoted_name(key) + ", ";
  }
  columns += "status";
  for (const auto& output : sweep_outputs()) columns += ", " + std::string(output.name);
  Statement rows(database, "SELECT " + columns + ", error FROM point ORDER BY " + order + "key");
  std::string text;
  for (int at = 0; at < rows.columns(); ++at) text += (at > 0 ? "," : "") + output::csv_field(rows.column_name(at));
  text += "\n";
  while (rows.step()) {
    for (int at = 0; at < rows.columns(); ++at) text += (at > 0 ? "," : "") + field(rows, at);
    text += "\n";
  }
  return text;
}

}  // namespace lockstep::sweep
