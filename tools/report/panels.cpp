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

Json chart_panel(const Chart& chart, ReportData& data) {
  using Mark = ChartLine::Mark;
  auto result = headed("lines", chart.title, chart.note);
  const auto axis = [](const ChartAxis& of) {
    return Json{{"title", of.title},
                {"unit", of.unit},
                {"log", of.scale == ChartAxis::Scale::logarithmic},
                {"zero", of.scale == ChartAxis::Scale::from_zero}};
  };
  result["x"] = axis(chart.x);
  result["y"] = axis(chart.y);
  result["lines"] = Json::array();
  for (const auto& line : chart.lines) {
    std::vector<double> x, y;
    for (const auto& [px, py] : line.points) {
      x.push_back(px);
      y.push_back(py);
    }
    result["lines"].push_back({{"name", line.name},
                               {"line", line.mark != Mark::dots},
                               {"dashed", line.mark == Mark::dashed},
                               {"dots", line.mark == Mark::dots || line.mark == Mark::line_with_dots},
                               {"notes", line.notes},
                               {"x", data.real(x)},
                               {"y", data.real(y)}});
  }
  return result;
}

Json lines_panel(const output::LinePlot& plot, ReportData& data) {
  Chart chart{plot.title, "", {plot.x_title, ""}, {plot.y_title, ""}, {}};
  for (const auto& line : plot.lines)
    chart.lines.push_back({line.name, line.points, line.dashed ? ChartLine::Mark::dashed : ChartLine::Mark::line});
  return chart_panel(chart, data);
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

Json prose_panel(const std::string& title, const std::vector<std::string>& paragraphs) {
  auto result = headed("prose", title, "");
  result["paragraphs"] = paragraphs;
  return result;
}

Json picture_panel(const std::string& title, const std::string& note, const std::string& svg) {
  auto result = headed("picture", title, note);
  result["svg"] = svg;
  result["wide"] = true;
  return result;
}

Json again_panel(const Reproduction& reproduction) {
  return {{"panel", "text"},
          {"title", "To get this again"},
          {"wide", true},
          {"text", reproduction.command + (reproduction.scenario.empty() ? "" : "\n\n") + reproduction.scenario}};
}

}  // namespace lockstep::report
