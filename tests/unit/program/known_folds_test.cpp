// A partition depends on the ranks, the links, the routes of flows, and on which slots of a communicator carry the same
// bytes in all collectives; not on how much that is, nor on how long operations take. So a program that differs from
// an earlier one in amounts only gets the earlier quotient with its own operations, and any other a new one: both are
// what fold() gives.
#include "sim/program/known_folds.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/engine/random_program.hpp"

namespace lockstep::test {
namespace {

void expect_same(const program::FoldedProgram& found, const program::FoldedProgram& expected) {
  EXPECT_EQ(found.program.to_string(), expected.program.to_string());
  EXPECT_EQ(found.program.links, expected.program.links);
  EXPECT_EQ(found.program.streams, expected.program.streams);
  EXPECT_EQ(found.program.shared_slowdown, expected.program.shared_slowdown);
  EXPECT_EQ(found.program.slowdown_of_rank, expected.program.slowdown_of_rank);
  EXPECT_EQ(found.program.stage_of_rank, expected.program.stage_of_rank);
  EXPECT_EQ(found.ranks.class_of_rank, expected.ranks.class_of_rank);
  EXPECT_EQ(found.ranks.representative, expected.ranks.representative);
  EXPECT_EQ(found.ranks.size, expected.ranks.size);
  EXPECT_EQ(found.link_members.representative, expected.link_members.representative);
  EXPECT_EQ(found.link_members.class_of_link, expected.link_members.class_of_link);
  EXPECT_EQ(found.link_classes, expected.link_classes);
  EXPECT_EQ(found.links, expected.links);
}

/// Two pairs that send to each other both ways, `up` and `down` bytes.
program::Program pairs(double up, double down, double compute = 1) {
  auto program = ranks(4);
  for (int link = 0; link < 4; ++link) add_link(program, 1);
  const auto both = add_communicator(program, 2, {{{0, 1}, {{0, {0}}, {1, {1}}}}, {{2, 3}, {{0, {2}}, {1, {3}}}}});
  const auto work = add_compute(program, compute);
  add_collective(program, both, {{Seconds(1), {up, down}}}, {work});
  return program;
}

TEST(KnownFolds, AmountsDoNotMatter) {
  program::KnownFolds known;
  for (const double amount : {6.0, 7.0, 1e9})
    expect_same(known.fold(pairs(amount, amount, amount)), fold(pairs(amount, amount, amount)));
}

// Where both ways carry the same, links of both ways are one class; where they do not, two.
TEST(KnownFolds, SlotsThatPartMakeANewQuotient) {
  program::KnownFolds known;
  EXPECT_EQ(known.fold(pairs(6, 6)).link_classes, 1);
  EXPECT_EQ(known.fold(pairs(6, 7)).link_classes, 2);
  EXPECT_EQ(known.fold(pairs(5, 5)).link_classes, 1);
}

TEST(KnownFolds, AnotherMachineMakesANewQuotient) {
  program::KnownFolds known;
  const auto check = [&](auto change) {
    auto other = pairs(6, 7);
    change(other);
    expect_same(known.fold(other), fold(other));
    expect_same(known.fold(pairs(6, 7)), fold(pairs(6, 7)));
  };
  check([](auto& program) { program.links[3] = BytesPerSecond(2); });
  check([](auto& program) { program.slowdown_of_rank[3] = 2; });
  check([](auto& program) { program.stage_of_rank[3] = 1; });
  check([](auto& program) { program.chip_of_rank = {0, 0, 0, 1}; });
  check([](auto& program) { program.communicators[0].groups[1].flows[0].links = {2, 3}; });
  check([](auto& program) { program.communicators[0].groups[1].flows[0].slot = 1; });
  check([](auto& program) { program.communicators[0].groups[1].members = {2}; });
  check([](auto& program) { program.streams.push_back("another"); });
  check([](auto& program) { program.shared_slowdown = {1.5}; });
}

TEST(KnownFolds, RandomProgramsFoldAsByThemselves) {
  program::KnownFolds known;
  for (unsigned seed = 0; seed < 200; ++seed) {
    auto program = RandomProgram(seed % 20).build();
    for (auto& op : program.ops) op.duration = op.duration * (1.0 + seed);
    expect_same(known.fold(program), fold(program));
  }
}

}  // namespace
}  // namespace lockstep::test
