// The loads of links for people, spreadsheets and programs.
#include "tools/output/results/link_load_text.hpp"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/unit/output/lines_of.hpp"
#include "tests/unit/topologies/small_torus.hpp"

namespace lockstep {
namespace {

using test::cells_of_line;
using test::lines_of;
using testing::ElementsAre;
using testing::HasSubstr;

class LinkLoadText : public testing::Test {
 protected:
  static metrics::LinkLoad load(std::int32_t link, std::int32_t alike, double used) {
    return {link, alike, BytesPerSecond(100e9), 3e9 * used, 0.75, used, 1};
  }
  topologies::Cluster cluster_ = test::torus({4, 4}, test::always);
};

// Links 0 and 2 print alike, so they share a row and count as 3 + 5; the third of the different ones is cut off, though
// what reads like a row that is shown still counts.
TEST_F(LinkLoadText, LinksThatReadAlikeShareARow) {
  const std::vector<metrics::LinkLoad> loads{load(0, 3, 0.5), load(1, 1, 0.4), load(2, 5, 0.5), load(3, 1, 0.3),
                                             load(4, 7, 0.4)};
  const auto lines = lines_of(output::link_load_table(cluster_, loads, 2));
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_THAT(cells_of_line(lines[1]),
              ElementsAre(cluster_.link_name(0), "8", "ici", "100 GB/s", "1.50 GB", "75.0 %", "50.0 %", "100.0 %"));
  EXPECT_THAT(cells_of_line(lines[2]),
              ElementsAre(cluster_.link_name(1), "8", "ici", "100 GB/s", "1.20 GB", "75.0 %", "40.0 %", "100.0 %"));
}

TEST_F(LinkLoadText, JsonHasTheValues) {
  const auto list = output::link_load_json(cluster_, std::vector<metrics::LinkLoad>{load(5, 2, 1.0 / 3)});
  ASSERT_EQ(list.size(), 1U);
  EXPECT_EQ(list[0]["link"], cluster_.link_name(5));
  EXPECT_EQ(list[0]["alike"], 2);
  EXPECT_EQ(list[0]["kind"], "ici");
  EXPECT_EQ(list[0]["bandwidth_bytes_per_s"], 100e9);
  EXPECT_EQ(list[0]["bytes"], 3e9 * (1.0 / 3));
  EXPECT_EQ(list[0]["busy_share"], 0.75);
  EXPECT_EQ(list[0]["used_share"], 1.0 / 3);
  EXPECT_EQ(list[0]["peak_share"], 1);
  EXPECT_EQ(output::link_load_json(cluster_, {}), nlohmann::ordered_json::array());
}

// As many cells as the header has, after those that the caller puts first; the name, which holds commas, is quoted; the
// numbers read back as the same doubles.
TEST_F(LinkLoadText, CsvReadsBack) {
  const auto lines = lines_of(output::link_load_csv(
      cluster_, std::vector<metrics::LinkLoad>{load(5, 2, 1.0 / 3), load(6, 1, 0.25)}, "ring,64,"));
  ASSERT_EQ(lines.size(), 2U);
  const std::string beginning = "ring,64,\"" + cluster_.link_name(5) + "\",";
  ASSERT_TRUE(lines[0].starts_with(beginning)) << lines[0];
  std::vector<std::string> cells;
  std::istringstream rest(lines[0].substr(beginning.size()));
  for (std::string cell; std::getline(rest, cell, ',');) cells.push_back(cell);
  ASSERT_EQ(cells.size(), 7U);
  EXPECT_EQ(std::string(output::link_load_csv_header),
            "link,alike,kind,bandwidth_bytes_per_s,bytes,busy_share,used_share,peak_share");
  EXPECT_EQ(cells[0], "2");
  EXPECT_EQ(cells[1], "ici");
  EXPECT_EQ(std::stod(cells[2]), 100e9);
  EXPECT_EQ(std::stod(cells[3]), 3e9 * (1.0 / 3));
  EXPECT_EQ(std::stod(cells[4]), 0.75);
  EXPECT_EQ(std::stod(cells[5]), 1.0 / 3);
  EXPECT_EQ(std::stod(cells[6]), 1);
}

TEST(LinkKinds, HaveNamesOfTheirOwn) {
  std::vector<std::string> names;
  for (const auto kind : {topologies::LinkKind::ici, topologies::LinkKind::pcie, topologies::LinkKind::dcn,
                          topologies::LinkKind::scale_up, topologies::LinkKind::network})
    names.push_back(output::link_kind_name(kind));
  EXPECT_THAT(names, ElementsAre("ici", "pcie", "dcn", "scale-up", "network"));
}

}  // namespace
}  // namespace lockstep
