#include "tools/report/page.hpp"

#include <gtest/gtest.h>

#include "tools/report/panels.hpp"

namespace lockstep {
namespace {

report::ReportPage hostile_page() {
  report::ReportPage page("</script><script>alert(1)</script>", "\" onload=\"alert(2)");
  page.add(report::table_panel("<!-- ]]> '", "", {{"<b>", ""}}, {{"<img src=x onerror=alert(3)>"}}));
  return page;
}

TEST(ReportPage, HoldsNothingOfTheUsersAsMarkup) {
  const auto page = hostile_page().html();
  if (!page) GTEST_SKIP() << "built without Node.js: there is no page";
  EXPECT_EQ(page->find("alert("), std::string::npos);
  EXPECT_EQ(page->find("onload=\""), std::string::npos);
  EXPECT_EQ(page->find("@DATA@"), std::string::npos);
}

TEST(ReportPage, LoadsNothingAndIsTheSameEachTime) {
  const auto page = hostile_page().html();
  if (!page) GTEST_SKIP() << "built without Node.js: there is no page";
  EXPECT_EQ(page, hostile_page().html());
  EXPECT_NE(page->find("default-src 'none'"), std::string::npos);
  for (const char* outside : {" src=\"http", " href=\"http", "@import", "url(http"})
    EXPECT_EQ(page->find(outside), std::string::npos) << outside;
}

}  // namespace
}  // namespace lockstep
