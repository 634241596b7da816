#pragma once
/// A report: one HTML file that holds everything and loads nothing. Its content: docs/howto/read_the_report.md.
#include <filesystem>
#include <optional>
#include <string>

#include "tools/output/files/new_file.hpp"
#include "tools/report/encoding.hpp"
#include "tools/report/report_data.hpp"

namespace lockstep::report {

class ReportPage {
 public:
  ReportPage(std::string title, std::string subtitle);

  /// A panel below those before. Its kind ("panel") and keys are those that web/src/main.js knows.
  void add(ReportData::Json panel);
  ReportData& data() { return data_; }

  /// The panels and their columns, as the page holds them: base64 of gzip.
  [[nodiscard]] std::string packed(PackedFor what = PackedFor::keeping) const;

  /// The page, or nothing where the program was built without it. Equal content gives equal bytes.
  [[nodiscard]] std::optional<std::string> html() const;

 private:
  ReportData data_;
  ReportData::Json document_;
};

/// The page of the explorer, which holds no data; nothing where the program was built without it.
[[nodiscard]] std::optional<std::string> explorer_html();

/// Writes `folder`/report.html; gives back what to tell the user: a line if there is no page, else nothing.
[[nodiscard]] std::string write_report(output::NewFiles& files, const std::filesystem::path& folder,
                                       const std::optional<std::string>& page);

}  // namespace lockstep::report
