// A designed collective as an MSCCL algorithm: it is executed on symbols, and its file is read back as it was.
#include <gmock/gmock.h>

#include "sim/collectives/files/read_collective.hpp"
#include "sim/collectives/files/tree_program.hpp"
#include "tests/unit/collectives/link_graphs.hpp"

namespace lockstep::test {
namespace {

using collectives::ChunkSchedule;
using workloads::CollectiveKind;
namespace msccl = collectives::msccl;

collectives::design::Design design_of(const collectives::design::LinkGraph& graph, CollectiveKind kind) {
  return (kind == CollectiveKind::all_reduce ? collectives::design::all_reduce_designs_for({0, graph, 1, {}})
                                             : collectives::design::designs_for({0, graph, 1, {}}))
      .front();
}

constexpr std::initializer_list<CollectiveKind> kinds = {CollectiveKind::all_gather, CollectiveKind::reduce_scatter,
                                                         CollectiveKind::all_reduce};

// Executing it proves every output: every contribution exactly once (Promise). As many transfers as trees have arcs,
// for each piece and pass.
TEST(TreeProgram, DoesWhatItsKindPromises) {
  for (const auto& graph : {torus_graph({5}), torus_graph({2, 4}), torus_graph({3, 3, 3}), rails_graph(2),
                            mi250_graph(1), mi250_graph(2), dgx1_graph(0, 3), tree_graph(4, 4, 1)}) {
    for (const auto kind : kinds) {
      const auto design = design_of(graph, kind);
      for (const int pieces : {1, 3}) {
        Problems problems;
        const auto schedule = msccl::execute(msccl::tree_program(design, kind, pieces, "designed"), problems);
        ASSERT_TRUE(problems.empty()) << problems.list().front().to_string();
        const bool both = kind == CollectiveKind::all_reduce;
        EXPECT_EQ(schedule.transfers.count(), pieces * (both ? design.use_both_ways() : design.gather.use()).arcs)
            << name(kind);
        EXPECT_EQ(design.use_both_ways().arcs, 2 * design.gather.count() * (design.gather.members - 1));
      }
    }
  }
}

// A network with links that are not as fast both ways has other trees up than down.
TEST(TreeProgram, GoesUpOtherTreesWhereLinksAreNotAlikeBothWays) {
  auto graph = torus_graph({5});
  graph.arcs[{0, 1}] = 3;
  graph.arcs[{3, 2}] = 2;
  for (const auto kind : kinds) {
    const auto design = design_of(graph, kind);
    Problems problems;
    (void)msccl::execute(msccl::tree_program(design, kind, 2, "designed"), problems);
    EXPECT_TRUE(problems.empty()) << name(kind);
  }
}

bool are_equal(const ChunkSchedule& left, const ChunkSchedule& right) {
  if (left.kind != right.kind || left.chunks != right.chunks || left.ranks != right.ranks ||
      left.connections.size() != right.connections.size() || left.transfers.size() != right.transfers.size())
    return false;
  for (const auto id : left.connections.ids()) {
    if (left.connections[id].from != right.connections[id].from || left.connections[id].to != right.connections[id].to)
      return false;
  }
  for (const auto id : left.transfers.ids()) {
    const auto &one = left.transfers[id], &other = right.transfers[id];
    if (one.connection != other.connection || one.chunks != other.chunks || one.after != other.after) return false;
  }
  return true;
}

TEST(TreeProgram, IsReadBackAsItWasWritten) {
  for (const auto& graph : {torus_graph({2, 4}), rails_graph(1), mi250_graph(1)}) {
    for (const auto kind : kinds) {
      const auto design = design_of(graph, kind);
      const auto program = msccl::tree_program(design, kind, 2, "designed");
      Problems problems;
      const auto schedule = msccl::execute(program, problems);
      const auto text = msccl::to_xml(program);
      const auto read = collectives::read_collective_text(text, "file");
      EXPECT_TRUE(are_equal(schedule, read)) << name(kind);
      EXPECT_EQ(read.protocol, "Simple");
    }
  }
}

// The steps of a two-rank ring are those that anybody would write.
TEST(TreeProgram, OfTwoRanks) {
  collectives::design::LinkGraph pair{2, 2, {}};
  join(pair, 0, 1, 7);
  const auto text = msccl::to_xml(
      msccl::tree_program(design_of(pair, CollectiveKind::all_gather), CollectiveKind::all_gather, 1, "a \"b\" <c>"));
  EXPECT_THAT(text, testing::StartsWith("<algo name=\"a &quot;b&quot; &lt;c>\" proto=\"Simple\" nchannels=\"1\" "
                                        "nchunksperloop=\"2\" ngpus=\"2\" coll=\"allgather\" inplace=\"1\">\n"
                                        "  <gpu id=\"0\" i_chunks=\"1\" o_chunks=\"2\" s_chunks=\"0\">\n"
                                        "    <tb id=\"0\" send=\"1\" recv=\"-1\" chan=\"0\">\n"
                                        "      <step s=\"0\" type=\"s\" srcbuf=\"o\" srcoff=\"0\" dstbuf=\"o\" "
                                        "dstoff=\"0\" cnt=\"1\" depid=\"-1\" deps=\"-1\" hasdep=\"0\"/>\n"));
}

TEST(TreeProgram, RunsNoOtherKind) {
  EXPECT_THROW((void)msccl::tree_program(design_of(torus_graph({3}), CollectiveKind::all_gather),
                                         CollectiveKind::all_to_all, 1, ""),
               InternalError);
}

}  // namespace
}  // namespace lockstep::test
