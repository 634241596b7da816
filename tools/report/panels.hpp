#pragma once
/// Panels of a report page: values that web/src/panels draws.
#include <string>
#include <vector>

#include "tools/output/elements/line_plot.hpp"
#include "tools/report/report_data.hpp"

namespace lockstep::report {

/// A headline number. Units: s, B, B/s, FLOP, FLOP/s, share (of 1), count; "" for a plain number.
struct Figure {
  std::string label;
  double value;
  std::string unit, note;
  std::string state;  ///< "good", "bad" or ""
};
[[nodiscard]] ReportData::Json figures_panel(const std::string& verdict, const std::vector<std::string>& remarks,
                                             const std::vector<Figure>& figures);

/// An axis of a chart, with a unit as in Figure.
struct ChartAxis {
  std::string title, unit;
  enum class Scale { logarithmic, from_zero, linear } scale = Scale::logarithmic;  ///< logarithmic: values are positive
};
struct ChartLine {
  std::string name;
  std::vector<std::pair<double, double>> points;
  enum class Mark { line, dashed, line_with_dots, dots } mark = Mark::line;
  std::vector<std::string> notes{};  ///< of each point, shown with it; or none
};
struct Chart {
  std::string title, note;
  ChartAxis x, y;
  std::vector<ChartLine> lines;
};
[[nodiscard]] ReportData::Json chart_panel(const Chart& chart, ReportData& data);
/// Lines over logarithmic axes.
[[nodiscard]] ReportData::Json lines_panel(const output::LinePlot& plot, ReportData& data);

/// Bars stacked of pieces. Equal colour names have equal colours on the whole page; a mesh axis is one.
struct BarPiece {
  std::string what;
  double value;
  std::string colour;
};
struct BarRow {
  std::string name;
  std::vector<BarPiece> pieces;
};
[[nodiscard]] ReportData::Json bars_panel(const std::string& title, const std::string& note, const std::string& unit,
                                          const std::vector<BarRow>& rows);

/// A column with a unit holds numbers, one without text.
struct TableColumn {
  std::string name, unit;
};
[[nodiscard]] ReportData::Json table_panel(const std::string& title, const std::string& note,
                                           const std::vector<TableColumn>& columns, ReportData::Json rows);

/// Paragraphs to be read.
[[nodiscard]] ReportData::Json prose_panel(const std::string& title, const std::vector<std::string>& paragraphs);
/// A drawing of tools/output, as wide as the page.
[[nodiscard]] ReportData::Json picture_panel(const std::string& title, const std::string& note, const std::string& svg);

/// The command and inputs that give the same result again.
struct Reproduction {
  std::string command;   ///< as it was given
  std::string scenario;  ///< the text of the scenario file, or of every file, or nothing
};
[[nodiscard]] ReportData::Json again_panel(const Reproduction& reproduction);

}  // namespace lockstep::report
