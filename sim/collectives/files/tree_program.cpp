#include "sim/collectives/files/tree_program.hpp"

#include <algorithm>
#include <map>
#include <tuple>

#include "sim/collectives/design/move_order.hpp"
#include "sim/core/errors.hpp"

namespace lockstep::collectives::msccl {
namespace {

using design::BroadcastTrees;
using workloads::CollectiveKind;

/// A piece of a tree's data on an arc.
struct Move {
  int round;          ///< the earliest in which it can go, if every move took one
  bool up;            ///< towards the root, to be added up
  std::int32_t tree;  ///< number among all of its pass
  std::int32_t chunk, chunks;
  int from, to;
};

/// A step of a gpu's thread block; block -1: none.
struct Place {
  std::int32_t block = -1, step = -1;
};

class Writer {
 public:
  Writer(const design::Design& design, CollectiveKind kind, int pieces, std::string name, Channels channels)
      : pieces_(pieces), channels_(channels) {
    const bool goes_up = kind != CollectiveKind::all_gather, goes_down = kind != CollectiveKind::reduce_scatter;
    const auto& trees = goes_down ? design.gather : design.reduce;
    // Both passes of an all-reduce name the same chunks.
    if (goes_up && goes_down && design.gather.trees_of != design.reduce.trees_of)
      throw InternalError("the passes of an all-reduce have trees from other roots");
    const auto use = !goes_up ? trees.use() : goes_down ? design.use_both_ways() : trees.use();
    of_channel_ = use.trees_of_channel();
    first_of_root_.push_back(0);
    for (const int of_root : trees.trees_of) first_of_root_.push_back(first_of_root_.back() + of_root * pieces);
    made_.file = made_.name = std::move(name);
    made_.kind = kind;
    made_.in_place = true;
    made_.chunks = first_of_root_.back();
    made_.gpus.resize(position_of(trees.members));
    for (std::size_t root = 0; root < made_.gpus.size(); ++root) {
      const auto share = first_of_root_[root + 1] - first_of_root_[root];
      made_.gpus[root].input = goes_up ? made_.chunks : share;
      made_.gpus[root].output = goes_down ? made_.chunks : share;
    }
    buffer_ = goes_down ? Buffer::output : Buffer::input;
    if (channels == Channels::in_order) {
      add_in_order(trees, design::strands_of(design, goes_up, goes_down));
      return;
    }
    if (goes_up) add_moves(design.reduce, true, 0);
    if (goes_down) add_moves(design.gather, false, goes_up ? design.reduce.use().depth : 0);
    std::stable_sort(moves_.begin(), moves_.end(), [](const Move& a, const Move& b) {
      return std::tuple(a.round, a.up, a.chunk, a.to) < std::tuple(b.round, b.up, b.chunk, b.to);
    });
  }

  Algorithm write() {
    last_.assign(made_.gpus.size(), std::vector<Place>(position_of(made_.chunks)));
    for (const auto& move : moves_) add(move);
    return std::move(made_);
  }

 private:
  void add_moves(const BroadcastTrees& trees, bool up, int first_round) {
    std::int32_t tree_of_root = 0;
    int root = 0;
    std::int32_t number = up ? 1 : 0;  // of a tree, copies counted; even numbers go down
    for (const auto& tree : trees.trees) {
      if (std::exchange(root, tree.root) != tree.root) tree_of_root = 0;
      for (int copy = 0; copy < tree.copies; ++copy, number += 2, ++tree_of_root) {
        for (int piece = 0; piece < pieces_; ++piece) {
          const std::int32_t chunk =
              first_of_root_[position_of(tree.root)] + piece * trees.trees_of[position_of(tree.root)] + tree_of_root;
          for (const auto& arc : tree.arcs) {
            if (up)
              moves_.push_back({first_round + piece + arc.height, true, number, chunk, 1, arc.to, arc.from});
            else
              moves_.push_back({first_round + piece + arc.depth - 1, false, number, chunk, 1, arc.from, arc.to});
          }
        }
      }
    }
  }

  void add_in_order(const BroadcastTrees& trees, const std::vector<design::Strand>& strands) {
    for (const auto& move : design::moves_in_order(strands, pieces_)) {
      const auto& strand = strands[position_of(move.strand)];
      const auto root = position_of(strand.root);
      const auto chunk = first_of_root_[root] + move.piece * trees.trees_of[root] + strand.first;
      moves_.push_back({0, move.up, move.strand, chunk, strand.count, move.from, move.to});
    }
  }

  /// The trees of a connection fill its channels one after the other.
  std::int32_t channel_of(const Move& move) {
    if (channels_ == Channels::in_order) return 0;
    auto& taken = trees_on_[{move.from, move.to}];
    const auto [known, is_new] = channel_of_.try_emplace({move.from, move.to, move.tree}, taken / of_channel_);
    if (is_new) ++taken;
    return known->second;
  }

  /// The thread block of a gpu that sends to a peer on a channel, or receives from it.
  std::int32_t block_of(int gpu, int peer, std::int32_t channel, bool sends) {
    auto& blocks = made_.gpus[position_of(gpu)].blocks;
    const auto [known, is_new] =
        blocks_.try_emplace({gpu, peer, channel, sends}, static_cast<std::int32_t>(blocks.size()));
    if (is_new) {
      auto& block = blocks.emplace_back();
      (sends ? block.send : block.receive) = peer;
      block.channel = channel;
    }
    return known->second;
  }

  /// A step that waits for whoever used its chunk last.
  void add_step(int gpu, std::int32_t block, const Action& action, const Move& move, bool is_last) {
    Step step;
    step.action = &action;
    step.source = step.target = {buffer_, move.chunk};
    step.count = move.chunks;
    auto& blocks = made_.gpus[position_of(gpu)].blocks;
    auto& last = last_[position_of(gpu)][position_of(move.chunk)];
    if (last.block >= 0 && last.block != block) wait_for(gpu, step, last);
    blocks[position_of(block)].steps.push_back(step);
    if (is_last) last = {block, static_cast<std::int32_t>(blocks[position_of(block)].steps.size()) - 1};
  }

  void wait_for(int gpu, Step& step, Place other) {
    step.after_block = other.block;
    step.after_step = other.step;
    made_.gpus[position_of(gpu)].blocks[position_of(other.block)].steps[position_of(other.step)].awaited = true;
  }

  void add(const Move& move) {
    // A send only reads, so that the steps after it need not wait for it.
    const auto channel = channel_of(move);
    add_step(move.from, block_of(move.from, move.to, channel, true), action_named("s"), move, false);
    add_step(move.to, block_of(move.to, move.from, channel, false), action_named(move.up ? "rrc" : "r"), move, true);
  }

  int pieces_;
  Channels channels_;
  std::int32_t of_channel_ = 1;
  std::vector<std::int32_t> first_of_root_;  ///< chunks before those of each root's trees, and in all
  Algorithm made_;
  Buffer buffer_ = Buffer::output;
  std::vector<Move> moves_;
  std::map<std::pair<int, int>, std::int32_t> trees_on_;                   ///< by connection
  std::map<std::tuple<int, int, std::int32_t>, std::int32_t> channel_of_;  ///< by connection and tree
  std::map<std::tuple<int, int, std::int32_t, bool>, std::int32_t> blocks_;
  std::vector<std::vector<Place>> last_;  ///< by gpu and chunk: the step that wrote it last
};

}  // namespace

Algorithm tree_program(const design::Design& design, CollectiveKind kind, int pieces, std::string name,
                       Channels channels) {
  if (kind != CollectiveKind::all_gather && kind != CollectiveKind::reduce_scatter &&
      kind != CollectiveKind::all_reduce)
    throw InternalError("trees of all roots do not run " + std::string(workloads::name(kind)));
  return Writer(design, kind, pieces, std::move(name), channels).write();
}

}  // namespace lockstep::collectives::msccl
