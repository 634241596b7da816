// A row for each rank; a cell stands at 74 + its start / makespan x width, and is as wide as its time.
#include <gmock/gmock.h>

#include "tests/unit/output/picture_reading.hpp"
#include "tests/unit/schedules/small_request.hpp"
#include "tools/output/schedules/schedule_study.hpp"

namespace lockstep {
namespace {

using test::Element;
using test::elements_of;

output::ScheduleStudy study_of(const std::string& name, std::int32_t ranks, std::int32_t microbatches) {
  const auto asked = test::request_of(name, ranks, microbatches);
  return output::study_order(make_order(asked), asked.times, {});
}

/// Where the row of a rank begins: rows of 26 pixels, strips of 13 and gaps of 9 below 92.
double top_of(std::size_t rank) { return 92 + 48.0 * static_cast<double>(rank); }

/// Cells with a title, in a rank's row.
std::vector<Element> cells_in(const std::vector<Element>& rectangles, std::size_t rank) {
  auto cells = rectangles;
  std::erase_if(cells, [&](const Element& cell) {
    return cell.title.empty() || cell.number("y") < top_of(rank) || cell.number("y") >= top_of(rank) + 26;
  });
  return cells;
}

// 1F1B of two ranks and two microbatches lasts 9 (see schedule_study_test.cpp): a unit of time is 100 of 900 pixels.
TEST(SchedulePicture, CellsStandWhereTheyRun) {
  const auto study = study_of("1f1b", 2, 2);
  const auto rectangles = elements_of(schedule_picture(study), "rect");
  for (std::size_t rank = 0; rank < 2; ++rank) {
    const auto cells = cells_in(rectangles, rank);
    ASSERT_EQ(cells.size(), 4U);
    for (std::size_t i = 0; i < 4; ++i) {
      const auto& span = study.timing.spans[rank][i];
      EXPECT_NEAR(cells[i].number("x"), 74 + 100 * span.start, 0.01);
      EXPECT_NEAR(cells[i].number("width"), 100 * (span.end - span.start), 0.7) << "less the gap between cells";
      EXPECT_THAT(cells[i].title, testing::StartsWith(study.order.ranks[rank][i].to_string() + ": "));
    }
  }
  EXPECT_THAT(elements_of(schedule_picture(study), "text"),
              testing::Contains(testing::Field(&Element::text, "rank 1")));
}

// In every schedule cells do not overlap, stay within the row and take the time that the rank is busy; the two halves
// of an overlapped pair stand above one another.
TEST(SchedulePicture, EveryScheduleCoversItsBusyTime) {
  for (const workloads::Schedule& schedule : workloads::schedules()) {
    if (schedule.why_not(4, 8, schedule.usual_chunks)) continue;
    const auto study = study_of(std::string(schedule.name), 4, 8);
    const auto svg = schedule_picture(study);
    const auto rectangles = elements_of(svg, "rect");
    std::size_t drawn = 0;
    for (std::size_t rank = 0; rank < 4; ++rank) {
      double area = 0, least = 0;
      for (const auto& cell : cells_in(rectangles, rank)) {
        area += (cell.number("width") + 0.6) * cell.number("height");
        least = std::max(least, cell.number("height"));
        ++drawn;
      }
      const auto svg_wide = elements_of(svg, "svg")[0].attributes.at("viewBox").substr(4);
      const double unit = (std::stod(svg_wide) - 160) / study.timing.makespan;
      EXPECT_NEAR(area / 26 / unit / study.timing.busy[rank], 1, 0.03) << schedule.name << " rank " << rank;
    }
    std::size_t actions = 0;
    for (const auto& rank : study.order.ranks) {
      for (const auto& cell : rank) for_each_action(cell, [&](const workloads::PipelineAction&) { ++actions; });
    }
    EXPECT_EQ(drawn, actions) << schedule.name;
  }
}

// 8 ranks of 4,000 microbatches are 64,000 cells: they become columns of pixels, and the picture stays small. In each
// row the coloured columns are the share of the time that the rank is busy.
TEST(SchedulePicture, ManyCellsBecomeColumns) {
  const auto study = study_of("1f1b", 8, 4000);
  const auto svg = schedule_picture(study);
  EXPECT_LT(svg.size(), 400'000U);
  double columns = 0;
  for (const auto& path : elements_of(svg, "path")) {
    if (!path.attributes.contains("stroke-width")) continue;
    const auto& d = path.attributes.at("d");
    for (auto at = d.find('h'); at != std::string::npos; at = d.find('h', at + 1))
      columns += std::stod(d.substr(at + 1));
  }
  double busy = 0;
  for (const double one : study.timing.busy) busy += one;
  EXPECT_NEAR(columns, busy / study.timing.makespan * 2400, 8 * 3);
}

}  // namespace
}  // namespace lockstep
