// Every kind of mistake in a CSV is refused with the place of the cell, its text, what is wrong and what was expected.
// Each case spoils "0F0,0F1,0B0,0B1 / 1F0,1B0,1F1,1B1", or a lowered form of it, in one way.
#include <gtest/gtest.h>

#include "tests/unit/schedules/golden_csv.hpp"

namespace lockstep {
namespace {

using enum workloads::StagePlacement;

/// The problem of a first cell.
std::string first_cell(const std::string& cell) { return problems_of(cell + ",0F1,0B0,0B1\n1F0,1B0,1F1,1B1\n"); }

const std::string operations = "F, B, I, W, SEND_F, RECV_F, SEND_B, RECV_B, UNSHARD, RESHARD or REDUCE_GRAD";

TEST(PytorchCsvMistakes, CellsAreReadToTheirEnd) {
  EXPECT_EQ(first_cell("0F0"), "");
  EXPECT_EQ(first_cell("0F0junk"), "1:1 '0F0junk' 'junk' follows the end of the action [the end of the cell]\n");
  EXPECT_EQ(first_cell("0F0 0F1"), "1:1 '0F0 0F1' ' 0F1' follows the end of the action [the end of the cell]\n");
  EXPECT_EQ(first_cell("0F0.5"), "1:1 '0F0.5' '.5' follows the end of the action [the end of the cell]\n");
  EXPECT_EQ(first_cell("0UNSHARD1"), "1:1 '0UNSHARD1' '1' follows the end of the action [the end of the cell]\n");
  EXPECT_EQ(first_cell("0F"), "1:1 '0F' '0F' has no microbatch [a number at the end, as in 0F0]\n");
  EXPECT_EQ(first_cell("0SEND_F"), "1:1 '0SEND_F' '0SEND_F' has no microbatch [a number at the end, as in 0F0]\n");
  EXPECT_EQ(first_cell("F0"),
            "1:1 'F0' 'F0' does not begin with a virtual stage [virtual stage, operation, microbatch, as in 0F0]\n");
  EXPECT_EQ(
      first_cell("-1F0"),
      "1:1 '-1F0' '-1F0' does not begin with a virtual stage [virtual stage, operation, microbatch, as in 0F0]\n");
  EXPECT_EQ(first_cell("0F-1"), "1:1 '0F-1' '0F-1' has no microbatch [a number at the end, as in 0F0]\n");
  EXPECT_EQ(first_cell("0"), "1:1 '0' '0' names no operation [" + operations + "]\n");
  EXPECT_EQ(first_cell("0X0"), "1:1 '0X0' 'X' is not an operation [" + operations + "]\n");
  EXPECT_EQ(first_cell("0f0"), "1:1 '0f0' 'f' is not an operation [" + operations + "]\n");
  EXPECT_EQ(first_cell("0SEND_F_0"), "1:1 '0SEND_F_0' 'SEND_F_' is not an operation [" + operations + "]\n");
}

TEST(PytorchCsvMistakes, NumbersAreWritten) {
  EXPECT_EQ(first_cell("00F0"), "1:1 '00F0' number '00' begins with a zero [a number without leading zeros]\n");
  EXPECT_EQ(first_cell("0F00"), "1:1 '0F00' number '00' begins with a zero [a number without leading zeros]\n");
  EXPECT_EQ(first_cell("0F4000000000"), "1:1 '0F4000000000' number '4000000000' is too high [at most 999999]\n");
  EXPECT_EQ(first_cell("99999999999999999999F0"),
            "1:1 '99999999999999999999F0' number '99999999999999999999' is too high [at most 67108863]\n");
}

TEST(PytorchCsvMistakes, PairsAreWhole) {
  const std::string form = " is not a whole pair [a pair as in (0F7;7B3)OVERLAP_F_B]\n";
  EXPECT_EQ(first_cell("(0F0;0B0)"), "1:1 '(0F0;0B0)' '(0F0;0B0)'" + form);
  EXPECT_EQ(first_cell("(0F0)OVERLAP_F_B"), "1:1 '(0F0)OVERLAP_F_B' '(0F0)OVERLAP_F_B'" + form);
  EXPECT_EQ(first_cell("("), "1:1 '(' '('" + form);
  EXPECT_EQ(first_cell("(;)OVERLAP_F_B"),
            "1:1 '(;)OVERLAP_F_B' '' does not begin with a virtual stage [virtual stage, operation, microbatch, as in "
            "0F0]\n");
  EXPECT_EQ(
      first_cell("(0F0;0SEND_F0)OVERLAP_F_B"),
      "1:1 '(0F0;0SEND_F0)OVERLAP_F_B' '0SEND_F0' is half of a pair, but no computation [a forward and a backward]\n");
  EXPECT_EQ(first_cell("(0F0;0B0;0F1)OVERLAP_F_B"),
            "1:1 '(0F0;0B0;0F1)OVERLAP_F_B' ';0F1' follows the end of the action [the end of the cell]\n");
  EXPECT_EQ(problems_of("(0F0;0F1)OVERLAP_F_B,0B0,0B1"),
            "1:1 '(0F0;0F1)OVERLAP_F_B' only a forward and a backward can overlap [one forward and one whole backward "
            "or input gradient]\n");
  EXPECT_EQ(first_cell("{0SEND_F3}"),
            "1:1 '{0SEND_F3}' '{0SEND_F3}' is a group of transfers, which PyTorch does not have [a cell of its own for "
            "each SEND and RECV]\n");
}

TEST(PytorchCsvMistakes, DialectsAreNotMixed) {
  EXPECT_EQ(problems_of("0F0,0F1,0BW0,0I1,0W1"),
            "1:4 '0I1' 'I' appears in a file of the older dialect (it has BW) [B for the input gradient there, or B "
            "instead of BW for the whole backward]\n");
}

TEST(PytorchCsvMistakes, CellsArePrintable) {
  EXPECT_EQ(
      first_cell(std::string("\x00\xff\x1b[31m", 7)),
      "1:1 '\\x00\\xff\\x1b[31m' '\\x00\\xff\\x1b[31m' does not begin with a virtual stage [virtual stage, operation, "
      "microbatch, as in 0F0]\n");
  const std::string shortened = std::string(32, 'x') + "...";
  EXPECT_EQ(first_cell(std::string(1000, 'x')),
            "1:1 '" + shortened + "' '" + shortened +
                "' does not begin with a virtual stage [virtual stage, operation, microbatch, as in 0F0]\n");
}

// A column counts blank cells too; the verifier's problems come with the cell of the file.
TEST(PytorchCsvMistakes, OrdersAreVerified) {
  EXPECT_EQ(problems_of("0F0,,0F1,0B0,0B1\n,,1F0,1B0,,1B1\n"), "2:6 '1B1' 1B1 has no forward [1F1 before it]\n");
  EXPECT_EQ(problems_of("0F0,,0F1,,0F0,0B0,0B1\n1F0,1B0,1F1,1B1\n"),
            "1:5 '0F0' 0F0 repeats what came before [one 0F0, and one whole backward or one input and one weight "
            "gradient]\n");
  EXPECT_EQ(problems_of("0F0,0F1,0B0\n1F0,1B0,1F1,1B1\n"),
            "1:2 '0F1' 0F1 has no backward [0B1, or 0I1 and 0W1, after it]\n");
  EXPECT_EQ(problems_of("0F0,0F1,0B0,0B1\n1B0,1F0,1F1,1B1\n"),
            "2:1 '1B0' 1B0 comes before 1F0, which it needs [1F0 in an earlier cell of the rank]\n");
  EXPECT_EQ(problems_of("0F1,0B1,0F0,0B0\n1F0,1B0,1F1,1B1\n"),
            "1:2 '0B1' deadlock: rank 0 waits at 0B1 for 1B1 on rank 1, which waits at 1F0 for 0F0 on rank 0, which "
            "comes after 0B1 "
            "[an order in which no ranks wait for each other in a circle]\n");
  EXPECT_EQ(problems_of("0F0,0B0,0F7,0B7"),
            "1:3 '0F7' no cell of microbatch 1 to 6 [cells of all microbatches, 0 to 7]\n");
}

TEST(PytorchCsvMistakes, SizesThatDoNotFit) {
  EXPECT_EQ(problems_of(""), "the file has no forward or backward [one line per rank, cells as in 0F0]\n");
  EXPECT_EQ(problems_of("\n\n,,,\n"), "the file has no forward or backward [one line per rank, cells as in 0F0]\n");
  EXPECT_EQ(
      problems_of("0F0,2F0,2B0,0B0\n1F0,1B0\n", loop),
      "1:2 '2F0' virtual stage 2 makes 3 virtual stages on the 2 ranks of the file [a multiple of 2 virtual stages]\n");
  EXPECT_EQ(problems_of("0F0,2F0,2B0,0B0\n1F0,3F0,3B0,1B0\n"),
            "2:2 '3F0' virtual stage 3 makes 4 virtual stages on the 2 ranks of the file [2 virtual stages with "
            "placement linear]\n");
  EXPECT_EQ(problems_of("0F0,0B0\n1F0,1B0\n", v),
            "2:1 '1F0' virtual stage 1 makes 2 virtual stages on the 2 ranks of the file [4 virtual stages with "
            "placement v]\n");
  EXPECT_EQ(problems_of("0F0,0B0\n\n2F0,2B0\n"),
            "2:0 '' no cell of virtual stage 1 [cells of all virtual stages, 0 to 2]\n");
  EXPECT_EQ(problems_of("0F0,0F999999"),
            "1:2 '0F999999' 1 virtual stages and 1000000 microbatches are far more than the 2 cells there are [a "
            "forward and a "
            "backward of every microbatch on every virtual stage]\n");
}

TEST(PytorchCsvMistakes, PlacementContradicted) {
  EXPECT_EQ(
      problems_of("0F0,3F0,3B0,0B0\n1F0,2F0,2B0,1B0\n", loop),
      "1:2 '3F0' 3F0 is on rank 0, but with placement loop virtual stage 3 of microbatch 0 is on rank 1 [it on rank "
      "1, or another placement]\n"
      "2:2 '2F0' 2F0 is on rank 1, but with placement loop virtual stage 2 of microbatch 0 is on rank 0 [it on rank "
      "0, or another placement]\n");
  // A stage on two ranks is bidirectional or wrong.
  const std::string both = "0F0,1F1,1B1,0B0\n0F1,1F0,1B0,0B1\n";
  EXPECT_EQ(problems_of(both, bidirectional), "");
  EXPECT_EQ(problems_of(both),
            "1:2 '1F1' 1F1 is on rank 0, but with placement linear virtual stage 1 of microbatch 1 is on rank 1 [it on "
            "rank 1, or another placement]\n"
            "2:1 '0F1' 0F1 is on rank 1, but with placement linear virtual stage 0 of microbatch 1 is on rank 0 [it on "
            "rank 0, or another placement]\n");
}

constexpr const char* row_0 = "0UNSHARD,0F0,0SEND_F0,0RECV_B0,0B0,0REDUCE_GRAD,0RESHARD\n";
constexpr const char* row_1 = "1UNSHARD,1RECV_F0,1F0,1B0,1SEND_B0,1REDUCE_GRAD,1RESHARD\n";
std::string rank_0(const std::string& row) { return problems_of(row + "\n" + row_1); }
std::string rank_1(const std::string& row) { return problems_of(row_0 + row); }

TEST(PytorchCsvMistakes, TransfersHaveTwoEnds) {
  EXPECT_EQ(rank_1(row_1), "");
  EXPECT_EQ(rank_1("1UNSHARD,1F0,1B0,1SEND_B0,1REDUCE_GRAD"),
            "1:3 '0SEND_F0' 0SEND_F0 has no receive [1RECV_F0 on rank 1]\n");
  EXPECT_EQ(rank_1("1UNSHARD,1RECV_F0,1F0,1B0,1REDUCE_GRAD"),
            "1:4 '0RECV_B0' 0RECV_B0 has no send [1SEND_B0 on rank 1]\n");
  EXPECT_EQ(problems_of("0F0,0SEND_F0,0B0\n1RECV_F0,1F0,1B0\n"),
            "2:3 '1B0' 1B0 is not sent to rank 0 [1SEND_B0 after it and 0RECV_B0 there]\n");
  EXPECT_EQ(rank_1("1UNSHARD,1RECV_F0,1RECV_F0,1F0,1B0,1SEND_B0,1REDUCE_GRAD"),
            "2:3 '1RECV_F0' 1RECV_F0 appears twice [it once]\n");
  EXPECT_EQ(rank_1("1UNSHARD,1F0,1RECV_F0,1B0,1SEND_B0,1REDUCE_GRAD"),
            "2:3 '1RECV_F0' 1RECV_F0 comes after 1F0, which needs it [it before that]\n");
  EXPECT_EQ(rank_1("1UNSHARD,1RECV_F0,1F0,1SEND_B0,1B0,1REDUCE_GRAD"),
            "2:4 '1SEND_B0' 1SEND_B0 comes before 1B0, which makes what it sends [it after that]\n");
  EXPECT_EQ(rank_1("1UNSHARD,1RECV_F0,1F0,1SEND_F0,1B0,1SEND_B0,1REDUCE_GRAD"),
            "2:4 '1SEND_F0' 1SEND_F0 has no receiver: there is no virtual stage 2 [transfers between virtual stages on "
            "two ranks]\n");
  EXPECT_EQ(rank_1("1UNSHARD,1RECV_F0,1F0,1B0,1SEND_B0,0RECV_F0,1REDUCE_GRAD"),
            "2:6 '0RECV_F0' 0RECV_F0 is on rank 1 [it on rank 0, which has the virtual stage]\n");
  EXPECT_EQ(rank_1("1UNSHARD,1RECV_F0,1F0,1B0,1SEND_B0,1SEND_B7,1REDUCE_GRAD"),
            "2:6 '1SEND_B7' 1SEND_B7 is of a virtual stage or microbatch that does not exist [virtual stages 0 to 1 "
            "and microbatches 0 "
            "to 0]\n");
  // The stages in the middle of a V are on one rank.
  EXPECT_EQ(problems_of("0F0,0SEND_F0,1F0,1B0,0B0\n", v),
            "1:2 '0SEND_F0' 0SEND_F0 has no receiver: virtual stage 1 is on the same rank [transfers between virtual "
            "stages on two ranks]\n");
}

TEST(PytorchCsvMistakes, StagesAreWholeWhileTheyRun) {
  EXPECT_EQ(rank_0("0F0,0UNSHARD,0SEND_F0,0RECV_B0,0B0,0REDUCE_GRAD"),
            "1:1 '0F0' 0F0 runs while virtual stage 0 is sharded [0UNSHARD before it]\n");
  EXPECT_EQ(rank_0("0UNSHARD,0F0,0SEND_F0,0RECV_B0,0RESHARD,0B0,0REDUCE_GRAD"),
            "1:6 '0B0' 0B0 runs while virtual stage 0 is sharded [0UNSHARD before it]\n");
  EXPECT_EQ(rank_0("0UNSHARD,0UNSHARD,0F0,0SEND_F0,0RECV_B0,0B0,0REDUCE_GRAD"),
            "1:2 '0UNSHARD' 0UNSHARD comes where the virtual stage is already whole [UNSHARD and RESHARD by turns]\n");
  EXPECT_EQ(
      rank_0("0RESHARD,0UNSHARD,0F0,0SEND_F0,0RECV_B0,0B0,0REDUCE_GRAD"),
      "1:1 '0RESHARD' 0RESHARD comes where the virtual stage is already sharded [UNSHARD and RESHARD by turns]\n");
  EXPECT_EQ(rank_0("0UNSHARD,1UNSHARD,0F0,0SEND_F0,0RECV_B0,0B0,0REDUCE_GRAD"),
            "1:2 '1UNSHARD' 1UNSHARD is of a virtual stage that rank 0 does not run [a virtual stage of the rank]\n");
  // Held for good, and let go of in between, are both fine.
  EXPECT_EQ(rank_0("0UNSHARD,0F0,0SEND_F0,0RECV_B0,0RESHARD,0UNSHARD,0B0,0REDUCE_GRAD"), "");
}

TEST(PytorchCsvMistakes, GradientsAreReducedWhenTheyAreWhole) {
  EXPECT_EQ(
      problems_of("0F0,0F1,0B0,0REDUCE_GRAD,0B1"),
      "1:4 '0REDUCE_GRAD' 0REDUCE_GRAD comes before the last weight gradient of its virtual stage [it after 0B1]\n");
  EXPECT_EQ(
      problems_of("0F0,0I0,0REDUCE_GRAD,0W0"),
      "1:3 '0REDUCE_GRAD' 0REDUCE_GRAD comes before the last weight gradient of its virtual stage [it after 0W0]\n");
  EXPECT_EQ(problems_of("0F0,0B0,0REDUCE_GRAD,0REDUCE_GRAD"),
            "1:4 '0REDUCE_GRAD' 0REDUCE_GRAD appears twice [it once]\n");
  EXPECT_EQ(problems_of("0F0,0B0\n1F0,1B0,1REDUCE_GRAD\n"),
            "1:2 '0B0' the gradients of virtual stage 0 are never reduced [0REDUCE_GRAD after 0B0]\n");
}

// PyTorch's own 1F1B dump is off by one on its last rank: it begins with 3F1, and 3F8 is a ninth microbatch of eight.
TEST(PytorchCsvMistakes, KnownBadFiles) {
  const auto four = golden_csv("known_bad/1f1b_P4_M8.csv");
  EXPECT_EQ(problems_of(four.text),
            "4:2 '3B0' 3B0 has no forward [3F0 before it]\n"
            "4:15 '3F8' microbatch 8 is here, but has no cell on virtual stage 0 to 2 [every microbatch on every "
            "virtual stage, or "
            "on none]\n");
  const auto two = golden_csv("known_bad/1f1b_P2_M4.csv");
  EXPECT_EQ(problems_of(two.text),
            "2:2 '1B0' 1B0 has no forward [1F0 before it]\n"
            "2:7 '1F4' microbatch 4 is here, but has no cell on virtual stage 0 [every microbatch on every virtual "
            "stage, or on none]\n");
}

TEST(PytorchCsvMistakes, GroupsOfTransfersAreRefused) {
  for (const auto& file : golden_csvs("dualpipe_comm_groups")) {
    EXPECT_NE(problems_of(file.text, file.placement).find("is a group of transfers, which PyTorch does not have"),
              std::string::npos)
        << file.name;
  }
}

// 50 unknown cells: the first 20 are told, the rest counted.
TEST(PytorchCsvMistakes, WholeListWithinReason) {
  std::string text;
  for (int i = 0; i < 50; ++i) text += "0X0,";
  const auto problems = import_pytorch_csv(text, linear).problems;
  ASSERT_EQ(problems.size(), 21U);
  EXPECT_EQ(problems[19].column, 19);
  EXPECT_EQ(problems[20].what, "and 30 more problems");
}

TEST(PytorchCsvMistakes, HugeFilesAreRefusedBeforeMemoryIsSpent) {
  EXPECT_EQ(problems_of(std::string(100'000'000, 'x')), "the file has 100000000 bytes [at most 67108864]\n");
  std::string junk;
  while (junk.size() < 20'000'000) junk += "12junk,";
  const auto problems = import_pytorch_csv(junk, linear).problems;
  ASSERT_EQ(problems.size(), 21U);
  EXPECT_EQ(text_of({problems[0]}), "1:1 '12junk' 'junk' is not an operation [" + operations + "]\n");
  const auto commas = import_pytorch_csv(std::string(20'000'000, ','), linear).problems;
  ASSERT_EQ(commas.size(), 1U);
  const auto rows = import_pytorch_csv(std::string(10'000'000, '\n') + "0F0", linear).problems;
  EXPECT_EQ(text_of(rows), "65537:0 '' the file has more rows [at most 65536 ranks]\n");
}

}  // namespace
}  // namespace lockstep
