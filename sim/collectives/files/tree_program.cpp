#include "sim/collectives/files/tree_program.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>

#include "sim/core/errors.hpp"

namespace lockstep::collectives::msccl {
namespace {

using design::BroadcastTrees;
using workloads::CollectiveKind;

/// A piece of a tree's data on an arc.
struct Move {
  int round;                  ///< the earliest in which it can go, if every move took one
  bool up;                    ///< towards the root, to be added up
  std::int32_t tree;          ///< number among all of its pass
  std::int32_t first, count;  ///< chunks
  int from, to;
};

/// A step of a gpu's thread block; block -1: none.
struct Place {
  std::int32_t block = -1, step = -1;
};

class Writer {
 public:
  Writer(const design::Design& design, CollectiveKind kind, int pieces, std::string name) : pieces_(pieces) {
    const bool goes_up = kind != CollectiveKind::all_gather, goes_down = kind != CollectiveKind::reduce_scatter;
    // Both passes of an all-reduce name the same chunks, which are cut for both.
    if (goes_up) of_channel_ = design.reduce.trees_of_channel();
    if (goes_down) of_channel_ = std::max(of_channel_, design.gather.trees_of_channel());
    if (goes_up) of_root_ = std::lcm(of_root_, design.reduce.trees_of_root);
    if (goes_down) of_root_ = std::lcm(of_root_, design.gather.trees_of_root);
    const auto share = of_root_ * pieces;
    made_.file = made_.name = std::move(name);
    made_.kind = kind;
    made_.in_place = true;
    made_.chunks = design.gather.members * share;
    made_.gpus.resize(position_of(design.gather.members));
    for (auto& gpu : made_.gpus) {
      gpu.input = goes_up ? made_.chunks : share;
      gpu.output = goes_down ? made_.chunks : share;
    }
    buffer_ = goes_down ? Buffer::output : Buffer::input;
    if (goes_up) add_moves(design.reduce, true, 0);
    if (goes_down) add_moves(design.gather, false, goes_up ? design.reduce.depth() : 0);
    std::stable_sort(moves_.begin(), moves_.end(), [](const Move& a, const Move& b) {
      return std::tuple(a.round, a.up, a.first, a.to) < std::tuple(b.round, b.up, b.first, b.to);
    });
  }

  Algorithm write() {
    last_.assign(made_.gpus.size(), std::vector<Place>(position_of(made_.chunks)));
    for (const auto& move : moves_) add(move);
    return std::move(made_);
  }

 private:
  void add_moves(const BroadcastTrees& trees, bool up, int first_round) {
    const std::int32_t of_tree = of_root_ / trees.trees_of_root;
    std::int32_t tree_of_root = 0;
    int root = 0;
    std::int32_t number = up ? 1 : 0;  // of a tree, copies counted; even numbers go down
    for (const auto& tree : trees.trees) {
      if (std::exchange(root, tree.root) != tree.root) tree_of_root = 0;
      for (int copy = 0; copy < tree.copies; ++copy, number += 2, tree_of_root += of_tree) {
        for (int piece = 0; piece < pieces_; ++piece) {
          const std::int32_t first = (tree.root * pieces_ + piece) * of_root_ + tree_of_root;
          for (const auto& arc : tree.arcs) {
            if (up)
              moves_.push_back({first_round + piece + arc.height, true, number, first, of_tree, arc.to, arc.from});
            else
              moves_.push_back({first_round + piece + arc.depth - 1, false, number, first, of_tree, arc.from, arc.to});
          }
        }
      }
    }
  }

  /// The trees of a connection fill its channels one after the other.
  std::int32_t channel_of(const Move& move) {
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

  /// A step that waits for whoever used its chunks last.
  void add_step(int gpu, std::int32_t block, const Action& action, const Move& move, bool is_last) {
    Step step;
    step.action = &action;
    step.source = step.target = {buffer_, move.first};
    step.count = move.count;
    auto& blocks = made_.gpus[position_of(gpu)].blocks;
    for (std::int32_t chunk = move.first; chunk < move.first + move.count; ++chunk) {
      auto& last = last_[position_of(gpu)][position_of(chunk)];
      // Copies of a tree may have parted ways before: the latest of those that this step needs ends last on its block.
      if (last.block >= 0 && last.block != block) wait_for(gpu, block, step, last);
    }
    blocks[position_of(block)].steps.push_back(step);
    if (!is_last) return;
    for (std::int32_t chunk = move.first; chunk < move.first + move.count; ++chunk)
      last_[position_of(gpu)][position_of(chunk)] = {
          block, static_cast<std::int32_t>(blocks[position_of(block)].steps.size()) - 1};
  }

  /// A step names one other; for more there are steps that do nothing else before it.
  void wait_for(int gpu, std::int32_t block, Step& step, Place other) {
    auto& blocks = made_.gpus[position_of(gpu)].blocks;
    if (step.after_block == other.block) {
      step.after_step = std::max(step.after_step, other.step);
    } else {
      if (step.after_block >= 0) {
        Step wait;
        wait.action = &action_named("nop");
        wait.after_block = step.after_block;
        wait.after_step = step.after_step;
        blocks[position_of(block)].steps.push_back(wait);
      }
      step.after_block = other.block;
      step.after_step = other.step;
    }
    blocks[position_of(other.block)].steps[position_of(other.step)].awaited = true;
  }

  void add(const Move& move) {
    // A send only reads, so that the steps after it need not wait for it.
    const auto channel = channel_of(move);
    add_step(move.from, block_of(move.from, move.to, channel, true), action_named("s"), move, false);
    add_step(move.to, block_of(move.to, move.from, channel, false), action_named(move.up ? "rrc" : "r"), move, true);
  }

  int pieces_;
  std::int32_t of_channel_ = 1;
  std::int32_t of_root_ = 1;  ///< chunks of a root in one piece
  Algorithm made_;
  Buffer buffer_ = Buffer::output;
  std::vector<Move> moves_;
  std::map<std::pair<int, int>, std::int32_t> trees_on_;                   ///< by connection
  std::map<std::tuple<int, int, std::int32_t>, std::int32_t> channel_of_;  ///< by connection and tree
  std::map<std::tuple<int, int, std::int32_t, bool>, std::int32_t> blocks_;
  std::vector<std::vector<Place>> last_;  ///< by gpu and chunk: the step that wrote it last
};

}  // namespace

Algorithm tree_program(const design::Design& design, CollectiveKind kind, int pieces, std::string name) {
  if (kind != CollectiveKind::all_gather && kind != CollectiveKind::reduce_scatter &&
      kind != CollectiveKind::all_reduce)
    throw InternalError("trees of all roots do not run " + std::string(workloads::name(kind)));
  return Writer(design, kind, pieces, std::move(name)).write();
}

}  // namespace lockstep::collectives::msccl
