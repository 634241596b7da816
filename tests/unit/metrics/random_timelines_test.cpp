// Random timelines of whole seconds against brute force: what a rank does is looked up in the middle of every second.
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

#include "tests/unit/metrics/drawn_step.hpp"

namespace lockstep {
namespace {

using test::DrawnStep;

constexpr std::int32_t ranks = 3;
constexpr int latest = 30;

/// Twelve operations, on each rank at random places or nowhere, up to five seconds long, and a buffer of each.
class RandomTimeline {
 public:
  explicit RandomTimeline(unsigned seed) : random_(seed), drawn_(ranks) {
    for (int i = 0; i < 12; ++i) {
      DrawnStep::Drawn spans;
      for (std::int32_t rank = 0; rank < ranks; ++rank) {
        const int start = below(latest), length = below(6);
        spans.push_back(below(5) == 0 ? std::pair{-1.0, -1.0} : std::pair<double, double>{start, start + length});
      }
      if (below(2) == 0) {
        drawn_.compute(spans);
      } else {
        drawn_.collective({below(2) == 0 ? "x" : "y"}, spans);
      }
    }
    drawn_.step.held[0].weights = Bytes(below(50));
    drawn_.step.held[0].optimizer = Bytes(below(50));
    for (workloads::OpId producer = 0; producer < 12; ++producer) {
      workloads::Readers readers;
      for (workloads::OpId reader = producer + 1; reader < 12; ++reader) {
        if (below(6) == 0) readers.push_back(reader);
      }
      const auto kind = below(2) == 0 ? workloads::MemoryKind::activations : workloads::MemoryKind::gradients;
      drawn_.step.buffers.push_back({kind, Bytes(below(100)), producer, readers});
    }
  }

  [[nodiscard]] const DrawnStep& drawn() const { return drawn_; }

 private:
  int below(int bound) { return static_cast<int>(random_() % static_cast<unsigned>(bound)); }
  std::mt19937 random_;
  DrawnStep drawn_;
};

bool runs_at(const timeline::Timeline& timeline, workloads::OpId op, std::int32_t rank, double time) {
  if (!timeline.took_part(op, rank)) return false;
  const auto span = timeline.span(op, rank);
  return span.start.value() < time && time < span.end.value();
}

class RandomTimelines : public testing::TestWithParam<unsigned> {
 protected:
  RandomTimeline random_{GetParam()};
  const DrawnStep& drawn_ = random_.drawn();
  timeline::Timeline timeline_ = drawn_.timeline();
  int end_ = static_cast<int>(timeline_.makespan().value());
};
INSTANTIATE_TEST_SUITE_P(Metrics, RandomTimelines, testing::Range(1U, 101U));

TEST_P(RandomTimelines, EverySecondIsComputeExposedOrBubble) {
  for (std::int32_t rank = 0; rank < ranks; ++rank) {
    int compute = 0, exposed = 0, bubble = 0;
    for (double time = 0.5; time < end_; ++time) {
      bool computes = false, communicates = false;
      for (workloads::OpId op = 0; op < timeline_.ops(); ++op) {
        if (!runs_at(timeline_, op, rank, time)) continue;
        const auto kind = drawn_.program.ops[static_cast<std::size_t>(op)].kind;
        (kind == program::ProgramOp::Kind::compute ? computes : communicates) = true;
      }
      ++(computes ? compute : communicates ? exposed : bubble);
    }
    const auto got = metrics::breakdown_of(drawn_.program, timeline_, rank);
    EXPECT_DOUBLE_EQ(got.compute.value(), compute);
    EXPECT_DOUBLE_EQ(got.exposed_comm.value(), exposed);
    EXPECT_DOUBLE_EQ(got.bubble.value(), bubble);
    EXPECT_DOUBLE_EQ((got.compute + got.exposed_comm + got.bubble).value(), end_);
  }
}

// An exposed second goes to the collective in flight that started first, of those the first of the program.
TEST_P(RandomTimelines, ExposedSecondsGoToTheEarliestCollective) {
  for (std::int32_t rank = 0; rank < ranks; ++rank) {
    std::map<std::string, double> exposed, busy;
    for (double time = 0.5; time < end_; ++time) {
      bool computes = false;
      workloads::OpId first = -1;
      for (workloads::OpId op = 0; op < timeline_.ops(); ++op) {
        if (!runs_at(timeline_, op, rank, time)) continue;
        if (drawn_.program.ops[static_cast<std::size_t>(op)].kind == program::ProgramOp::Kind::compute) {
          computes = true;
          continue;
        }
        ++busy[drawn_.step.op(op)->axes.front()];
        if (first < 0 || timeline_.span(op, rank).start < timeline_.span(first, rank).start) first = op;
      }
      if (!computes && first >= 0) ++exposed[drawn_.step.op(first)->axes.front()];
    }
    for (const auto& use : metrics::communication_of(drawn_.step, drawn_.program, timeline_, rank)) {
      EXPECT_DOUBLE_EQ(use.exposed.value(), exposed[use.axis]) << "axis " << use.axis << " of rank " << rank;
      EXPECT_DOUBLE_EQ(use.busy.value(), busy[use.axis]);
    }
  }
}

// A buffer is there from the start of its producer to the end of its last reader on the rank: in every second the curve
// has the sum of those that are. The peak is the curve's highest point, which is the highest second unless an operation
// takes no time: what it holds is there at an instant only.
TEST_P(RandomTimelines, MemoryIsTheSumOfTheBuffersThatAreThere) {
  const auto& held = drawn_.step.held[0];
  for (std::int32_t rank = 0; rank < ranks; ++rank) {
    const auto curve = metrics::memory_curve(drawn_.step, drawn_.program, timeline_, rank);
    std::int64_t peak = (held.weights + held.optimizer).value();
    for (double time = 0.5; time < end_; ++time) {
      std::map<workloads::MemoryKind, std::int64_t> there;
      for (const auto& buffer : drawn_.step.buffers) {
        if (!timeline_.took_part(buffer.producer, rank)) continue;
        auto until = timeline_.span(buffer.producer, rank).end;
        for (const auto reader : buffer.readers) {
          if (timeline_.took_part(reader, rank)) until = std::max(until, timeline_.span(reader, rank).end);
        }
        if (timeline_.span(buffer.producer, rank).start.value() < time && time < until.value())
          there[buffer.kind] += buffer.size.value();
      }
      const auto next =
          std::find_if(curve.begin(), curve.end(), [&](const auto& point) { return point.time.value() > time; });
      const auto& now = *std::prev(next);
      EXPECT_EQ(now.activations.value(), there[workloads::MemoryKind::activations])
          << "rank " << rank << " at " << time;
      EXPECT_EQ(now.gradients.value(), there[workloads::MemoryKind::gradients]) << "rank " << rank << " at " << time;
      peak = std::max(peak, now.total().value());
    }
    const auto use = metrics::memory_of(drawn_.step, drawn_.program, timeline_, rank, Bytes(100));
    bool at_once = false;
    for (workloads::OpId op = 0; op < timeline_.ops(); ++op) {
      if (!timeline_.took_part(op, rank)) continue;
      at_once = at_once || timeline_.span(op, rank).end == timeline_.span(op, rank).start;
    }
    std::int64_t highest = 0;
    for (const auto& point : curve) highest = std::max(highest, point.total().value());
    EXPECT_EQ(use.peak.value(), highest);
    if (at_once) {
      EXPECT_GE(use.peak.value(), peak);
    } else {
      EXPECT_EQ(use.peak.value(), peak);
    }
    EXPECT_EQ(use.total(), use.peak);
    EXPECT_EQ(use.capacity, Bytes(100));
  }
}

TEST_P(RandomTimelines, TheCriticalRankIsTheLowestThatEndsLast) {
  std::int32_t expected = ranks;
  for (std::int32_t rank = ranks - 1; rank >= 0; --rank) {
    for (workloads::OpId op = 0; op < timeline_.ops(); ++op) {
      if (timeline_.took_part(op, rank) && timeline_.span(op, rank).end == timeline_.makespan()) expected = rank;
    }
  }
  EXPECT_EQ(metrics::critical_rank(timeline_), expected);
}

}  // namespace
}  // namespace lockstep
