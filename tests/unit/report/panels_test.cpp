// Panels of a page: what the simulation says, as JSON that the page draws. A bar's pieces add up to what it shows.
#include "tools/report/panels.hpp"

#include <gmock/gmock.h>

#include <bit>

#include "tests/unit/output/hostile_name.hpp"
#include "tests/unit/trace/simulated.hpp"
#include "tools/report/cluster_panels.hpp"
#include "tools/report/stage_panels.hpp"

namespace lockstep {
namespace {

using Json = report::ReportData::Json;
using testing::HasSubstr;

/// What packed() holds, read as the page reads it.
class Unpacked {
 public:
  explicit Unpacked(const std::string& packed) : packed_(packed) {
    std::size_t size = 0;
    for (int i = 3; i >= 0; --i) size = size * 256 + byte(static_cast<std::size_t>(i));
    document = Json::parse(packed.substr(4, size));
    lists_ = 4 + size;
  }
  [[nodiscard]] std::vector<double> real(const Json& list) const {
    std::vector<double> numbers;
    std::size_t at = lists_ + list["real"][0].get<std::size_t>();
    for (auto count = list["real"][1].get<std::size_t>(); count > 0; --count, at += 8) {
      std::uint64_t bits = 0;
      for (std::size_t i = 8; i-- > 0;) bits = bits << 8U | byte(at + i);
      numbers.push_back(std::bit_cast<double>(bits));
    }
    return numbers;
  }
  [[nodiscard]] std::vector<std::uint64_t> whole(const Json& list) const {
    std::vector<std::uint64_t> numbers;
    std::size_t at = lists_ + list["whole"][0].get<std::size_t>();
    for (auto count = list["whole"][1].get<std::size_t>(); count > 0; --count) {
      std::uint64_t number = 0;
      for (unsigned shift = 0;; shift += 7) {
        const auto now = byte(at++);
        number |= static_cast<std::uint64_t>(now & 127U) << shift;
        if (now < 128) break;
      }
      numbers.push_back(number);
    }
    return numbers;
  }
  Json document;

 private:
  [[nodiscard]] unsigned byte(std::size_t at) const { return static_cast<unsigned char>(packed_.at(at)); }
  std::string packed_;
  std::size_t lists_ = 0;
};

double sum_of(const Json& row) {
  double sum = 0;
  for (const auto& piece : row["pieces"]) sum += piece["value"].get<double>();
  return sum;
}

TEST(Panels, LinesReadBack) {
  report::ReportData data;
  const auto panel =
      lines_panel({test::hostile_name, "x", "y", {{"a", {{1, 2}, {3, 1.0 / 3}}}, {"b", {{5, 6}}, true}}}, data);
  const Unpacked read(data.packed(panel));
  EXPECT_EQ(read.document["title"], test::hostile_name);
  EXPECT_EQ(read.real(read.document["lines"][0]["x"]), (std::vector<double>{1, 3}));
  EXPECT_EQ(read.real(read.document["lines"][0]["y"]), (std::vector<double>{2, 1.0 / 3}));
  EXPECT_EQ(read.real(read.document["lines"][1]["y"]), std::vector<double>{6});
  EXPECT_EQ(read.document["lines"][0]["dashed"], false);
  EXPECT_EQ(read.document["lines"][1]["dashed"], true);
}

TEST(Panels, BarsTablesAndFigures) {
  EXPECT_EQ(report::bars_panel("t", "", "s", {{"row", {{"what", 2.5, "blue"}}}}),
            Json::parse(R"({"panel":"bars","title":"t","unit":"s","rows":[{"name":"row","pieces":[{"what":"what",
                            "value":2.5,"colour":"blue"}]}]})"));
  EXPECT_EQ(report::table_panel("t", "n", {{"a", "s"}}, Json::parse("[[1],[2]]")),
            Json::parse(R"({"panel":"table","title":"t","note":"n","columns":[{"name":"a","unit":"s"}],
                            "rows":[[1],[2]]})"));
  const auto figures = report::figures_panel("verdict", {"remark"}, {{"label", 3, "B", "note", "bad"}});
  EXPECT_EQ(figures["remarks"], Json::parse(R"(["remark"])"));
  EXPECT_EQ(figures["figures"][0]["state"], "bad");
}

class SimulatedPanels : public testing::TestWithParam<const char*> {
 protected:
  Simulated simulated_{GetParam()};
  const Simulation& simulation_ = simulated_.simulation;
  const double step_ = simulation_.metrics.step_time.value();
};
INSTANTIATE_TEST_SUITE_P(Report, SimulatedPanels,
                         testing::Values("small.yaml", "pipeline_alike.yaml", "trace_fsdp.yaml"), [](const auto& test) {
                           const std::string file = test.param;
                           return file.substr(0, file.find('.'));
                         });

TEST_P(SimulatedPanels, EveryStagesBarIsTheStep) {
  const auto panel = report::breakdown_panel(simulation_);
  ASSERT_EQ(panel["rows"].size(), simulation_.metrics.stages.size());
  for (const auto& row : panel["rows"]) EXPECT_NEAR(sum_of(row), step_, 1e-9 * step_) << row["name"];
}

TEST_P(SimulatedPanels, IdleAndComputingAreTheStep) {
  const auto panel = report::bubbles_panel(simulated_.scenario, simulation_);
  for (std::size_t i = 0; i < simulation_.metrics.stages.size(); ++i)
    EXPECT_NEAR(sum_of(panel["rows"][i]) + simulation_.metrics.stages[i].breakdown.compute.value(), step_,
                1e-9 * step_);
}

TEST_P(SimulatedPanels, CommunicationIsExposedOrHidden) {
  const auto panel = report::communication_panel(simulation_);
  ASSERT_EQ(panel["rows"].size(), simulation_.metrics.communication.size());
  for (std::size_t i = 0; i < panel["rows"].size(); ++i) {
    const auto& use = simulation_.metrics.communication[i];
    EXPECT_NEAR(sum_of(panel["rows"][i]), use.busy.value(), 1e-12);
    EXPECT_EQ(panel["rows"][i]["pieces"][0]["value"], use.exposed.value());
  }
}

// However many parts the path has, the bars are the step: what is not shown by itself is among the others.
TEST_P(SimulatedPanels, TheCriticalPathIsTheStep) {
  const auto panel = report::critical_path_panel(simulation_);
  EXPECT_LE(panel["rows"].size(), 13U);
  double sum = 0;
  for (const auto& row : panel["rows"]) sum += sum_of(row);
  EXPECT_NEAR(sum, step_, 1e-9 * step_);
}

// Thinned out to the pixels of a page, the curve still has the peak.
TEST_P(SimulatedPanels, TheStripsOfMemoryReachThePeak) {
  report::ReportData data;
  const auto panel = memory_panel(simulation_, data);
  const Unpacked read(data.packed(panel));
  for (std::size_t i = 0; i < read.document["rows"].size(); ++i) {
    const auto& row = read.document["rows"][i];
    const auto times = read.whole(row["time"]);
    EXPECT_TRUE(std::is_sorted(times.begin(), times.end()));
    EXPECT_LE(times.size(), 401U);
    std::vector<std::uint64_t> totals(times.size());
    for (const auto& [kind, list] : row["kinds"].items()) {
      const auto column = read.whole(list);
      ASSERT_EQ(column.size(), times.size()) << kind;
      for (std::size_t at = 0; at < column.size(); ++at) totals[at] += column[at];
    }
    EXPECT_EQ(*std::max_element(totals.begin(), totals.end()),
              static_cast<std::uint64_t>(simulation_.metrics.stages[i].memory.peak.value()));
  }
}

TEST_P(SimulatedPanels, EveryRankStandsBehindALane) {
  const auto panel = report::classes_panel(simulation_);
  std::int64_t ranks = 0;
  for (const auto& row : panel["rows"]) ranks += row[2].get<std::int64_t>();
  EXPECT_EQ(ranks, simulation_.metrics.chips);
}

TEST(Panels, ManyPartsOfTheCriticalPathBecomeTheOthers) {
  Simulated simulated("small.yaml");
  auto& path = simulated.simulation.metrics.critical_path;
  path.parts.clear();
  for (int i = 20; i > 0; --i)
    path.parts.push_back({metrics::CriticalPart::Kind::compute, "p" + std::to_string(i), Seconds(i), 1});
  const auto rows = report::critical_path_panel(simulated.simulation)["rows"];
  ASSERT_EQ(rows.size(), 13U);
  EXPECT_EQ(rows[12]["name"], "all others");
  EXPECT_EQ(sum_of(rows[12]), 8 * 9 / 2) << "8 + 7 + ... + 1";
}

TEST(Panels, AGainIsNeverBelowNothing) {
  Simulated simulated("small.yaml");
  simulated.simulation.elasticity = {{"compute rate", -0.5, true}, {"latency", 0.25, false}, {"odd", 0.1, true}};
  const auto rows = report::sensitivity_panel(simulated.simulation)["rows"];
  EXPECT_EQ(rows[0]["name"], "more compute rate");
  EXPECT_EQ(sum_of(rows[0]), 0.5);
  EXPECT_EQ(rows[1]["name"], "less latency");
  EXPECT_EQ(sum_of(rows[1]), 0.25);
  EXPECT_EQ(sum_of(rows[2]), 0);
}

TEST(Panels, NoLinksWherePhasesWereNotRecorded) {
  const Simulated simulated("small.yaml");
  report::ReportData data;
  EXPECT_FALSE(network_panel(simulated.simulation, data));
}

}  // namespace
}  // namespace lockstep
