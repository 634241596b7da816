// The parts that schedules are put together from, each by itself: interleaved passes, DualPipe's steps, the slots of a
// V and the pipeline of automatic schedules.
#include <gmock/gmock.h>

#include <map>
#include <random>
#include <set>

#include "sim/core/errors.hpp"
#include "sim/core/indexed.hpp"
#include "workloads/pipeline/problem_list.hpp"
#include "workloads/pipeline/schedules/dualpipe_steps.hpp"
#include "workloads/pipeline/schedules/interleaving.hpp"
#include "workloads/pipeline/schedules/schedules_private.hpp"
#include "workloads/pipeline/schedules/split_pipeline_private.hpp"
#include "workloads/pipeline/schedules/v_pattern_slots.hpp"

namespace lockstep {
namespace {

using ::testing::ElementsAre;
using enum workloads::PipelineWork;

std::string text(const std::optional<workloads::PipelineAction>& action) { return action ? action->to_string() : "-"; }

// P = 2, V = 2, M = 5 in groups of 2: microbatches 0 1 through both chunks of rank 1 (stages 1 and 3), then 2 3, then
// 4 alone; backwards the same with the chunks reversed.
TEST(InterleavedPasses, GoByGroupsThroughTheChunks) {
  const workloads::InterleavedPasses passes({workloads::StagePlacement::loop, 2, 2, 5}, 2);
  std::vector<std::string> forwards, backwards;
  for (std::int32_t pass = 0; pass < passes.count(); ++pass) {
    forwards.push_back(text(passes.forward(1, pass)));
    backwards.push_back(text(passes.backward(input_gradient, 1, pass)));
  }
  EXPECT_THAT(forwards, ElementsAre("1F0", "1F1", "3F0", "3F1", "1F2", "1F3", "3F2", "3F3", "1F4", "3F4"));
  EXPECT_THAT(backwards, ElementsAre("3I0", "3I1", "1I0", "1I1", "3I2", "3I3", "1I2", "1I3", "3I4", "1I4"));
  EXPECT_EQ(text(passes.forward(1, -1)) + text(passes.forward(1, 10)) + text(passes.backward(backward, 0, 10)), "---");
  EXPECT_EQ(passes.at_most_all(11), 10);
  EXPECT_EQ(passes.at_most_all(3), 3);
}

// Whatever the group, a rank's passes are each of its V chunks with each of the M microbatches once.
TEST(InterleavedPasses, AreEveryChunkWithEveryMicrobatchOnce) {
  for (std::int32_t chunks = 1; chunks <= 4; ++chunks) {
    for (std::int32_t microbatches = 1; microbatches <= 9; ++microbatches) {
      for (std::int32_t group = 1; group <= microbatches + 1; ++group) {
        const workloads::PipelineShape shape{workloads::StagePlacement::loop, 3, chunks, microbatches};
        const workloads::InterleavedPasses passes(shape, group);
        std::set<std::string> seen;
        for (std::int32_t pass = 0; pass < passes.count(); ++pass) {
          const auto forward = passes.forward(2, pass);
          ASSERT_TRUE(forward);
          EXPECT_EQ(shape.rank_of(forward->stage, forward->microbatch), 2);
          EXPECT_TRUE(seen.insert(text(forward)).second);
          EXPECT_TRUE(seen.insert(text(passes.backward(backward, 2, pass))).second);
        }
        EXPECT_EQ(std::ssize(seen), 2 * chunks * microbatches);
      }
    }
  }
}

// N = M / max(1, floor(M / P)) unless it is named.
TEST(GroupOf, FollowsFromRoundsOfEqualSize) {
  workloads::ScheduleRequest request;
  request.ranks = 4;
  for (const auto& [microbatches, group] : {std::pair{8, 4}, {12, 4}, {3, 3}, {10, 5}, {4, 4}, {7, 7}}) {
    request.microbatches = microbatches;
    EXPECT_EQ(group_of(request), group) << microbatches;
  }
  request.group = 6;
  EXPECT_EQ(group_of(request), 6);
}

TEST(ScheduleRules, NameTheNumberToChange) {
  workloads::ScheduleRequest request;
  request.ranks = 4;
  request.microbatches = 10;
  EXPECT_FALSE(equal_rounds_rule(request)) << "two rounds of five";
  request.microbatches = 9;
  const auto rounds = equal_rounds_rule(request).value();
  EXPECT_EQ(rounds.about, "microbatches");
  EXPECT_EQ(rounds.what, "9 cannot go in 2 equal rounds (microbatches / stages, rounded down)");
  request.group = 3;
  EXPECT_EQ(named_group_rule(request).value().expected, "a number from 4 (the stages) to 9 (the microbatches)");
  request.group = 7;
  const auto rest = named_group_rule(request).value();
  EXPECT_EQ(rest.about, "group");
  EXPECT_EQ(rest.what, "groups of 7 leave 2 of 9 microbatches for the last group");
  request.group = 5;
  EXPECT_FALSE(named_group_rule(request)) << "a last group of four is enough";
}

TEST(ScheduleRules, SizesAreRefusedBeforeMemoryIsSpent) {
  for (const workloads::Schedule& schedule : workloads::schedules()) {
    SCOPED_TRACE(schedule.name);
    const auto chunks = schedule.usual_chunks;
    EXPECT_EQ(schedule.why_not(0, 4, chunks).value().what, "0 is out of range");
    EXPECT_EQ(schedule.why_not(65'537, 4, chunks).value().expected, "a number from 1 to 65536");
    EXPECT_EQ(schedule.why_not(4, 0, chunks).value().about, "microbatches");
    EXPECT_EQ(schedule.why_not(4, 1'000'001, chunks).value().expected, "a number from 1 to 1000000");
    EXPECT_EQ(schedule.why_not(4, std::int64_t{1} << 33, chunks).value().what, "1000001 is out of range");
    EXPECT_EQ(schedule.why_not(4, 4, 1025).value().about, "chunks");
    EXPECT_EQ(schedule.why_not(65'536, 1'000'000, chunks).value().what,
              "the schedule would have more than 50000000 actions");
  }
  workloads::ScheduleRequest unknown;
  unknown.name = "1F1B";
  try {
    (void)completed(unknown);
    FAIL() << "accepted";
  } catch (const workloads::ScheduleError& error) {
    EXPECT_EQ(error.about(), "schedule");
    EXPECT_EQ(error.what_is_wrong(), "'1F1B' is not a schedule");
    EXPECT_THAT(error.expected(), testing::StartsWith("one of naive, gpipe, 1f1b, "));
  }
}

// Each half of DualPipe's rank runs M microbatches of each stream once, forwards before backwards; a whole backward, or
// both its halves.
TEST(DualPipeCells, RunEachStreamOnceAndInOrder) {
  for (std::int32_t ranks = 1; ranks <= 5; ++ranks) {
    for (std::int32_t rank = 0; rank < ranks; ++rank) {
      for (std::int32_t microbatches = 2 * ranks; microbatches <= 2 * ranks + 3; ++microbatches) {
        const auto cells = workloads::dualpipe_cells(ranks, rank, microbatches, {{{10, 0}, {20, 100}}});
        std::map<std::pair<std::int32_t, std::int32_t>, std::string> done;
        for (const auto& cell : cells) {
          EXPECT_TRUE(!cell.second || cell.first.work == forward);
          for_each_action(cell, [&](const workloads::PipelineAction& action) {
            done[{action.stage, action.microbatch}] += name(action.work);
          });
        }
        EXPECT_EQ(std::ssize(done), 2 * microbatches);
        for (const auto& [where, works] : done) {
          EXPECT_TRUE(works == "FB" || works == "FIW") << works;
          const auto first = where.first == 10 ? 0 : 100;
          EXPECT_TRUE(where.second >= first && where.second < first + microbatches);
        }
      }
    }
  }
}

// A rank's memory slot by slot, against counting it anew after every change: forwards add one, weight gradients (or, in
// gaps, free slots worth one that is due) take one away.
TEST(VSlots, MostActivationsAreThoseCountedAnew) {
  using namespace workloads::v_slots;
  std::mt19937 random(5);
  for (const bool gaps : {false, true}) {
    for (int draw = 0; draw < 200; ++draw) {
      constexpr std::int32_t slots = 12;
      constexpr std::size_t none = rows;
      std::vector<std::size_t> row(slots, none);
      MemoryOfRank memory(slots, gaps);
      const auto most_from = [&](std::int32_t from, std::int32_t to) {
        std::int32_t held = 0, due = 0, most = 0;
        for (std::int32_t slot = 0; slot <= to; ++slot) {
          const auto what = row[position_of(slot)];
          if (what == down || what == up) ++held;
          if (what == gradient_up || what == gradient_down) ++due;
          if (what == weight || (gaps && what == none && due > 0)) {
            --held;
            --due;
          }
          if (slot == from || (slot > from && held > most)) most = held;
        }
        return most;
      };
      for (int put = 0; put < 8; ++put) {
        const auto slot = static_cast<std::int32_t>(random() % slots);
        if (!memory.free(slot)) continue;
        const auto what = random() % (gaps ? 4 : 5);
        const auto to = slot + static_cast<std::int32_t>(random() % position_of(slots - slot));
        memory.advance_to(slot);
        row[position_of(slot)] = what;
        ASSERT_EQ(memory.most(slot, to, what), most_from(slot, to)) << "draw " << draw;
        memory.put(slot, what);
        ASSERT_FALSE(memory.free(slot));
      }
    }
  }
}

// Forwards in slots 0 and 1, input gradients in 4 and 7: a weight gradient is due after each of the two, and takes the
// first free slot from then on.
TEST(VSlots, WeightGradientsFillFreeSlots) {
  using namespace workloads::v_slots;
  Slots slots;
  slots[down] = {0};
  slots[up] = {1};
  slots[gradient_up] = {4};
  slots[gradient_down] = {7};
  fill_with_weights(slots);
  EXPECT_THAT(slots[weight], ElementsAre(5, 8)) << "slots 2 and 3 are free too early, 5 is the first after a gradient";
  std::vector<std::string> events;
  for (const auto& event : by_slot(slots, 3)) {
    EXPECT_EQ(event.rank, 3);
    events.push_back(std::to_string(event.slot) + ":" + std::to_string(event.row));
  }
  EXPECT_THAT(events, ElementsAre("0:0", "1:1", "4:2", "5:4", "7:3", "8:4"));
  const auto both = by_slot(std::vector<Slots>{slots, slots});
  ASSERT_EQ(both.size(), 12U);
  EXPECT_EQ(both[1].rank, 1) << "at the same slot the first rank goes first";
  EXPECT_EQ(both[2].slot, 1);
}

// P = 2, M = 2, F = 1, I = 2, W = 4, c = 0.5: rank 0 runs F0 0-1 and F1 1-2, rank 1 F0 1.5-2.5 and I0 2.5-4.5; back on
// rank 0, I0 arrives at 5 and ends at 7.
TEST(SplitPipeline, KeepsTimeMemoryAndWhatIsOwed) {
  workloads::ScheduleRequest request;
  request.name = "zb-auto";
  request.ranks = 2;
  request.microbatches = 2;
  request.times = {{{1, 2, 4}}, 0.5, {}};
  workloads::SplitPipeline pipeline(request, empty_order(request, workloads::StagePlacement::linear, 1), {4, 4});
  EXPECT_TRUE(pipeline.has_forward_input(0));
  EXPECT_FALSE(pipeline.has_forward_input(1));
  pipeline.forward(0);
  pipeline.forward(0);
  EXPECT_EQ(pipeline.now(0), 2);
  EXPECT_EQ(pipeline.forward_arrival(1), 1.5);
  pipeline.forward(1);
  EXPECT_FALSE(pipeline.has_input_gradient_input(0));
  pipeline.input_gradient(1);
  EXPECT_EQ(pipeline.now(1), 4.5);
  EXPECT_EQ(pipeline.bubble(1), 0) << "waiting for the first input is no bubble";
  EXPECT_EQ(pipeline.input_gradient_arrival(0), 5);
  EXPECT_EQ(pipeline.held(0), 4) << "two forwards of 2";
  pipeline.input_gradient(0);
  EXPECT_EQ(pipeline.now(0), 7);
  EXPECT_EQ(pipeline.bubble(0), 3) << "from 2 to 5";
  EXPECT_EQ(pipeline.longest_bubble(), 3);
  EXPECT_EQ(pipeline.held(0), 3) << "the input gradient lets go of 1";
  ASSERT_EQ(pipeline.owed(0).size(), 1U);
  EXPECT_EQ(pipeline.fill_wait(0, 10.5), 3.5) << "W takes 4 and does not fit before 10.5";
  EXPECT_EQ(pipeline.fill_wait(0, 11), 0) << "it ends just in time";
  EXPECT_TRUE(pipeline.owed(0).empty());
  EXPECT_EQ(pipeline.held(0), 2);
  EXPECT_EQ(pipeline.longest_span(), 11);
  EXPECT_THROW(pipeline.input_gradient(0), InternalError) << "its gradient has not come from rank 1";
  EXPECT_EQ(pipeline.take_order().to_string(), "0F0,0F1,0I0,0W0\n1F0,1I0\n");
}

// A limit of 4 holds two forwards of 2; the third needs room, which a weight gradient that is owed makes.
TEST(SplitPipeline, MakesRoomUnderTheLimit) {
  workloads::ScheduleRequest request;
  request.ranks = 1;
  request.microbatches = 3;
  request.activations = {2, -0.5, -1.5};
  workloads::SplitPipeline pipeline(request, empty_order(request, workloads::StagePlacement::linear, 1), {4});
  pipeline.forward(0);
  pipeline.forward(0);
  pipeline.input_gradient(0);
  EXPECT_EQ(pipeline.held(0), 3.5);
  pipeline.make_room_for_backward(0);
  EXPECT_EQ(pipeline.owed(0).size(), 1U) << "a backward adds nothing";
  pipeline.make_room_for_forward(0);
  EXPECT_TRUE(pipeline.owed(0).empty());
  EXPECT_EQ(pipeline.held(0), 2);
  pipeline.make_room_for_forward(0);
  EXPECT_EQ(pipeline.held(0), 2) << "nothing is owed";
}

std::string refused(const workloads::ScheduleRequest& request, std::int32_t chunks, double usual, double least) {
  try {
    (void)limits_in_activations(request, chunks, usual, least);
  } catch (const workloads::ScheduleError& error) {
    return error.about() + ": " + error.what_is_wrong() + " [" + error.expected() + "]";
  }
  return "";
}

// limit in microbatches x V forwards each; a billionth of rounding is forgiven.
TEST(LimitsInActivations, AreMicrobatchesThroughAllChunks) {
  workloads::ScheduleRequest request;
  request.ranks = 2;
  EXPECT_THAT(limits_in_activations(request, 2, 3, 1), ElementsAre(testing::DoubleNear(12, 1e-7), testing::_));
  request.memory_limit = {1, 2.5};
  EXPECT_THAT(limits_in_activations(request, 1, 3, 1),
              ElementsAre(testing::DoubleNear(2, 1e-7), testing::DoubleNear(5, 1e-7)));
  request.memory_limit = {1, 0.5};
  EXPECT_EQ(refused(request, 1, 3, 1), "memory-limit: nothing fits under 0.5 microbatches on rank 1 [at least 1]");
  request.memory_limit = {1, 2, 3};
  EXPECT_EQ(refused(request, 1, 3, 1), "memory-limit: 3 limits are given [one for all ranks, or one for each of 2]");
  request.memory_limit = {};
  request.activations = {2, 1, -3};
  EXPECT_EQ(backward_reserve(request.activations), 1);
  request.memory_limit = {1.25};
  EXPECT_EQ(refused(request, 1, 3, 1), "memory-limit: nothing fits under 1.25 microbatches on rank 0 [at least 1.5]");
  request.activations = {2, -1, -0.5};
  EXPECT_THAT(refused(request, 1, 3, 1), testing::HasSubstr("let go of just what a forward holds"));
  request.activations = {};
  request.times.stages.assign(3, {});
  EXPECT_EQ(refused(request, 1, 3, 1), "stages: times of 3 stages are given [one for all, or one for each of 2]");
}

TEST(ComparedTimes, ABillionthOfTheLongestIsNoDifference) {
  for (const double unit : {1.0, 1e-6, 1e6}) {
    const workloads::ComparedTimes compare(workloads::PipelineTimes{{{1 * unit, 2 * unit, 5 * unit}}, 0, {}});
    EXPECT_FALSE(compare.less(unit, unit * (1 + 4e-9)));
    EXPECT_TRUE(compare.less(unit, unit * (1 + 6e-9)));
    EXPECT_TRUE(compare.at_most(unit * (1 + 4e-9), unit));
    EXPECT_FALSE(compare.at_most(unit * (1 + 6e-9), unit));
  }
}

TEST(ProblemList, StaysShortAndMakesNoTextBeyond) {
  struct Line {
    std::string what;
  };
  workloads::ProblemList<Line> list;
  EXPECT_TRUE(list.empty());
  int made = 0;
  for (int i = 0; i < 25; ++i) list.add([&] { return Line{std::to_string(made++)}; });
  EXPECT_EQ(made, 20);
  const auto lines = list.take();
  ASSERT_EQ(lines.size(), 21U);
  EXPECT_EQ(lines[19].what, "19");
  EXPECT_EQ(lines[20].what, "and 5 more problems");
}

}  // namespace
}  // namespace lockstep
