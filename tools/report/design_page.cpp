#include "tools/report/design_page.hpp"

#include <utility>

namespace lockstep::report {
namespace {

std::string paragraph_of(const std::vector<std::string>& sentences) {
  std::string text;
  for (const auto& sentence : sentences) text += (text.empty() ? "" : " ") + sentence;
  return text;
}

}  // namespace

ReportPage design_page(std::string title, std::string subtitle, const output::DesignReasons& reasons,
                       const std::vector<Figure>& figures) {
  ReportPage page(std::move(title), std::move(subtitle));
  page.add(figures_panel(reasons.answer, {}, figures));
  if (!reasons.why.empty()) page.add(prose_panel("Why", {paragraph_of(reasons.why)}));
  if (!reasons.what_if.empty()) page.add(prose_panel("What if", reasons.what_if));
  return page;
}

}  // namespace lockstep::report
