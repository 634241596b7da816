// A quotient has one rank, group, flow and link for each class. A flow of class f crosses the one link of class l as
// often as all flows of class f cross any one link of that class in the whole program: then every link has the same
// load as each link that it stands for, and everything starts and ends when it does in the whole.
#include "sim/program/fold.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spdlog/logger.h>

#include <numeric>

#include "sim/engine/engine.hpp"
#include "tests/unit/engine/random_program.hpp"

namespace lockstep::test {
namespace {

using testing::Each;
using testing::ElementsAre;

timeline::Timeline timeline_of(const program::Program& program) {
  spdlog::logger silent("test");
  return engine::run(program, {engine::EngineKind::max_min, {}, false}, silent).timeline;
}

/// Two groups of two; in each, every member sends to the other over a link of its own and one that both share.
program::Program two_pairs() {
  program::Program program = ranks(4);
  for (int link = 0; link < 6; ++link) add_link(program, link < 4 ? 1 : 3);
  const std::int32_t pairs =
      add_communicator(program, 1, {{{0, 1}, {{0, {0, 4}}, {0, {1, 4}}}}, {{2, 3}, {{0, {2, 5}}, {0, {3, 5}}}}});
  const std::int32_t compute = add_compute(program, 2);
  add_collective(program, pairs, {{Seconds(1), {6}}}, {compute});
  return program;
}

// One rank, one group with one flow: it crosses the link that pairs share twice, once for each flow of the class, and
// the other once. Each flow gets 1 B/s: 2 s, 1 s of latency and 6 s. The shared link takes 2 of its 3 B/s at most, so
// engines need not see it.
TEST(Fold, OneOfEachClassIsLeft) {
  const program::FoldedProgram folded = fold(two_pairs());
  EXPECT_NO_THROW(check(folded.program));
  EXPECT_THAT(folded.ranks.class_of_rank, Each(0));
  EXPECT_THAT(folded.ranks.size, ElementsAre(4));
  EXPECT_EQ(folded.ranks.count(), 1);
  ASSERT_EQ(folded.program.communicators[0].groups.size(), 1U);
  EXPECT_THAT(folded.program.communicators[0].groups[0].members, ElementsAre(0));
  ASSERT_EQ(folded.program.communicators[0].groups[0].flows.size(), 1U);
  EXPECT_THAT(folded.program.communicators[0].groups[0].flows[0].links, ElementsAre(0));
  ASSERT_EQ(folded.program.communicators[0].groups[0].on_slack_links.size(), 1U);
  EXPECT_THAT(folded.program.communicators[0].groups[0].on_slack_links[0].links, ElementsAre(1, 1));
  const auto with_all = fold(two_pairs(), program::FoldedLinks::all).program;
  EXPECT_THAT(with_all.communicators[0].groups[0].flows[0].links, ElementsAre(0, 1, 1));
  EXPECT_THAT(with_all.communicators[0].groups[0].on_slack_links, testing::IsEmpty());
  EXPECT_THAT(folded.program.links, ElementsAre(BytesPerSecond(1), BytesPerSecond(3)));
  EXPECT_EQ(folded.links, 6);
  EXPECT_EQ(folded.link_classes, 2);
  EXPECT_THAT(folded.link_members.representative, ElementsAre(0, 4));
  EXPECT_THAT(folded.link_members.size, ElementsAre(4, 2));
  EXPECT_DOUBLE_EQ(timeline_of(folded.program).makespan().value(), 9);
}

TEST(Fold, ASlowRankLeavesItsGroupAlone) {
  program::Program program = two_pairs();
  program.slowdown_of_rank[3] = 1.5;
  const program::FoldedProgram folded = fold(program);
  EXPECT_THAT(folded.ranks.class_of_rank, ElementsAre(0, 0, 1, 2));
  EXPECT_THAT(folded.ranks.representative, ElementsAre(0, 2, 3)) << "the lowest of each class";
  EXPECT_THAT(folded.ranks.size, ElementsAre(2, 1, 1));
  EXPECT_EQ(folded.program.communicators[0].groups.size(), 2U);
  EXPECT_THAT(folded.program.slowdown_of_rank, ElementsAre(1, 1, 1.5));
  // 1.5 x 2 s, then the collective: the slow rank's partner waits for it, the other pair does not.
  const timeline::Timeline timeline = timeline_of(folded.program);
  EXPECT_DOUBLE_EQ(timeline.span(1, 0).end.value(), 9);
  EXPECT_DOUBLE_EQ(timeline.span(1, 1).end.value(), 10);
}

// Links that no flow crosses are kept, but not counted among the classes that matter.
TEST(Fold, LinksThatNobodyCrossesCountForNothing) {
  program::Program program = two_pairs();
  add_link(program, 7);
  add_link(program, 7);
  const program::FoldedProgram folded = fold(program);
  EXPECT_EQ(folded.links, 8);
  EXPECT_EQ(folded.link_classes, 2);
  EXPECT_THAT(folded.link_members.size, ElementsAre(4, 2, 2));
  EXPECT_EQ(unfolded(program).link_classes, 6);
}

TEST(Fold, OperationsStreamsAndStagesAreThoseOfTheWhole) {
  program::Program whole = two_pairs();
  whole.stage_of_rank = {0, 0, 1, 1};
  share_chips(whole, 1.25);
  const program::FoldedProgram folded = fold(whole);
  EXPECT_EQ(folded.program.streams, whole.streams);
  EXPECT_EQ(folded.program.shared_slowdown.front(), 1.25);
  EXPECT_THAT(folded.program.stage_of_rank, ElementsAre(0, 1));
  ASSERT_EQ(folded.program.ops.size(), whole.ops.size());
  for (std::size_t op = 0; op < whole.ops.size(); ++op)
    EXPECT_EQ(folded.program.ops[op].streams.begin(), whole.ops[op].streams.begin()) << "shared, not copied";
}

TEST(Unfolded, EveryRankIsItsOwnClass) {
  const program::Program whole = two_pairs();
  const program::FoldedProgram trivial = unfolded(whole);
  EXPECT_THAT(trivial.ranks.class_of_rank, ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(trivial.ranks.representative, ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(trivial.ranks.size, Each(1));
  EXPECT_THAT(trivial.link_members.size, Each(1));
  EXPECT_THAT(trivial.link_members.representative, ElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_EQ(trivial.program.to_string(), whole.to_string());
}

TEST(Fold, OfNothingIsNothing) {
  for (const program::FoldedProgram& folded : {fold(ranks(0)), unfolded(ranks(0))}) {
    EXPECT_EQ(folded.ranks.count(), 0);
    EXPECT_EQ(folded.program.ranks(), 0);
    EXPECT_EQ(folded.links, 0);
  }
}

/// So many copies of a program beside each other, on ranks and links of their own.
program::Program copies_of(const program::Program& one, int copies) {
  program::Program many = one;
  for (int copy = 1; copy < copies; ++copy) {
    const auto first_rank = static_cast<std::int32_t>(many.ranks());
    const auto first_link = static_cast<std::int32_t>(many.links.size());
    many.stage_of_rank.insert(many.stage_of_rank.end(), one.stage_of_rank.begin(), one.stage_of_rank.end());
    many.slowdown_of_rank.insert(many.slowdown_of_rank.end(), one.slowdown_of_rank.begin(), one.slowdown_of_rank.end());
    many.links.insert(many.links.end(), one.links.begin(), one.links.end());
    for (std::size_t c = 0; c < one.communicators.size(); ++c) {
      for (collectives::ProgramGroup group : one.communicators[c].groups) {
        for (auto& rank : group.members) rank += first_rank;
        for (collectives::Flow& flow : group.flows) {
          for (auto& link : flow.links) link += first_link;
        }
        many.communicators[c].groups.push_back(std::move(group));
      }
    }
  }
  return many;
}

// Copies cannot be told apart: three of a program have the classes of one, three times as large.
TEST(Fold, CopiesFoldToOne) {
  for (unsigned seed = 0; seed < 40; ++seed) {
    const program::Program one = seed % 2 == 0 ? entangled(seed) : contended(seed);
    const program::FoldedProgram alone = fold(one), three = fold(copies_of(one, 3));
    EXPECT_EQ(three.ranks.count(), alone.ranks.count()) << "seed " << seed;
    EXPECT_EQ(three.program.to_string(), alone.program.to_string()) << "seed " << seed;
    ASSERT_EQ(three.ranks.size.size(), alone.ranks.size.size());
    for (std::size_t i = 0; i < alone.ranks.size.size(); ++i) EXPECT_EQ(three.ranks.size[i], 3 * alone.ranks.size[i]);
    EXPECT_EQ(three.links, 3 * alone.links);
  }
}

// Every rank of the whole has the spans of its class, and classes have as many ranks and links as they say.
TEST(Fold, EveryRankRunsAsItsClass) {
  int folded_at_all = 0;
  for (unsigned seed = 0; seed < 60; ++seed) {
    const program::Program whole = copies_of(seed % 2 == 0 ? entangled(seed) : RandomProgram(seed).build(), 2);
    const program::FoldedProgram folded = fold(whole);
    ASSERT_NO_THROW(check(folded.program));
    folded_at_all += folded.ranks.count() < whole.ranks() ? 1 : 0;
    std::vector<std::int32_t> size(static_cast<std::size_t>(folded.ranks.count()), 0);
    for (std::size_t rank = 0; rank < whole.stage_of_rank.size(); ++rank) {
      const auto which = static_cast<std::size_t>(folded.ranks.class_of_rank[rank]);
      ++size[which];
      EXPECT_LE(folded.ranks.representative[which], static_cast<std::int32_t>(rank));
    }
    EXPECT_EQ(size, folded.ranks.size);
    EXPECT_EQ(std::accumulate(folded.link_members.size.begin(), folded.link_members.size.end(), 0), folded.links);

    const timeline::Timeline of_rank = timeline_of(whole), of_class = timeline_of(folded.program);
    const double scale = of_rank.makespan().value();
    for (std::int32_t op = 0; op < of_rank.ops(); ++op) {
      for (std::int32_t rank = 0; rank < of_rank.ranks(); ++rank) {
        const auto lane = folded.ranks.class_of_rank[static_cast<std::size_t>(rank)];
        ASSERT_EQ(of_rank.took_part(op, rank), of_class.took_part(op, lane));
        if (!of_rank.took_part(op, rank)) continue;
        ASSERT_NEAR(of_rank.span(op, rank).start.value(), of_class.span(op, lane).start.value(), 1e-9 * scale);
        ASSERT_NEAR(of_rank.span(op, rank).end.value(), of_class.span(op, lane).end.value(), 1e-9 * scale);
      }
    }
  }
  EXPECT_EQ(folded_at_all, 60);
}

}  // namespace
}  // namespace lockstep::test
