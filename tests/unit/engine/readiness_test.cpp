// An operation is ready on a rank that takes part in it when every predecessor that the rank takes part in has ended
// there; a collective is ready in a group when it is so on all members.
//   waiting(op, rank) = |{ p before op : rank takes part in p, p has not ended on rank }|
#include "sim/engine/runtime/readiness.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "tests/unit/engine/random_program.hpp"

namespace lockstep::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

/// Operation, and the rank or group.
using Instances = std::set<std::pair<std::int32_t, std::int32_t>>;

Instances as_set(const std::vector<engine::Instance>& instances) {
  Instances set;
  for (const engine::Instance& instance : instances)
    EXPECT_TRUE(set.emplace(instance.chain, instance.index).second) << "twice";
  return set;
}

Instances after_end(engine::Readiness& readiness, std::int32_t op, std::int32_t rank) {
  std::vector<engine::Instance> ready;
  readiness.ended(op, rank, ready);
  return as_set(ready);
}

TEST(Readiness, AtTheOutsetStandsWhatWaitsForNothing) {
  program::Program program = ranks(2);
  const std::int32_t first = add_compute(program, 1);
  const std::int32_t second = add_compute(program, 1, {first});
  engine::Readiness readiness(program, engine::Chains::each_alone(program));
  EXPECT_THAT(as_set(readiness.at_outset()), ElementsAre(Pair(first, 0), Pair(first, 1)));
  EXPECT_THAT(after_end(readiness, first, 1), ElementsAre(Pair(second, 1))) << "rank 0 has not ended it";
  EXPECT_THAT(after_end(readiness, first, 0), ElementsAre(Pair(second, 0)));
}

TEST(Readiness, ACollectiveIsReadyWithTheLastMemberOfItsGroup) {
  program::Program program = ranks(4);
  const std::int32_t pairs = add_communicator(program, 0, {{{0, 1}, {}}, {{2, 3}, {}}});
  const std::int32_t compute = add_compute(program, 1);
  const std::int32_t reduce = add_collective(program, pairs, {}, {compute});
  engine::Readiness readiness(program, engine::Chains::each_alone(program));
  EXPECT_EQ(as_set(readiness.at_outset()).size(), 4U);
  EXPECT_THAT(after_end(readiness, compute, 0), IsEmpty());
  EXPECT_THAT(after_end(readiness, compute, 3), IsEmpty());
  EXPECT_THAT(after_end(readiness, compute, 2), ElementsAre(Pair(reduce, 1))) << "the second group is complete";
  EXPECT_THAT(after_end(readiness, compute, 1), ElementsAre(Pair(reduce, 0)));
}

TEST(Readiness, ARankOutsideAllGroupsWaitsForNoCollective) {
  program::Program program = ranks(3);
  const std::int32_t pair = add_communicator(program, 0, {{{0, 1}, {}}});
  const std::int32_t reduce = add_collective(program, pair, {});
  const std::int32_t compute = add_compute(program, 1, {reduce});
  engine::Readiness readiness(program, engine::Chains::each_alone(program));
  EXPECT_THAT(as_set(readiness.at_outset()), ElementsAre(Pair(reduce, 0), Pair(compute, 2)));
  EXPECT_THAT(after_end(readiness, reduce, 0), ElementsAre(Pair(compute, 0)));
}

TEST(Readiness, APredecessorThatIsNamedTwiceIsOne) {
  program::Program program = ranks(1);
  const std::int32_t first = add_compute(program, 1);
  const std::int32_t second = add_compute(program, 1, {first, first});
  engine::Readiness readiness(program, engine::Chains::each_alone(program));
  EXPECT_THAT(as_set(readiness.at_outset()), ElementsAre(Pair(first, 0)));
  EXPECT_THAT(after_end(readiness, first, 0), ElementsAre(Pair(second, 0)));
}

// 65535 predecessors are the most that a program may have. Rank 0, which takes part in all of them but not in the last
// operation, has no count of it that could come round to 0; that of rank 1 was 0 from the start.
TEST(Readiness, TheMostPredecessorsDoNotWakeARankThatTakesNoPart) {
  program::Program program = ranks(2);
  program.stage_of_rank = {0, 1};
  constexpr std::int32_t most = 65535;
  std::vector<std::int32_t> all;
  for (std::int32_t op = 0; op < most; ++op) all.push_back(add_compute(program, 1));
  const std::int32_t last = add_compute(program, 1, all, 0, 0, 1);
  const std::int32_t own = add_compute(program, 1, all);
  ASSERT_NO_THROW(check(program));
  engine::Readiness readiness(program, engine::Chains::each_alone(program));
  const Instances outset = as_set(readiness.at_outset());
  EXPECT_EQ(outset.size(), static_cast<std::size_t>(most) + 1);
  EXPECT_TRUE(outset.contains({last, 1}));
  Instances woken;
  for (const std::int32_t op : all) woken.merge(after_end(readiness, op, 0));
  EXPECT_THAT(woken, ElementsAre(Pair(own, 0)));
}

engine::Readiness of_nothing(std::int32_t count) {
  const auto program = ranks(count);
  return {program, engine::Chains::each_alone(program)};
}

TEST(Readiness, OfNothingIsNothing) {
  EXPECT_THAT(as_set(of_nothing(0).at_outset()), IsEmpty());
  EXPECT_THAT(as_set(of_nothing(3).at_outset()), IsEmpty());
}

/// The definition above, counted anew each time.
class Definition {
 public:
  explicit Definition(const program::Program& program) : program_(program) {}

  void ended(std::int32_t op, std::int32_t rank) { ended_.emplace(op, rank); }

  [[nodiscard]] Instances ready() const {
    Instances ready;
    for (std::int32_t op = 0; op < std::ssize(program_.ops); ++op) {
      const program::ProgramOp& each = program_.ops[static_cast<std::size_t>(op)];
      if (each.kind == program::ProgramOp::Kind::compute) {
        for (std::int32_t rank = 0; rank < program_.ranks(); ++rank) {
          if (takes_part(op, rank) && waits_for_nothing(op, rank)) ready.emplace(op, rank);
        }
        continue;
      }
      const auto& groups = program_.communicators[static_cast<std::size_t>(each.communicator)].groups;
      for (std::size_t group = 0; group < groups.size(); ++group) {
        const auto& members = groups[group].members;
        if (std::all_of(members.begin(), members.end(), [&](auto rank) { return waits_for_nothing(op, rank); }))
          ready.emplace(op, static_cast<std::int32_t>(group));
      }
    }
    return ready;
  }

 private:
  [[nodiscard]] bool takes_part(std::int32_t op, std::int32_t rank) const {
    const program::ProgramOp& each = program_.ops[static_cast<std::size_t>(op)];
    if (each.kind == program::ProgramOp::Kind::compute)
      return program_.stage_of_rank[static_cast<std::size_t>(rank)] == each.stage;
    const auto& groups = program_.communicators[static_cast<std::size_t>(each.communicator)].groups;
    return std::any_of(groups.begin(), groups.end(), [&](const collectives::ProgramGroup& group) {
      return std::find(group.members.begin(), group.members.end(), rank) != group.members.end();
    });
  }
  [[nodiscard]] bool waits_for_nothing(std::int32_t op, std::int32_t rank) const {
    const auto& before = program_.ops[static_cast<std::size_t>(op)].predecessors;
    return std::all_of(before.begin(), before.end(), [&](std::int32_t each) {
      return !takes_part(each, rank) || ended_.contains({each, rank});
    });
  }

  const program::Program& program_;
  Instances ended_;
};

// Ready instances end in an order drawn at random, rank by rank. At every point exactly those have become ready that
// the definition names, and in the end all have.
TEST(Readiness, IsThatOfTheDefinition) {
  for (unsigned seed = 0; seed < 40; ++seed) {
    const program::Program program = RandomProgram(seed).build();
    std::mt19937 random(seed);
    engine::Readiness readiness(program, engine::Chains::each_alone(program));
    Definition definition(program);
    Instances ready = as_set(readiness.at_outset());
    ASSERT_EQ(ready, definition.ready()) << "seed " << seed;
    std::vector<std::pair<std::int32_t, std::int32_t>> open(ready.begin(), ready.end());
    while (!open.empty()) {
      std::swap(open[random() % open.size()], open.back());
      const auto [op, index] = open.back();
      open.pop_back();
      const program::ProgramOp& each = program.ops[static_cast<std::size_t>(op)];
      const bool computes = each.kind == program::ProgramOp::Kind::compute;
      const std::vector<std::int32_t> members = computes
                                                    ? std::vector{index}
                                                    : program.communicators[static_cast<std::size_t>(each.communicator)]
                                                          .groups[static_cast<std::size_t>(index)]
                                                          .members;
      for (const std::int32_t rank : members) {
        definition.ended(op, rank);
        for (const auto& woken : after_end(readiness, op, rank)) {
          EXPECT_TRUE(ready.insert(woken).second) << "ready twice";
          open.push_back(woken);
        }
        ASSERT_EQ(ready, definition.ready()) << "seed " << seed;
      }
    }
    std::size_t instances = 0;
    for (const program::ProgramOp& op : program.ops) {
      instances += op.kind == program::ProgramOp::Kind::compute
                       ? static_cast<std::size_t>(rank_count / 2)
                       : program.communicators[static_cast<std::size_t>(op.communicator)].groups.size();
    }
    EXPECT_EQ(ready.size(), instances) << "seed " << seed;
  }
}

}  // namespace
}  // namespace lockstep::test
