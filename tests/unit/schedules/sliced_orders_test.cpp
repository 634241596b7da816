// Orders whose passes are slices of microbatches' sequences, against the rule of the published implementation
// (thunlp/Seq1F1B, megatron/core/pipeline_parallel): how many forwards go before the first backward, then one forward
// and one backward in turn, and backwards from a queue of queues: out of the oldest microbatch its youngest slice.
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <map>

#include "tests/unit/schedules/order_text.hpp"
#include "workloads/pipeline/schedules/schedules.hpp"
#include "workloads/pipeline/verify_order.hpp"

namespace lockstep {
namespace {

struct Sizes {
  std::int32_t ranks, microbatches, slices, chunks;
  [[nodiscard]] std::int32_t units() const { return microbatches * slices; }
};

workloads::ScheduleRequest request_of(const std::string& name, const Sizes& sizes) {
  workloads::ScheduleRequest request;
  request.name = name;
  request.ranks = sizes.ranks;
  request.microbatches = sizes.microbatches;
  request.chunks = sizes.chunks;
  request.slices = sizes.slices;
  return request;
}

std::string text(const Sizes& sizes) {
  return "P" + std::to_string(sizes.ranks) + " M" + std::to_string(sizes.microbatches) + " n" +
         std::to_string(sizes.slices) + " V" + std::to_string(sizes.chunks);
}

/// Slices whose backward is due, of one chunk.
class SliceQueue {
 public:
  explicit SliceQueue(std::int32_t slices) : slices_(static_cast<std::size_t>(slices)) {}
  void push(std::int32_t unit) {
    if (queues_.empty() || pushed_ == slices_) {
      queues_.emplace_back();
      pushed_ = 0;
    }
    queues_.back().push_back(unit);
    ++pushed_;
  }
  std::int32_t pop() {
    const auto unit = queues_.front().back();
    queues_.front().pop_back();
    if (queues_.front().empty()) queues_.pop_front();
    return unit;
  }

 private:
  std::size_t slices_, pushed_ = 0;
  std::deque<std::vector<std::int32_t>> queues_;
};

/// What a rank does: `table` says for each of its forwards which chunk and which slice; backwards take the chunks of
/// the table from the last to the first.
std::string published_order(const Sizes& sizes, std::int32_t rank, std::int32_t warm_up,
                            const std::vector<std::pair<std::int32_t, std::int32_t>>& table) {
  std::map<std::int32_t, SliceQueue> due;
  for (std::int32_t chunk = 0; chunk < sizes.chunks; ++chunk) due.emplace(chunk, SliceQueue(sizes.slices));
  std::string order;
  std::size_t ahead = 0, back = 0;
  const auto forward = [&] {
    const auto [chunk, unit] = table[ahead++];
    due.at(chunk).push(unit);
    order += (order.empty() ? "" : ",") + std::to_string(chunk * sizes.ranks + rank) + "F" + std::to_string(unit);
  };
  const auto backward = [&] {
    const auto chunk = sizes.chunks - 1 - table[back++].first;
    order += "," + std::to_string(chunk * sizes.ranks + rank) + "B" + std::to_string(due.at(chunk).pop());
  };
  for (std::int32_t i = 0; i < warm_up; ++i) forward();
  while (ahead < table.size()) {
    forward();
    backward();
  }
  while (back < table.size()) backward();
  return order + "\n";
}

std::string published_order(const Sizes& sizes) {
  std::vector<std::pair<std::int32_t, std::int32_t>> table;
  for (std::int32_t unit = 0; unit < sizes.units(); ++unit) table.emplace_back(0, unit);
  std::string order;
  for (std::int32_t rank = 0; rank < sizes.ranks; ++rank)
    order += published_order(sizes, rank, std::min(sizes.units(), sizes.ranks - rank + sizes.slices - 2), table);
  return order;
}

std::string published_interleaved_order(const Sizes& sizes) {
  std::vector<std::pair<std::int32_t, std::int32_t>> table;
  for (std::int32_t first = 0; first < sizes.units(); first += sizes.ranks) {
    for (std::int32_t chunk = 0; chunk < sizes.chunks; ++chunk) {
      for (std::int32_t i = 0; i < sizes.ranks; ++i) table.emplace_back(chunk, first + i);
    }
  }
  std::string order;
  for (std::int32_t rank = 0; rank < sizes.ranks; ++rank) {
    const auto warm_up = (sizes.chunks - 1) * sizes.ranks + 2 * (sizes.ranks - rank - 1) + sizes.slices - 1;
    order += published_order(sizes, rank, std::min(warm_up, sizes.chunks * sizes.units()), table);
  }
  return order;
}

template <class Visit>
void for_each_size(std::int32_t most_chunks, Visit visit) {
  for (std::int32_t ranks = 1; ranks <= 8; ++ranks) {
    for (std::int32_t microbatches = 1; microbatches <= 9; ++microbatches) {
      for (std::int32_t slices = 1; slices <= 8; ++slices) {
        for (std::int32_t chunks = 1; chunks <= most_chunks; ++chunks) {
          const Sizes sizes{ranks, microbatches, slices, chunks};
          SCOPED_TRACE(text(sizes));
          visit(sizes);
        }
      }
    }
  }
}

TEST(SlicedOrders, AreThoseOfThePublishedRule) {
  for_each_size(1, [](const Sizes& sizes) {
    for (const std::string name : {"seq1f1b", "slimpipe"}) {
      const auto order = make_order(request_of(name, sizes));
      EXPECT_EQ(order.to_string(), published_order(sizes)) << name;
      EXPECT_TRUE(verify_order(order).empty()) << name;
    }
  });
}

// Interleaved, slices go in groups of P; P must be whole microbatches, and M n whole groups.
TEST(SlicedOrders, InterleavedAreThoseOfThePublishedRule) {
  int made = 0;
  for_each_size(3, [&](const Sizes& sizes) {
    const auto request = request_of("seq1f1b-interleaved", sizes);
    const auto why = workloads::find_schedule(request.name)->why_not(request);
    const bool whole = sizes.ranks % sizes.slices == 0, groups = sizes.units() % sizes.ranks == 0;
    ASSERT_EQ(why.has_value(), !(whole && groups));
    if (why) {
      EXPECT_EQ(why->about, whole ? "microbatches" : "slices");
      return;
    }
    ++made;
    const auto order = make_order(request);
    EXPECT_EQ(order.to_string(), published_interleaved_order(sizes));
    EXPECT_TRUE(verify_order(order).empty());
  });
  EXPECT_GT(made, 100);
}

// With one slice the passes are microbatches again: 1F1B, and interleaved 1F1B in groups of P.
TEST(SlicedOrders, OneSliceIsTheWholeMicrobatch) {
  for_each_size(3, [](Sizes sizes) {
    if (sizes.slices > 1) return;
    auto plain = request_of(sizes.chunks == 1 ? "1f1b" : "interleaved", sizes);
    if (sizes.chunks == 1)
      EXPECT_EQ(make_order(request_of("seq1f1b", sizes)).to_string(), make_order(plain).to_string());
    else if (sizes.microbatches % sizes.ranks == 0)
      EXPECT_EQ(make_order(request_of("seq1f1b-interleaved", sizes)).to_string(), make_order(plain).to_string());
  });
}

// Rank r holds the P - r + n - 2 slices of its warm-up and one more; where there are fewer, all M n.
TEST(SlicedOrders, HoldAFewSlicesBeyondOneMicrobatch) {
  for_each_size(1, [](const Sizes& sizes) {
    const auto held = held_activations(make_order(request_of("seq1f1b", sizes))).until_weight_gradient;
    for (const workloads::StageId rank : held.ids())
      EXPECT_EQ(held[rank], std::min(sizes.units(), sizes.ranks - rank + sizes.slices - 1));
  });
}

// A slice takes (F + B) / n of a rank. The pipe is filled and drained by slices: (M n + P - 1) of them, of which P - 1
// find a rank idle.
TEST(SlicedOrders, FillAndDrainBySlices) {
  for_each_size(1, [](const Sizes& sizes) {
    workloads::PipelineTimes times;
    times.stages = {{1, 1.25, 0.75}};
    times.slices = workloads::even_slices(sizes.slices);
    const auto timing = time_order(make_order(request_of("seq1f1b", sizes)), times);
    EXPECT_NEAR(timing.makespan, 3.0 * (sizes.units() + sizes.ranks - 1) / sizes.slices, 1e-9);
  });
}

// Four causal slices of one length attend to 1, 3, 5 and 7 of 16 parts of the triangle. A rank's work is the same, but
// neighbours wait for each other: on the last of P = 2 ranks a slice's backward of 14/16 meets a forward of 1/16.
TEST(SlicedOrders, UnevenSlicesWait) {
  workloads::PipelineTimes even, causal;
  even.slices = workloads::even_slices(4);
  causal.slices = {1.0 / 16, 3.0 / 16, 5.0 / 16, 7.0 / 16};
  for (const std::int32_t ranks : {2, 4, 8}) {
    const auto order = make_order(request_of("seq1f1b", {ranks, 8, 4, 1}));
    const auto alike = time_order(order, even), differing = time_order(order, causal);
    for (const workloads::StageId rank : alike.busy.ids()) EXPECT_NEAR(alike.busy[rank], differing.busy[rank], 1e-9);
    EXPECT_GT(differing.makespan, alike.makespan + 1);
  }
}

// With n = 2, slices 0 and 1 are microbatch 0, slices 2 and 3 microbatch 1: slice 1 reads what slice 0 leaves, and
// gives it gradients back.
TEST(SlicedOrders, VerifierKnowsWhatSlicesNeedOfEachOther) {
  const auto problems_of = [](const std::string& rank, std::int32_t units) {
    auto order = order_of(workloads::StagePlacement::linear, 1, units, {rank});
    order.shape.slices = 2;
    std::vector<std::string> found;
    for (const auto& problem : verify_order(order)) found.push_back(problem.what);
    return found;
  };
  using Texts = std::vector<std::string>;
  EXPECT_EQ(problems_of("0F0 0F1 0B1 0B0 0F2 0F3 0B3 0B2", 4), Texts{});
  EXPECT_EQ(problems_of("0F1 0F0 0B1 0B0", 2), Texts{"0F1 comes before 0F0, which it needs"});
  EXPECT_EQ(problems_of("0F0 0F1 0B0 0B1", 2), Texts{"0B0 comes before 0B1, which it needs"});
  EXPECT_EQ(problems_of("0F0 0F1 0F2 0B1 0B0 0B2", 3), Texts{"3 slices are no whole microbatches of 2"});
}

// Refused before memory is spent: 1024 slices at most, and with M n P V no more actions than any other order.
TEST(SlicedOrders, HaveLimits) {
  const auto& schedule = *workloads::find_schedule("seq1f1b");
  EXPECT_EQ(schedule.why_not(request_of("seq1f1b", {4, 8, 1025, 1})).value().about, "slices");
  EXPECT_EQ(schedule.why_not(request_of("seq1f1b", {4, 8, 0, 1})).value().about, "slices");
  EXPECT_EQ(schedule.why_not(request_of("seq1f1b", {64, 1000, 1000, 1})).value().about, "microbatches");
  EXPECT_EQ(workloads::find_schedule("1f1b")->why_not(request_of("1f1b", {4, 8, 2, 1})).value().about, "slices");
}

}  // namespace
}  // namespace lockstep
