// A rank's time is cut wherever one of its operations begins or ends: the pieces follow each other without a gap from 0
// to the makespan, and each says whether the rank computes and which communication in flight began first.
#include "sim/metrics/rank_pieces.hpp"

#include <gtest/gtest.h>

#include <random>

#include "tests/unit/metrics/drawn_step.hpp"

namespace lockstep {
namespace {

using test::DrawnStep;

void expect_piece(const metrics::Piece& piece, double start, double length, bool computing, std::int32_t first) {
  EXPECT_EQ(piece.start, start);
  EXPECT_EQ(piece.length, length);
  EXPECT_EQ(piece.computing, computing);
  EXPECT_EQ(piece.first, first);
}

// compute   |0---------4|
// x            |1---------------6|
// y                  |3-------------8|     then nothing until the other rank ends, at 10
TEST(RankPieces, CutAtEveryBeginningAndEnd) {
  DrawnStep drawn(2);
  drawn.compute({{0, 4}, {0, 10}});
  const auto x = drawn.collective({"x"}, {{1, 6}, {-1, -1}});
  const auto y = drawn.collective({"y"}, {{3, 8}, {-1, -1}});
  const metrics::RankPieces cut(drawn.program, drawn.timeline(), 0);
  EXPECT_EQ(cut.rank, 0);
  ASSERT_EQ(cut.pieces.size(), 6U);
  expect_piece(cut.pieces[0], 0, 1, true, -1);
  expect_piece(cut.pieces[1], 1, 2, true, x);
  expect_piece(cut.pieces[2], 3, 1, true, x);  // y began later
  expect_piece(cut.pieces[3], 4, 2, false, x);
  expect_piece(cut.pieces[4], 6, 2, false, y);
  expect_piece(cut.pieces[5], 8, 2, false, -1);
}

// Over random timelines, by the definition: the pieces are those of the cut, and at the middle of each the rank
// computes if and only if a compute span holds that moment.
TEST(RankPieces, CoverTheStepAndAgreeWithTheSpansInTheirMiddle) {
  std::mt19937_64 random(18);
  std::uniform_int_distribution<int> moment(0, 40), length(0, 9);
  for (int drawing = 0; drawing < 200; ++drawing) {
    DrawnStep drawn(1);
    std::vector<std::pair<std::pair<double, double>, bool>> spans;  // and whether it computes
    for (int op = 0; op < 8; ++op) {
      const double start = moment(random), end = start + length(random);
      const bool computes = op % 2 == 0;
      if (computes) {
        drawn.compute({{start, end}});
      } else {
        drawn.collective({"x"}, {{start, end}});
      }
      spans.push_back({{start, end}, computes});
    }
    const auto timeline = drawn.timeline();
    double now = 0;
    for (const auto& piece : metrics::RankPieces(drawn.program, timeline, 0).pieces) {
      EXPECT_EQ(piece.start, now);
      EXPECT_GT(piece.length, 0);
      now += piece.length;
      const double middle = piece.start + piece.length / 2;
      bool computing = false, communicating = false;
      for (const auto& [span, computes] : spans) {
        if (span.first < middle && middle < span.second) (computes ? computing : communicating) = true;
      }
      EXPECT_EQ(piece.computing, computing);
      EXPECT_EQ(piece.first >= 0, communicating);
    }
    EXPECT_EQ(now, timeline.makespan().value());
  }
}

}  // namespace
}  // namespace lockstep
