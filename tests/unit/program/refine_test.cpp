// The coarsest partition in which objects of a class cannot be told apart by the classes of their neighbours:
//   ranks by stage, speed and, communicator by communicator, their group; groups by communicator, members and flows;
//   flows by the bytes of their slot, their group and their links; links by capacity and the flows that cross them.
#include "sim/program/refine.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "tests/unit/engine/random_program.hpp"

namespace lockstep::test {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::IsEmpty;

/// A ring of four ranks, link i from rank i to the next; each way round is one flow over all links that way.
program::Program ring_of_four() {
  program::Program program = ranks(4);
  for (int link = 0; link < 8; ++link) add_link(program, 1e9);
  const std::int32_t ring = add_communicator(program, 2, {{{0, 1, 2, 3}, {{0, {0, 1, 2, 3}}, {1, {4, 5, 6, 7}}}}});
  add_collective(program, ring, {{Seconds(0), {1e6, 1e6}}});
  return program;
}

TEST(Refine, ARingIsOneClassOfEach) {
  const program::Partition partition = refine(ring_of_four());
  EXPECT_THAT(partition.rank, Each(0));
  EXPECT_EQ(partition.ranks, 1);
  EXPECT_EQ(partition.groups, 1);
  EXPECT_EQ(partition.flows, 1) << "both directions always carry the same";
  EXPECT_EQ(partition.links, 1);
}

// A slow rank is told from the others of its group, but they are not told apart by their distance from it: a
// collective starts and ends for all members alike, wherever they stand.
TEST(Refine, APlaceInAGroupIsNoDifference) {
  program::Program program = ring_of_four();
  program.slowdown_of_rank[2] = 1.5;
  EXPECT_THAT(refine(program).rank, ElementsAre(0, 0, 1, 0));
  EXPECT_EQ(refine(program).links, 1);
}

TEST(Refine, SlotsAreToldApartByWhatTheyCarry) {
  program::Program program = ring_of_four();
  add_collective(program, 0, {{Seconds(0), {5, 5}}, {Seconds(0), {5, 6}}});
  const program::Partition partition = refine(program);
  EXPECT_THAT(partition.flow, ElementsAre(0, 1));
  EXPECT_THAT(partition.link, ElementsAre(0, 0, 0, 0, 1, 1, 1, 1)) << "links of different flows";
  EXPECT_EQ(partition.ranks, 1);
}

// Pairs {0, 1}, {2, 3} and {4, 5} on a link each; the last link is slower. Its flow, its group and so its ranks differ.
TEST(Refine, ASlowLinkTellsItsRanksApart) {
  program::Program program = ranks(6);
  for (const double capacity_of : {2e9, 2e9, 1e9}) add_link(program, capacity_of);
  const std::int32_t pairs =
      add_communicator(program, 1, {{{0, 1}, {{0, {0}}}}, {{2, 3}, {{0, {1}}}}, {{4, 5}, {{0, {2}}}}});
  add_collective(program, pairs, {{Seconds(0), {1}}});
  const program::Partition partition = refine(program);
  EXPECT_THAT(partition.rank, ElementsAre(0, 0, 0, 0, 1, 1));
  EXPECT_THAT(partition.group, ElementsAre(0, 0, 1));
  EXPECT_THAT(partition.flow, ElementsAre(0, 0, 1));
  EXPECT_THAT(partition.link, ElementsAre(0, 0, 1));
}

// Two members of one class are another group than two of another class, also where nothing is sent.
TEST(Refine, MembersOfOneClassDoNotCancelOut) {
  program::Program program = ranks(4);
  program.stage_of_rank = {0, 0, 1, 1};
  add_communicator(program, 0, {{{0, 1}, {}}, {{2, 3}, {}}});
  EXPECT_THAT(refine(program).group, ElementsAre(0, 1));
}

TEST(Refine, GroupsOfTwoCommunicatorsAreTwo) {
  program::Program program = ranks(2);
  add_communicator(program, 0, {{{0, 1}, {}}});
  add_communicator(program, 0, {{{0, 1}, {}}});
  EXPECT_THAT(refine(program).group, ElementsAre(0, 1));
}

// A flow that crosses a link twice loads it twice.
TEST(Refine, HowOftenALinkIsCrossedCounts) {
  program::Program program = ranks(2);
  add_link(program, 1);
  add_link(program, 1);
  const std::int32_t alone = add_communicator(program, 1, {{{0}, {{0, {0}}}}, {{1}, {{0, {1, 1}}}}});
  add_collective(program, alone, {{Seconds(0), {1}}});
  EXPECT_THAT(refine(program).rank, ElementsAre(0, 1));
}

// The difference travels: along a chain of pairs, each pair by another communicator, the end of the chain next to the
// slow rank differs from the other end.
TEST(Refine, ADifferenceTravelsAsFarAsGroupsReach) {
  program::Program program = ranks(6);
  add_communicator(program, 0, {{{0, 1}, {}}, {{2, 3}, {}}, {{4, 5}, {}}});
  add_communicator(program, 0, {{{1, 2}, {}}, {{3, 4}, {}}, {{5, 0}, {}}});
  EXPECT_EQ(refine(program).ranks, 1) << "a circle";
  program.slowdown_of_rank[0] = 2;
  EXPECT_EQ(refine(program).ranks, 6) << "each rank by the way to the slow one, and by which communicator comes first";
}

TEST(Refine, OfNothingIsNothing) {
  const program::Partition partition = refine(program::Program{});
  EXPECT_THAT(partition.rank, IsEmpty());
  EXPECT_EQ(partition.ranks + partition.groups + partition.flows + partition.links, 0);
}

/// Refinement as it is defined, with whole neighbourhoods for colours: slow, and without a hash.
class ByDefinition {
 public:
  explicit ByDefinition(const program::Program& program) : program_(program) {
    std::vector<Signature> rank, group, flow, link;
    for (std::size_t i = 0; i < program.stage_of_rank.size(); ++i)
      rank.push_back({{program.stage_of_rank[i] * 1.0, program.slowdown_of_rank[i]}});
    for (std::size_t c = 0; c < program.communicators.size(); ++c) {
      for (const collectives::ProgramGroup& each : program.communicators[c].groups) {
        group.push_back({{c * 1.0}});
        for (const collectives::Flow& one : each.flows) flow.push_back({{c * 1.0}, bytes_of(c, one.slot)});
      }
    }
    for (const BytesPerSecond each : program.links) link.push_back({{each.value()}});
    result_.rank = numbered(rank, result_.ranks);
    result_.group = numbered(group, result_.groups);
    result_.flow = numbered(flow, result_.flows);
    result_.link = numbered(link, result_.links);
  }

  program::Partition run() {
    for (int before = -1; before != classes();) {
      before = classes();
      pass();
    }
    return result_;
  }

 private:
  /// Lists of numbers; equal signatures, equal class.
  using Signature = std::vector<std::vector<double>>;

  static std::vector<std::int32_t> numbered(const std::vector<Signature>& signatures, std::int32_t& count) {
    std::map<Signature, std::int32_t> numbers;
    std::vector<std::int32_t> result;
    for (const Signature& each : signatures)
      result.push_back(numbers.try_emplace(each, static_cast<std::int32_t>(numbers.size())).first->second);
    count = static_cast<std::int32_t>(numbers.size());
    return result;
  }
  [[nodiscard]] int classes() const { return result_.ranks + result_.groups + result_.flows + result_.links; }

  [[nodiscard]] std::vector<double> bytes_of(std::size_t communicator, std::int32_t slot) const {
    std::vector<double> bytes;
    for (const program::ProgramOp& op : program_.ops) {
      if (op.kind != program::ProgramOp::Kind::collective || op.communicator != static_cast<std::int32_t>(communicator))
        continue;
      for (const collectives::Phase& phase : op.phases)
        bytes.push_back(phase.slot_bytes[static_cast<std::size_t>(slot)]);
    }
    return bytes;
  }

  void pass() {
    std::vector<Signature> rank, group, flow, link;
    for (const auto each : result_.rank) rank.push_back({{each * 1.0}, {}});
    for (const auto each : result_.link) link.push_back({{each * 1.0}, {}});
    std::size_t g = 0, f = 0;
    for (std::size_t c = 0; c < program_.communicators.size(); ++c) {
      for (const collectives::ProgramGroup& each : program_.communicators[c].groups) {
        group.push_back({{result_.group[g] * 1.0}, {}, {}});
        for (const auto member : each.members) {
          group.back()[1].push_back(result_.rank[static_cast<std::size_t>(member)]);
          rank[static_cast<std::size_t>(member)][1].push_back(static_cast<double>(c) * 1000 + result_.group[g]);
        }
        for (const collectives::Flow& one : each.flows) {
          flow.push_back({{result_.flow[f] * 1.0, result_.group[g] * 1.0}, {}});
          group.back()[2].push_back(result_.flow[f]);
          for (const auto crossed : one.links) {
            flow.back()[1].push_back(result_.link[static_cast<std::size_t>(crossed)]);
            link[static_cast<std::size_t>(crossed)][1].push_back(result_.flow[f]);
          }
          ++f;
        }
        ++g;
      }
    }
    for (auto* all : {&rank, &group, &flow, &link}) {
      for (Signature& each : *all) {
        for (std::size_t list = 1; list < each.size(); ++list) std::sort(each[list].begin(), each[list].end());
      }
    }
    result_.rank = numbered(rank, result_.ranks);
    result_.group = numbered(group, result_.groups);
    result_.flow = numbered(flow, result_.flows);
    result_.link = numbered(link, result_.links);
  }

  const program::Program& program_;
  program::Partition result_;
};

void expect_same(const program::Partition& one, const program::Partition& other) {
  EXPECT_EQ(one.rank, other.rank);
  EXPECT_EQ(one.group, other.group);
  EXPECT_EQ(one.flow, other.flow);
  EXPECT_EQ(one.link, other.link);
  EXPECT_EQ(one.ranks, other.ranks);
  EXPECT_EQ(one.groups, other.groups);
  EXPECT_EQ(one.flows, other.flows);
  EXPECT_EQ(one.links, other.links);
}

/// Ranks and links that differ little, so that programs are neither all alike nor all different.
program::Program nearly_symmetric(unsigned seed) {
  std::mt19937 random(seed);
  const auto count = static_cast<std::int32_t>(2 * (1 + random() % 5));
  program::Program program = ranks(count);
  if (random() % 2 == 0) program.slowdown_of_rank[random() % static_cast<unsigned>(count)] = 2;
  if (random() % 2 == 0) program.stage_of_rank.back() = 1;
  for (std::int32_t link = 0; link < count; ++link) add_link(program, random() % 8 == 0 ? 1 : 2);
  for (std::int32_t apart = 1; apart <= count / 2; apart += count / 2) {
    std::vector<collectives::ProgramGroup> groups;
    std::vector<bool> taken(static_cast<std::size_t>(count), false);
    for (std::int32_t rank = 0; rank < count; ++rank) {
      const std::int32_t partner = (rank + apart) % count;
      if (rank == partner || taken[static_cast<std::size_t>(rank)] || taken[static_cast<std::size_t>(partner)])
        continue;
      taken[static_cast<std::size_t>(rank)] = taken[static_cast<std::size_t>(partner)] = true;
      groups.push_back({{rank, partner}, {{0, {rank}}, {static_cast<std::int32_t>(random() % 2), {partner, rank}}}});
    }
    const std::int32_t communicator = add_communicator(program, 2, groups);
    add_collective(program, communicator, {{Seconds(0), {1, random() % 2 == 0 ? 1.0 : 2.0}}});
  }
  return program;
}

TEST(Refine, IsTheCoarsestPartitionByDefinition) {
  int folded = 0, told_apart = 0;
  for (unsigned seed = 0; seed < 400; ++seed) {
    const program::Program program = nearly_symmetric(seed);
    ASSERT_NO_THROW(check(program));
    const program::Partition partition = refine(program);
    expect_same(partition, ByDefinition(program).run());
    folded += partition.ranks < program.ranks() ? 1 : 0;
    told_apart += partition.ranks > 1 ? 1 : 0;
    if (HasFailure()) FAIL() << "seed " << seed << "\n" << program.to_string();
  }
  EXPECT_GT(folded, 100) << "nothing is alike";
  EXPECT_GT(told_apart, 100) << "nothing differs";
}

TEST(Refine, IsTheCoarsestPartitionOfLargerProgramsToo) {
  for (unsigned seed = 0; seed < 30; ++seed) {
    for (const program::Program& program : {RandomProgram(seed).build(), contended(seed), entangled(seed)})
      expect_same(refine(program), ByDefinition(program).run());
  }
}

}  // namespace
}  // namespace lockstep::test
