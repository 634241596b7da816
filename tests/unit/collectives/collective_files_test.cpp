// An algorithm from a file is executed on symbols: it is accepted if it ends and every rank ends with every
// contribution exactly once, and refused otherwise with the rank, the chunk and the contribution. Its transfers wait
// for what they need and for nothing else.
#include <gmock/gmock.h>

#include <algorithm>
#include <fstream>
#include <regex>
#include <sstream>

#include "sim/collectives/files/contributions.hpp"
#include "sim/collectives/files/read_collective.hpp"
#include "tests/source_dir.hpp"

namespace lockstep::test {
namespace {

using collectives::ChunkSchedule;
using collectives::read_collective_text;
using testing::ElementsAre;
using testing::HasSubstr;

/// The problems of a text, one line each.
std::string refusal(const std::string& text) {
  try {
    (void)read_collective_text(text, "file");
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "accepted";
}

std::string data(const std::string& name) {
  std::ostringstream text;
  text << std::ifstream(std::string(source_dir) + "/tests/data/collectives/" + name).rdbuf();
  return text.str();
}

std::string replaced(std::string text, const std::string& what, const std::string& with) {
  text.replace(text.find(what), what.size(), with);
  return text;
}

std::string steps(const std::string& head, const std::string& list) { return head + "\nsteps:\n" + list + "\n"; }

constexpr const char* two_ranks = "collective: all_reduce\nranks: 2\nchunks: 1";

// A ring of 4 gathers in 4 x 3 transfers of one chunk over 4 connections. The first of every rank waits for nothing,
// each later one for the arrival of its chunk and for the one before it to the same rank.
TEST(CollectiveFiles, TransfersOfARingWaitForTheirChunks) {
  const ChunkSchedule ring = read_collective_text(data("ring_all_gather_4.yaml"), "ring");
  EXPECT_EQ(ring.connections.size(), 4u);
  ASSERT_EQ(ring.transfers.size(), 12u);
  for (const auto id : ring.transfers.ids()) {
    const auto& transfer = ring.transfers[id];
    EXPECT_EQ(transfer.chunks, 1);
    if (id < 4) {
      EXPECT_TRUE(transfer.after.empty()) << id;
      continue;
    }
    const auto rank = id % 4, before = id - 4 - rank;
    const auto own = before + rank, received = before + (rank + 3) % 4;
    EXPECT_THAT(transfer.after, ElementsAre(std::min(own, received), std::max(own, received))) << id;
  }
}

// The same for thread blocks: 2 (4 - 1) sends a rank, of which the first waits for nothing.
TEST(CollectiveFiles, ThreadBlocksOfARing) {
  const ChunkSchedule ring = read_collective_text(data("ring_all_reduce_4.xml"), "ring");
  EXPECT_EQ(ring.protocol, "Simple");
  EXPECT_EQ(ring.chunks, 4);
  ASSERT_EQ(ring.transfers.size(), 24u);
  int free = 0;
  for (const auto& transfer : ring.transfers) {
    if (transfer.after.empty()) ++free;
    EXPECT_LE(transfer.after.size(), 2u) << "the one before it, and what the rank has received";
  }
  EXPECT_EQ(free, 4);
}

// Both ranks send what they had before the step, so one step adds both up on both.
TEST(CollectiveFiles, TransfersOfAStepReadWhatWasThereBeforeIt) {
  const std::string both = "- [{from: 0, to: 1, chunks: 0, reduce: true}, {from: 1, to: 0, chunks: 0, reduce: true}]";
  EXPECT_EQ(refusal(steps(two_ranks, both)), "accepted");
  EXPECT_THAT(refusal(steps(two_ranks, both + "\n- [{from: 0, to: 1, chunks: 0, reduce: true}]")),
              HasSubstr("chunk 0 of the output of rank 1 counts the contribution of rank 0 2 times"));
  EXPECT_THAT(refusal(steps(two_ranks, "- [{from: 0, to: 1, chunks: 0, reduce: true}]")),
              HasSubstr("chunk 0 of the output of rank 0 lacks the contribution of rank 1"));
  EXPECT_THAT(
      refusal(steps(two_ranks, "- [{from: 0, to: 1, chunks: 0}]")),
      HasSubstr("lacks the contribution of rank 1, and 1 more chunk of outputs is not what all_reduce promises"))
      << "without reduce, what arrives takes the place of what was there";
}

// What each kind promises, on two ranks, in the fewest transfers; one transfer less is refused.
TEST(CollectiveFiles, EveryKindHasItsPromise) {
  struct Kind {
    std::string head, transfers;
  };
  const std::vector<Kind> kinds = {
      {"collective: all_gather\nranks: 2", "- [{from: 0, to: 1, chunks: 0}]\n- [{from: 1, to: 0, chunks: 1}]"},
      {"collective: reduce_scatter\nranks: 2",
       "- [{from: 0, to: 1, chunks: 1, reduce: true}]\n- [{from: 1, to: 0, chunks: 0, reduce: true}]"},
      // Chunks 0 and 1 are rank 0's for 0 and for 1; chunks 2 and 3 are rank 1's.
      {"collective: all_to_all\nranks: 2", "- [{from: 0, to: 1, chunks: 1}]\n- [{from: 1, to: 0, chunks: 2}]"},
      {"collective: broadcast\nranks: 3\nchunks: 1",
       "- [{from: 0, to: 1, chunks: 0}]\n- [{from: 1, to: 2, chunks: 0}]"},
      {"collective: reduce\nranks: 3\nchunks: 1",
       "- [{from: 2, to: 1, chunks: 0, reduce: true}]\n- [{from: 1, to: 0, chunks: 0, reduce: true}]"}};
  for (const auto& kind : kinds) {
    EXPECT_EQ(refusal(steps(kind.head, kind.transfers)), "accepted") << kind.head;
    EXPECT_THAT(refusal(steps(kind.head, kind.transfers.substr(0, kind.transfers.find('\n')))),
                HasSubstr("of the output of rank"))
        << kind.head;
  }
}

TEST(CollectiveFiles, StepsThatCannotBe) {
  EXPECT_THAT(refusal(steps("collective: broadcast\nranks: 3\nchunks: 1", "- [{from: 1, to: 2, chunks: 0}]")),
              HasSubstr("file:5:4: steps[0][0]: rank 1 sends chunk 0, which it does not have before this step"));
  EXPECT_THAT(refusal(steps("collective: all_reduce\nranks: 3\nchunks: 1",
                            "- [{from: 0, to: 2, chunks: 0}, {from: 1, to: 2, chunks: 0}]")),
              HasSubstr("another transfer of this step writes chunk 0 of rank 2 too"));
  EXPECT_THAT(refusal(steps(two_ranks, "- [{from: 0, to: 0, chunks: 0}]")), HasSubstr("rank 0 sends to itself"));
  EXPECT_THAT(refusal(steps("collective: all_gather\nranks: 2\nchunks: 3", "[]")),
              HasSubstr("3 chunks cannot be shared out evenly over 2 ranks"));
  EXPECT_THAT(refusal(steps("collective: all_reduce\nranks: 65536\nchunks: 4000000", "[]")),
              HasSubstr("too many to follow"))
      << "refused before memory is spent";
}

TEST(CollectiveFiles, ThreadBlocksThatWaitForever) {
  const auto ring = data("ring_all_reduce_4.xml");
  EXPECT_THAT(refusal(replaced(ring, "type=\"s\"", "type=\"nop\"")),
              HasSubstr("gpu 0 sends nothing more to gpu 1 on channel 0; expected a send for every receive"));
  auto circle = ring;
  for (int gpu = 0; gpu < 4; ++gpu) circle = replaced(circle, "type=\"s\"", "type=\"rcs\"");
  EXPECT_THAT(refusal(circle), HasSubstr("the algorithm never ends: gpu "));
  EXPECT_THAT(refusal(replaced(ring, "depid=\"-1\" deps=\"-1\"", "depid=\"0\" deps=\"0\"")),
              HasSubstr("gpu 0 tb 0 step 0 waits for gpu 0 tb 0 step 0"));
  EXPECT_THAT(refusal(replaced(ring, "type=\"r\"", "type=\"nop\"")), HasSubstr("what is never received"));
}

TEST(CollectiveFiles, ThreadBlocksThatBreakThePromise) {
  const auto ring = data("ring_all_reduce_4.xml");
  // Rank 3 stores the sum of chunk 0 alone; passing on what arrives instead leaves its own contribution out.
  EXPECT_THAT(refusal(replaced(ring, "type=\"rrcs\"", "type=\"rcs\"")),
              HasSubstr("chunk 1 of the output of rank 0 lacks the contribution of rank 0"));
  EXPECT_THAT(refusal(replaced(ring, "srcoff=\"3\"", "srcoff=\"9\"")),
              HasSubstr("srcoff: 1 chunks from 9 on do not lie in the buffer of 4"));
  EXPECT_THAT(refusal(replaced(ring, "nchunksperloop=\"4\"", "nchunksperloop=\"16000000\"")),
              HasSubstr("file:1:1: nchunksperloop: 4 ranks with 16000000 chunks each are too many to follow"));
  EXPECT_THAT(refusal(replaced(ring, "ngpus=\"4\"", "ngpus=\"5\"")), HasSubstr("ngpus: is 5 of 4 gpu elements"));
  EXPECT_THAT(refusal(ring.substr(0, ring.size() / 2)), HasSubstr("malformed XML"));
}

// Whichever value of a file is wrong, that is one line: what follows from it is not told beside it.
TEST(CollectiveFiles, OneWrongValueIsOneLine) {
  const auto ring = data("ring_all_reduce_4.xml");
  const std::regex attribute("(\\w+)=\"([^\"]*)\"");
  int refused = 0;
  for (std::sregex_iterator found(ring.begin(), ring.end(), attribute), end; found != end; ++found) {
    for (const std::string other : {"-1", "0", "1", "7", "r", "s", "rrc", "o", "zz"}) {
      auto wrong = ring;
      wrong.replace(static_cast<std::size_t>(found->position(2)), static_cast<std::size_t>(found->length(2)), other);
      const auto lines = refusal(wrong);
      refused += lines == "accepted" ? 0 : 1;
      EXPECT_EQ(std::count(lines.begin(), lines.end(), '\n'), 0) << found->str(1) << " = " << other << "\n" << lines;
    }
  }
  EXPECT_GT(refused, 1000);
}

// Out of place, a rank's own chunk gets to its output by a copy, and buffers are apart.
TEST(CollectiveFiles, CopiesOutOfPlace) {
  const std::string own = "<tb id=\"0\" send=\"-1\" recv=\"-1\" chan=\"0\"><step s=\"0\" type=\"cpy\" srcbuf=\"i\" ";
  const auto gpu = [&](int id, int other) {
    const auto me = std::to_string(id), peer = std::to_string(other);
    return "<gpu id=\"" + me + "\" i_chunks=\"2\" o_chunks=\"2\" s_chunks=\"0\">" + own + "srcoff=\"" + me +
           "\" dstbuf=\"o\" dstoff=\"" + me + "\" cnt=\"1\"/></tb><tb id=\"1\" send=\"" + peer + "\" recv=\"" + peer +
           "\" chan=\"0\"><step s=\"0\" type=\"s\" srcbuf=\"i\" srcoff=\"" + peer +
           "\" cnt=\"1\"/><step s=\"1\" type=\"r\" dstbuf=\"o\" dstoff=\"" + peer + "\" cnt=\"1\"/></tb></gpu>";
  };
  const auto pairs = "<algo ngpus=\"2\" coll=\"alltoall\" inplace=\"0\">" + gpu(0, 1) + gpu(1, 0) + "</algo>";
  EXPECT_EQ(refusal(pairs), "accepted");
  EXPECT_THAT(refusal(replaced(pairs, "type=\"cpy\"", "type=\"nop\"")),
              HasSubstr("chunk 0 of the output of rank 0 is never written"));
  EXPECT_THAT(refusal(replaced(pairs, "srcoff=\"1\"", "srcoff=\"0\"")),
              HasSubstr("chunk 0 of the output of rank 1 lacks the contribution of rank 0"));
}

// {0, 1} + {1, 2} counts input 1 twice; sums do not depend on their order, and equal contents are one.
TEST(Contributions, AddUp) {
  collectives::Contributions contents;
  const auto left = contents.inputs(0, 1), right = contents.inputs(1, 2);
  const auto sum = contents.sum(left, right);
  EXPECT_THAT(contents[sum], ElementsAre(collectives::InputRun{0, 0, 1}, collectives::InputRun{1, 1, 2},
                                         collectives::InputRun{2, 2, 1}));
  EXPECT_EQ(sum, contents.sum(right, left));
  EXPECT_EQ(contents.sum(contents.inputs(0, 0), contents.inputs(1, 1)), left);
  EXPECT_EQ(contents.sum(collectives::nothing, left), left);
}

}  // namespace
}  // namespace lockstep::test
