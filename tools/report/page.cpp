#include "tools/report/page.hpp"

#include <utility>

#include "sim/core/errors.hpp"
#include "tools/output/elements/json_document.hpp"
#include "tools/report/encoding.hpp"

// web/ bundled and gzipped; empty where Node.js was missing.
extern "C" const unsigned char lockstep_report_page[];
extern "C" const unsigned char lockstep_report_page_end[];

namespace lockstep::report {

ReportPage::ReportPage(std::string title, std::string subtitle)
    : document_({{"title", std::move(title)},
                 {"subtitle", std::move(subtitle)},
                 {"footer", "Lockstep " + output::version()},
                 {"panels", ReportData::Json::array()}}) {}

void ReportPage::add(ReportData::Json panel) { document_["panels"].push_back(std::move(panel)); }

std::optional<std::string> ReportPage::html() const {
  const std::span<const unsigned char> bundle(&lockstep_report_page[0], &lockstep_report_page_end[0]);
  if (bundle.empty()) return std::nullopt;
  auto page = gunzipped(bundle);
  constexpr std::string_view place = "@DATA@";
  const auto at = page.find(place);
  if (at == std::string::npos) throw InternalError("the report page has no place for data");
  return page.replace(at, place.size(), base64(gzipped(data_.packed(document_))));
}

std::string write_report(output::NewFiles& files, const std::filesystem::path& folder,
                         const std::optional<std::string>& page) {
  if (!page) return "no report.html: this program was built without Node.js\n";
  files.write(folder / "report.html", *page);
  return "";
}

}  // namespace lockstep::report
