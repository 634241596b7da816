#include "tools/report/panels.hpp"

namespace lockstep::report {
namespace {

using Json = ReportData::Json;

Json headed(const char* panel, const std::string& title, const std::string& note) {
  Json result = {{"panel", panel}, {"title", title}};
  if (!note.empty()) result["note"] = note;
  return result;
}

}  // namespace

Json figures_panel(const std::string& verdict, const std::vector<std::string>& remarks,
                   const std::vector<Figure>& figures) {
  Json list = Json::array();
  for (const auto& figure : figures) {
    list.push_back({{"label", figure.label},
                    {"value", figure.value},
                    {"unit", figure.unit},
                    {"note", figure.note},
                    {"state", figure.state}});
  }
  return {{"panel", "figures"}, {"verdict", verdict}, {"remarks", remarks}, {"figures", std::move(list)}};
}

Json lines_panel(const output::LinePlot& plot, ReportData& data) {
  auto result = headed("lines", plot.title, "");
  result["x"] = plot.x_title;
  result["y"] = plot.y_title;
  result["lines"] = Json::array();
  for (const auto& line : plot.lines) {
    std::vector<double> x, y;
    for (const auto& [px, py] : line.points) {
      x.push_back(px);
      y.push_back(py);
    }
    result["lines"].push_back({{"name", line.name}, {"dashed", line.dashed}, {"x", data.real(x)}, {"y", data.real(y)}});
  }
  return result;
}

Json bars_panel(const std::string& title, const std::string& note, const std::string& unit,
                const std::vector<BarRow>& rows) {
  auto result = headed("bars", title, note);
  result["unit"] = unit;
  result["rows"] = Json::array();
  for (const auto& row : rows) {
    Json pieces = Json::array();
    for (const auto& piece : row.pieces)
      pieces.push_back({{"what", piece.what}, {"value", piece.value}, {"colour", piece.colour}});
    result["rows"].push_back({{"name", row.name}, {"pieces", std::move(pieces)}});
  }
  return result;
}

Json table_panel(const std::string& title, const std::string& note, const std::vector<TableColumn>& columns,
                 Json rows) {
  auto result = headed("table", title, note);
  result["columns"] = Json::array();
  for (const auto& column : columns) result["columns"].push_back({{"name", column.name}, {"unit", column.unit}});
  result["rows"] = std::move(rows);
  return result;
}

}  // namespace lockstep::report
