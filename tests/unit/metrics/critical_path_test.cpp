// The chain of operations that sets the step time: each started when the one before it ended, because it needs it,
// follows it on the compute stream, or waited for its stream. Drawn by hand.
#include <gtest/gtest.h>

#include <optional>

#include "tests/unit/metrics/drawn_step.hpp"

namespace lockstep {
namespace {

using Why = metrics::CriticalSpan::Why;
using Kind = metrics::CriticalPart::Kind;

/// Two ranks; collectives join them. Compute runs on stream 0, collectives on 1 ("x").
class Chain {
 public:
  Chain() : drawn_(2) { drawn_.program.communicators = {{"x", 0, {{{0, 1}, {}}}}}; }

  /// `after` is needed; `behind` only comes first on the stream.
  workloads::OpId compute(const std::string& name, const test::DrawnStep::Drawn& spans,
                          const std::vector<workloads::OpId>& after = {}, std::optional<workloads::OpId> behind = {},
                          workloads::StepPass pass = workloads::StepPass::forward) {
    workloads::StepWork work;
    work.name = name;
    workloads::StepOp op;
    op.pass = pass;
    auto waits = after;
    if (behind) waits.push_back(*behind);
    const auto id = drawn_.add(std::move(work), spans, waits, op);
    drawn_.program.ops.back().streams = {0};
    for (const auto before : after) drawn_.step.depend(id, before);
    return id;
  }

  workloads::OpId gather(double start, double end, const std::vector<workloads::OpId>& after, double latency = 0,
                         double alone = 0) {
    workloads::StepWork work;
    work.kind = workloads::StepWork::Kind::collective;
    work.axes = {"x"};
    work.collective = workloads::CollectiveKind::all_gather;
    const auto id = drawn_.add(std::move(work), {{start, end}, {start, end}}, after);
    auto& lowered = drawn_.program.ops.back();
    lowered.streams = {1};
    lowered.communicator = 0;
    lowered.phases = {{Seconds(latency), {}}};
    lowered.closed_form = Seconds(alone > 0 ? alone : end - start);
    for (const auto before : after) drawn_.step.depend(id, before);
    return id;
  }

  [[nodiscard]] metrics::CriticalPath path() const {
    return metrics::critical_path_of(drawn_.step, drawn_.program, drawn_.timeline());
  }

 private:
  test::DrawnStep drawn_;
};

struct Link {
  workloads::OpId op;
  std::int32_t rank;
  Why why;
  friend bool operator==(const Link&, const Link&) = default;
  friend void PrintTo(const Link& link, std::ostream* out) {
    *out << "op " << link.op << " on rank " << link.rank << ": " << name(link.why);
  }
};

std::vector<Link> links(const metrics::CriticalPath& path) {
  std::vector<Link> result;
  for (const auto& span : path.spans) result.push_back({span.op, span.rank, span.why});
  return result;
}

double time_of(const metrics::CriticalPath& path, Kind kind, const std::string& what) {
  for (const auto& part : path.parts) {
    if (part.kind == kind && part.what == what) return part.time.value();
  }
  return 0;
}

// Rank 1 takes 3 s where rank 0 takes 1 s, and the gather waits for it: the chain crosses to rank 1.
//   rank 0  a 0-1          x 3-5  b 5-6
//   rank 1  a 0----------3 x 3-5  b 5-6
TEST(CriticalPathTest, CrossesToTheMemberThatTheGroupWaitedFor) {
  Chain chain;
  const auto a = chain.compute("a", {{0, 1}, {0, 3}});
  const auto x = chain.gather(3, 5, {a}, 0.5);
  const auto b = chain.compute("b", {{5, 6}, {5, 6}}, {x});
  const auto path = chain.path();
  EXPECT_EQ(links(path), (std::vector<Link>{{a, 1, Why::start}, {x, 0, Why::input}, {b, 0, Why::input}}));
  EXPECT_DOUBLE_EQ(time_of(path, Kind::compute, "forward a"), 3);
  EXPECT_DOUBLE_EQ(time_of(path, Kind::latency, "x all_gather"), 0.5);
  EXPECT_DOUBLE_EQ(time_of(path, Kind::transfer, "x all_gather"), 1.5);
  EXPECT_DOUBLE_EQ(time_of(path, Kind::compute, "forward b"), 1);
  EXPECT_EQ(path.parts.size(), 4U);
}

// Both gathers are ready when a ends at 1, but stream x takes one at a time: the second is held up by the first, not by
// a.
//   compute  a 0-1              b 5-6
//   x             x1 1-3 x2 3-5
TEST(CriticalPathTest, AStreamThatIsTaken) {
  Chain chain;
  const auto a = chain.compute("a", {{0, 1}, {0, 1}});
  const auto first = chain.gather(1, 3, {a});
  const auto second = chain.gather(3, 5, {a});
  const auto b = chain.compute("b", {{5, 6}, {5, 6}}, {second});
  EXPECT_EQ(
      links(chain.path()),
      (std::vector<Link>{{a, 0, Why::start}, {first, 0, Why::input}, {second, 0, Why::stream}, {b, 0, Why::input}}));
}

// b needs only the gather, which ended long before; what it followed was a, on the compute stream.
TEST(CriticalPathTest, TheOrderOfComputeIsNotAnInput) {
  Chain chain;
  const auto early = chain.gather(0, 1, {});
  const auto a = chain.compute("a", {{0, 4}, {0, 4}});
  const auto b = chain.compute("b", {{4, 5}, {4, 5}}, {early}, a, workloads::StepPass::update);
  const auto path = chain.path();
  EXPECT_EQ(links(path), (std::vector<Link>{{a, 0, Why::start}, {b, 0, Why::order}}));
  EXPECT_DOUBLE_EQ(time_of(path, Kind::update, "b"), 1);
}

// A gather of 4 s takes 2.5 s alone, 1 s of it latency: 1.5 s are transfer, 1.5 s contention.
TEST(CriticalPathTest, WhatACollectiveTakesLongerThanAloneIsContention) {
  Chain chain;
  (void)chain.gather(0, 4, {}, 1, 2.5);
  const auto path = chain.path();
  EXPECT_DOUBLE_EQ(time_of(path, Kind::latency, "x all_gather"), 1);
  EXPECT_DOUBLE_EQ(time_of(path, Kind::transfer, "x all_gather"), 1.5);
  EXPECT_DOUBLE_EQ(time_of(path, Kind::contention, "x all_gather"), 1.5);
}

// What takes no time is on the chain, since something waited for it, but in no part; nor does a chain of such loop.
TEST(CriticalPathTest, OperationsThatTakeNoTime) {
  Chain chain;
  const auto a = chain.compute("a", {{0, 2}, {0, 2}});
  const auto norm = chain.compute("norm", {{2, 2}, {2, 2}}, {a});
  const auto act = chain.compute("act", {{2, 2}, {2, 2}}, {norm});
  const auto b = chain.compute("b", {{2, 3}, {2, 3}}, {act});
  const auto path = chain.path();
  EXPECT_EQ(links(path),
            (std::vector<Link>{{a, 0, Why::start}, {norm, 0, Why::input}, {act, 0, Why::input}, {b, 0, Why::input}}));
  EXPECT_EQ(path.parts.size(), 2U);
}

}  // namespace
}  // namespace lockstep
