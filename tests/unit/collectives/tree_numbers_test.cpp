// A designed collective on numbers. With x_r[c] what rank r holds in chunk c, and own(r) the chunks of r's share,
//
//   all-gather      y_r[c] = x_q[c]            with c in own(q), for all c
//   reduce-scatter  y_r[c] = sum over q x_q[c]  for c in own(r)
//   all-reduce      y_r[c] = sum over q x_q[c]  for all c
//
// The program is run as MSCCL's runtime would: every thread block makes its steps one after another, a step waits for
// the one that it names, and a channel hands over messages in the order in which they were sent. This is another
// executor than the one that proves programs on symbols. Chunks that a rank does not hold yet have a poison in them.
#include <gmock/gmock.h>

#include <deque>
#include <random>

#include "sim/collectives/files/tree_program.hpp"
#include "tests/unit/collectives/link_graphs.hpp"

namespace lockstep::test {
namespace {

using collectives::design::Design;
using collectives::design::LinkGraph;
using workloads::CollectiveKind;
namespace msccl = collectives::msccl;

using Arrays = std::vector<std::vector<std::int64_t>>;  ///< by rank and chunk

class Machine {
 public:
  Machine(const msccl::Algorithm& algorithm, Arrays arrays) : algorithm_(algorithm), arrays_(std::move(arrays)) {
    for (const auto& gpu : algorithm.gpus) done_.emplace_back(gpu.blocks.size(), 0);
  }

  Arrays run() {
    for (bool moved = true; moved;) {
      moved = false;
      for (std::size_t rank = 0; rank < done_.size(); ++rank) {
        for (std::size_t block = 0; block < done_[rank].size(); ++block) moved = advance(rank, block) || moved;
      }
    }
    for (std::size_t rank = 0; rank < done_.size(); ++rank) {
      for (std::size_t block = 0; block < done_[rank].size(); ++block)
        EXPECT_EQ(done_[rank][block], algorithm_.gpus[rank].blocks[block].steps.size()) << "waits for ever";
    }
    return arrays_;
  }

 private:
  bool advance(std::size_t rank, std::size_t number) {
    const auto& block = algorithm_.gpus[rank].blocks[number];
    auto& done = done_[rank][number];
    if (done == block.steps.size()) return false;
    const auto& step = block.steps[done];
    if (step.after_block >= 0 && std::cmp_less_equal(done_[rank][position_of(step.after_block)], step.after_step))
      return false;
    auto& values = arrays_[rank];
    std::vector<std::int64_t> data;
    if (step.action->receives) {
      auto& waiting = channels_[{block.receive, static_cast<int>(rank), block.channel}];
      if (waiting.empty()) return false;
      data = std::move(waiting.front());
      waiting.pop_front();
    } else {
      data.assign(values.begin() + step.source.first, values.begin() + step.source.first + step.count);
    }
    for (std::size_t i = 0; i < data.size(); ++i) {
      if (step.action->reduces) data[i] += values[position_of(step.source.first) + i];
      if (step.action->stores) values[position_of(step.target.first) + i] = data[i];
    }
    if (step.action->sends) channels_[{static_cast<int>(rank), block.send, block.channel}].push_back(data);
    ++done;
    return true;
  }

  const msccl::Algorithm& algorithm_;
  Arrays arrays_;
  std::vector<std::vector<std::size_t>> done_;  ///< steps of each block
  std::map<std::tuple<int, int, int>, std::deque<std::vector<std::int64_t>>> channels_;
};

void expect_right(const LinkGraph& graph, CollectiveKind kind, int pieces, msccl::Channels channels) {
  const bool both = kind == CollectiveKind::all_reduce;
  for (const auto& design : both ? collectives::design::all_reduce_designs_for({0, graph, 1, {}})
                                 : collectives::design::designs_for({0, graph, 1, {}})) {
    const auto program = msccl::tree_program(design, kind, pieces, "designed", channels);
    const auto ranks = program.gpus.size(), chunks = position_of(program.chunks);
    const auto share = both ? chunks : chunks / ranks;  // of an all-reduce nobody has a share
    constexpr std::int64_t poison = -1'000'000'007;
    std::mt19937_64 random(ranks + chunks);
    Arrays before(ranks, std::vector<std::int64_t>(chunks, poison));
    std::vector<std::int64_t> own(chunks), sums(chunks, 0);
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      for (std::size_t chunk = 0; chunk < chunks; ++chunk) {
        const auto value = static_cast<std::int64_t>(random() % 1'000'000);
        if (chunk / share == rank && !both) own[chunk] = value;
        if (kind != CollectiveKind::all_gather || chunk / share == rank) before[rank][chunk] = value;
        sums[chunk] += value;
      }
    }
    const auto after = Machine(program, std::move(before)).run();
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      const auto first = kind == CollectiveKind::reduce_scatter ? rank * share : 0;
      const auto last = kind == CollectiveKind::reduce_scatter ? first + share : chunks;
      for (auto chunk = first; chunk < last; ++chunk)
        ASSERT_EQ(after[rank][chunk], kind == CollectiveKind::all_gather ? own[chunk] : sums[chunk])
            << name(kind) << ", rank " << rank << ", chunk " << chunk;
    }
  }
}

TEST(TreeNumbers, AreThoseOfTheCollective) {
  for (const auto& graph : {torus_graph({2}), torus_graph({5}), torus_graph({4, 4}), open_torus_graph({3, 4}),
                            rails_graph(2), tree_graph(4, 4, 1), mi250_graph(1), dgx1_graph(), dgx1_graph(0, 3)}) {
    for (const auto kind : {CollectiveKind::all_gather, CollectiveKind::reduce_scatter, CollectiveKind::all_reduce}) {
      for (const int pieces : {1, 3}) {
        for (const auto channels : {msccl::Channels::of_trees, msccl::Channels::in_order})
          expect_right(graph, kind, pieces, channels);
      }
    }
  }
}

// Where links are not as fast both ways, an all-reduce goes up other trees than down.
TEST(TreeNumbers, AreThoseOfTheCollectiveOnLinksThatAreFasterOneWay) {
  auto graph = torus_graph({5});
  graph.arcs[{0, 1}] = 3;
  graph.arcs[{3, 2}] = 2;
  LinkGraph one_way{4, 4, {}};
  for (int member = 0; member < 4; ++member) one_way.add(member, (member + 1) % 4, 2);
  for (const auto& network : {graph, one_way}) {
    for (const auto kind : {CollectiveKind::all_gather, CollectiveKind::reduce_scatter, CollectiveKind::all_reduce}) {
      for (const auto channels : {msccl::Channels::of_trees, msccl::Channels::in_order})
        expect_right(network, kind, 2, channels);
    }
  }
}

}  // namespace
}  // namespace lockstep::test
