#include "tools/report/page.hpp"

#include <utility>

#include "sim/core/errors.hpp"
#include "tools/output/elements/json_document.hpp"
#include "tools/report/encoding.hpp"

// web/ bundled and gzipped; empty where Node.js was missing.
extern "C" const unsigned char lockstep_report_page[];
extern "C" const unsigned char lockstep_report_page_end[];
extern "C" const unsigned char lockstep_explorer_page[];
extern "C" const unsigned char lockstep_explorer_page_end[];

namespace lockstep::report {
namespace {

/// A bundled page with its data; nothing if it was not bundled.
std::optional<std::string> filled(std::span<const unsigned char> bundle, const std::string& data) {
  if (bundle.empty()) return std::nullopt;
  auto page = gunzipped(bundle);
  constexpr std::string_view place = "@DATA@";
  const auto at = page.find(place);
  if (at == std::string::npos) throw InternalError("the bundled page has no place for data");
  return page.replace(at, place.size(), data);
}

}  // namespace

ReportPage::ReportPage(std::string title, std::string subtitle)
    : document_({{"title", std::move(title)},
                 {"subtitle", std::move(subtitle)},
                 {"footer", "Lockstep " + output::version()},
                 {"panels", ReportData::Json::array()}}) {}

void ReportPage::add(ReportData::Json panel) { document_["panels"].push_back(std::move(panel)); }

std::string ReportPage::packed(PackedFor what) const { return base64(gzipped(data_.packed(document_), what)); }

std::optional<std::string> ReportPage::html() const {
  return filled({&lockstep_report_page[0], &lockstep_report_page_end[0]}, packed());
}

std::optional<std::string> explorer_html() {
  return filled({&lockstep_explorer_page[0], &lockstep_explorer_page_end[0]}, "");
}

std::string write_report(output::NewFiles& files, const std::filesystem::path& folder,
                         const std::optional<std::string>& page) {
  if (!page) return "no report.html: this program was built without Node.js\n";
  files.write(folder / "report.html", *page);
  return "";
}

}  // namespace lockstep::report
