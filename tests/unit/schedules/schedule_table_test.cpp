// A schedule is defined in one file and found by its name everywhere: the table must know each once, and what a row
// says of a schedule must be what its order does.
#include <gmock/gmock.h>

#include <set>

#include "workloads/pipeline/schedules/closed_form.hpp"
#include "workloads/pipeline/schedules/schedules.hpp"

namespace lockstep::test {
namespace {

workloads::ScheduleRequest request_of(const workloads::Schedule& schedule) {
  workloads::ScheduleRequest request;
  request.name = schedule.name;
  request.ranks = 4;
  request.microbatches = 16;
  request.times.stages.assign(static_cast<std::size_t>(4 * schedule.usual_chunks), {1, 1, 1});
  return request;
}

TEST(ScheduleTable, FindsEachByItsName) {
  std::set<std::string_view> names, summaries;
  for (const workloads::Schedule& schedule : workloads::schedules()) {
    EXPECT_EQ(workloads::find_schedule(schedule.name), &schedule);
    EXPECT_TRUE(names.insert(schedule.name).second) << schedule.name;
    EXPECT_TRUE(summaries.insert(schedule.summary).second) << schedule.name << ": " << schedule.summary;
    EXPECT_NE(schedule.order, nullptr) << schedule.name;
  }
  EXPECT_GE(names.size(), 22U);
  EXPECT_EQ(workloads::find_schedule("1F1B"), nullptr);
  EXPECT_EQ(workloads::find_schedule(""), nullptr);
}

TEST(ScheduleTable, SaysWhatOrdersDo) {
  for (const workloads::Schedule& schedule : workloads::schedules()) {
    const auto order = make_order(request_of(schedule));
    bool splits = false, overlaps = false;
    for (const auto& rank : order.ranks) {
      for (const auto& cell : rank) {
        overlaps |= cell.second.has_value();
        splits |= cell.first.work == workloads::PipelineWork::weight_gradient;
      }
    }
    EXPECT_EQ(splits, schedule.splits_backward) << schedule.name;
    EXPECT_EQ(overlaps, schedule.overlaps) << schedule.name;
    EXPECT_EQ(order.shape.placement, schedule.placement) << schedule.name;
    EXPECT_EQ(order.shape.chunks, schedule.usual_chunks) << schedule.name;
    EXPECT_EQ(order.schedule, schedule.name);
  }
}

// A memory limit is taken by those that choose by time, a group by those that take one, slices by those that slice, and
// refused by all others.
TEST(ScheduleTable, OptionsAreThoseOfTheRow) {
  for (const workloads::Schedule& schedule : workloads::schedules()) {
    auto limited = request_of(schedule);
    limited.memory_limit = {8};
    EXPECT_EQ(schedule.why_not(limited).has_value(), !schedule.chooses_by_time) << schedule.name;
    auto grouped = request_of(schedule);
    grouped.group = 4;
    EXPECT_EQ(schedule.why_not(grouped).has_value(), !schedule.takes_group) << schedule.name;
    auto sliced = request_of(schedule);
    sliced.slices = 2;
    EXPECT_EQ(schedule.why_not(sliced).has_value(), !schedule.takes_slices) << schedule.name;
    auto chunked = request_of(schedule);
    chunked.chunks = schedule.usual_chunks + 2;
    EXPECT_EQ(schedule.why_not(chunked).has_value(), !schedule.takes_chunks()) << schedule.name;
  }
}

// The literature has none for wave and v-1f1b; a new schedule may or may not have one.
TEST(ScheduleTable, HasTheClosedFormOfItsRow) {
  std::set<std::string_view> without;
  for (const workloads::Schedule& schedule : workloads::schedules()) {
    EXPECT_EQ(closed_form(request_of(schedule)).has_value(), schedule.closed_form != nullptr) << schedule.name;
    if (schedule.closed_form == nullptr) without.insert(schedule.name);
  }
  EXPECT_THAT(without, testing::IsSupersetOf({"v-1f1b", "wave"}));
  auto unknown = request_of(*workloads::find_schedule("gpipe"));
  unknown.name = "mine";
  EXPECT_EQ(closed_form(unknown), std::nullopt);
}

}  // namespace
}  // namespace lockstep::test
