// An MSCCL algorithm executed on symbols, step by step as its runtime would: a thread block runs its steps in order, a
// step that sends leaves its chunks in the connection, where they wait for the step that receives them, and a step
// waits for the step of another thread block that it names.
#include <algorithm>
#include <deque>
#include <map>
#include <tuple>

#include "sim/collectives/files/msccl_program.hpp"
#include "sim/collectives/files/promise.hpp"

namespace lockstep::collectives::msccl {
namespace {

constexpr std::size_t most_awaited = 20'000'000;  // transfers that others wait for, over all transfers
constexpr std::size_t most_problems = 10;

/// The last transfer that a thread block has sent (even) or received (odd); earlier ones have ended before it.
struct Stamp {
  std::size_t source;
  TransferId transfer;
};

/// What has ended when a step has: the last transfers of the thread blocks that led to it, by source.
using Past = std::vector<Stamp>;

void add(Past& past, Stamp stamp) {
  const auto place = std::lower_bound(past.begin(), past.end(), stamp.source,
                                      [](const Stamp& known, std::size_t source) { return known.source < source; });
  if (place == past.end() || place->source != stamp.source)
    past.insert(place, stamp);
  else
    place->transfer = std::max(place->transfer, stamp.transfer);
}

struct Message {
  TransferId transfer;
  std::vector<ContentId> chunks;
  const Step* sender;
};

struct RunningBlock;

/// Chunks on their way from a thread block to another.
struct Channel {
  ConnectionId connection = -1;
  std::deque<Message> messages;
  RunningBlock *sender = nullptr, *receiver = nullptr;
};

struct RunningBlock {
  MemberId rank = 0;
  std::size_t id = 0;
  const ThreadBlock* block = nullptr;
  std::size_t next = 0;
  Past past;
  std::map<std::size_t, Past> past_of_step;  ///< of steps that others wait for
  Channel *outgoing = nullptr, *incoming = nullptr;
  std::vector<RunningBlock*> waiting;  ///< for one of its steps

  [[nodiscard]] bool ended() const { return next == block->steps.size(); }
  [[nodiscard]] const Step& step() const { return block->steps[next]; }
  [[nodiscard]] std::string text() const {
    return "gpu " + std::to_string(rank) + " tb " + std::to_string(id) + " step " + std::to_string(next);
  }
};

class Execution {
 public:
  Execution(const Algorithm& algorithm, Problems& problems)
      : algorithm_(algorithm),
        problems_(problems),
        promise_(algorithm.kind, static_cast<std::int32_t>(algorithm.gpus.size()), algorithm.chunks) {
    schedule_.file = algorithm.file;
    schedule_.name = algorithm.name;
    schedule_.kind = algorithm.kind;
    schedule_.protocol = algorithm.protocol;
    schedule_.ranks = promise_.ranks();
    schedule_.chunks = algorithm.chunks;
  }

  ChunkSchedule run() {
    fill_buffers();
    join_blocks();
    if (!problems_.empty()) return std::move(schedule_);
    for (auto& block : blocks_) ready_.push_back(&block);
    while (!ready_.empty() && problems_.empty()) {
      auto& block = *ready_.front();
      ready_.pop_front();
      while (!block.ended() && problems_.empty() && try_step(block)) {
      }
    }
    if (problems_.empty()) find_deadlocks();
    if (problems_.empty()) find_messages_left();
    if (problems_.empty()) {
      promise_.check(
          [&](MemberId rank, std::int32_t place) {
            return chunk(rank, {Buffer::output, place}, 0);
          },
          contents_, {algorithm_.file, algorithm_.line, algorithm_.column}, problems_);
    }
    return std::move(schedule_);
  }

 private:
  void fill_buffers() {
    for (const auto& gpu : algorithm_.gpus) {
      const auto rank = buffers_.next_id();
      auto& buffers = buffers_.emplace_back();
      buffers.push_back(std::vector<ContentId>(position_of(gpu.input), nothing));
      buffers.push_back(std::vector<ContentId>(position_of(gpu.output), nothing));
      buffers.push_back(std::vector<ContentId>(position_of(gpu.scratch), nothing));
      for (std::int32_t place = 0; place < promise_.input_chunks(rank); ++place)
        chunk(rank, {Buffer::input, place}, 0) = promise_.given(rank, place, contents_);
    }
  }

  /// In place, the smaller of input and output is a part of the larger, or both are the same.
  ContentId& chunk(MemberId rank, Chunks chunks, std::int32_t offset) {
    auto place = chunks.first + offset;
    if (algorithm_.in_place && chunks.buffer != Buffer::scratch) {
      const auto share = algorithm_.chunks / promise_.ranks();
      if (chunks.buffer == Buffer::input) {
        if (algorithm_.kind == workloads::CollectiveKind::all_gather && place < share) {
          place += rank * share;
          chunks.buffer = Buffer::output;
        } else if (in_one_buffer() && std::cmp_less(place, buffers_[rank][1].size())) {
          chunks.buffer = Buffer::output;
        }
      } else if (algorithm_.kind == workloads::CollectiveKind::reduce_scatter && place < share) {
        place += rank * share;
        chunks.buffer = Buffer::input;
      }
    }
    return buffers_[rank][static_cast<std::size_t>(chunks.buffer)][position_of(place)];
  }

  [[nodiscard]] bool in_one_buffer() const {
    using Kind = workloads::CollectiveKind;
    return algorithm_.kind == Kind::all_reduce || algorithm_.kind == Kind::broadcast || algorithm_.kind == Kind::reduce;
  }

  void join_blocks() {
    for (std::size_t rank = 0; rank < algorithm_.gpus.size(); ++rank) {
      first_block_.push_back(blocks_.size());
      const auto& gpu = algorithm_.gpus[rank];
      for (std::size_t id = 0; id < gpu.blocks.size(); ++id) {
        auto& block = blocks_.emplace_back();
        block.rank = static_cast<MemberId>(rank);
        block.id = id;
        block.block = &gpu.blocks[id];
        const auto uses = [&](bool Action::*what) {
          return std::any_of(block.block->steps.begin(), block.block->steps.end(),
                             [&](const Step& step) { return step.action->*what; });
        };
        if (uses(&Action::sends)) {
          block.outgoing = &channels_[{block.rank, block.block->send, block.block->channel}];
          join(block, block.outgoing->sender, "sends to gpu " + std::to_string(block.block->send));
        }
        if (uses(&Action::receives)) {
          block.incoming = &channels_[{block.block->receive, block.rank, block.block->channel}];
          join(block, block.incoming->receiver, "receives from gpu " + std::to_string(block.block->receive));
        }
      }
    }
    for (auto& [ends, channel] : channels_) {
      channel.connection = schedule_.connections.count();
      schedule_.connections.push_back({std::get<0>(ends), std::get<1>(ends)});
    }
  }

  void join(RunningBlock& block, RunningBlock*& end, const std::string& what) {
    if (end != nullptr && problems_.size() < most_problems) {
      problems_.add({algorithm_.where(block.block->steps.front()), "",
                     "gpu " + std::to_string(block.rank) + " tb " + std::to_string(block.id) + " " + what +
                         " on channel " + std::to_string(block.block->channel) + ", as tb " + std::to_string(end->id) +
                         " does",
                     "one tb for each peer, direction and channel of a gpu"});
    }
    end = &block;
  }

  [[nodiscard]] RunningBlock& awaited(const RunningBlock& block) {
    return blocks_[first_block_[position_of(block.rank)] + position_of(block.step().after_block)];
  }
  [[nodiscard]] bool waits_for_a_step(const RunningBlock& block) {
    return block.step().after_block >= 0 && std::cmp_less_equal(awaited(block).next, block.step().after_step);
  }
  static bool waits_for_a_message(const RunningBlock& block) {
    return block.step().action->receives && block.incoming->messages.empty();
  }

  bool try_step(RunningBlock& block) {
    const auto& step = block.step();
    if (waits_for_a_step(block)) {
      awaited(block).waiting.push_back(&block);
      return false;
    }
    if (waits_for_a_message(block)) return false;  // the sender wakes it
    if (step.after_block >= 0) {
      for (const auto& stamp : awaited(block).past_of_step[position_of(step.after_step)]) add(block.past, stamp);
    }
    perform(block, step);
    if (step.awaited) block.past_of_step[block.next] = block.past;
    ++block.next;
    for (auto* other : std::exchange(block.waiting, {})) ready_.push_back(other);
    if (contents_.full()) {
      problems_.add({algorithm_.where(step), "", "the sums of contributions up to here are too many to follow",
                     "an algorithm of fewer ranks or chunks"});
    }
    return true;
  }

  void perform(RunningBlock& block, const Step& step) {
    const auto& action = *step.action;
    std::vector<ContentId> chunks(action.sends || action.stores ? position_of(step.count) : 0, nothing);
    if (action.receives) {
      auto& messages = block.incoming->messages;
      if (std::cmp_not_equal(messages.front().chunks.size(), step.count)) {
        problems_.add({algorithm_.where(step), "cnt",
                       "receives " + std::to_string(step.count) + " chunks, where gpu " +
                           std::to_string(block.block->receive) + " sends " +
                           std::to_string(messages.front().chunks.size()) + " in line " +
                           std::to_string(messages.front().sender->line),
                       "as many as are sent"});
        return;
      }
      chunks = std::move(messages.front().chunks);
      add(block.past, {2 * index(block) + 1, messages.front().transfer});
      messages.pop_front();
    }
    const bool local = !action.receives;
    for (std::int32_t i = 0; std::cmp_less(i, chunks.size()); ++i) {
      auto& content = chunks[position_of(i)];
      if (local && action.reduces)
        content = contents_.sum(chunk(block.rank, step.source, i), chunk(block.rank, step.target, i));
      else if (local)
        content = chunk(block.rank, step.source, i);
      else if (action.reduces)
        content = contents_.sum(content, chunk(block.rank, step.source, i));
    }
    for (std::int32_t i = 0; action.stores && i < step.count; ++i)
      chunk(block.rank, step.target, i) = chunks[position_of(i)];
    if (action.sends) send(block, step, std::move(chunks));
  }

  void send(RunningBlock& block, const Step& step, std::vector<ContentId> chunks) {
    ChunkTransfer transfer{block.outgoing->connection, step.count, {}};
    for (const auto& stamp : block.past) transfer.after.push_back(stamp.transfer);
    std::sort(transfer.after.begin(), transfer.after.end());
    awaited_ += transfer.after.size();
    if (awaited_ > most_awaited)
      problems_.add({algorithm_.where(step), "", "the transfers up to here wait for too many others",
                     "at most " + std::to_string(most_awaited)});
    const auto id = schedule_.transfers.count();
    schedule_.transfers.push_back(std::move(transfer));
    block.past = {{2 * index(block), id}};
    block.outgoing->messages.push_back({id, std::move(chunks), &step});
    if (block.outgoing->receiver != nullptr) ready_.push_back(block.outgoing->receiver);
  }

  [[nodiscard]] std::size_t index(const RunningBlock& block) const {
    return first_block_[position_of(block.rank)] + block.id;
  }

  /// The block for which one that is stuck waits; itself if it waits for a message that nobody sends.
  RunningBlock* cause(RunningBlock& block) {
    if (waits_for_a_step(block)) return &awaited(block);
    auto* sender = block.incoming->sender;
    return sender == nullptr || sender->ended() ? nullptr : sender;
  }

  void find_deadlocks() {
    RunningBlock *stuck = nullptr, *unserved = nullptr;  // the last one, and the first that nobody will send to
    std::size_t others = 0;                              // that nobody will send to, often because of the first
    for (auto& block : blocks_) {
      if (block.ended()) continue;
      stuck = &block;
      if (cause(block) != nullptr) continue;
      if (unserved == nullptr)
        unserved = &block;
      else
        ++others;
    }
    if (unserved != nullptr) {
      problems_.add({algorithm_.where(unserved->step()), "",
                     unserved->text() + " waits forever: gpu " + std::to_string(unserved->block->receive) +
                         " sends nothing more to gpu " + std::to_string(unserved->rank) + " on channel " +
                         std::to_string(unserved->block->channel) + also(others, "step waits", "steps wait"),
                     "a send for every receive"});
    }
    if (stuck == nullptr || unserved != nullptr) return;
    std::vector<RunningBlock*> way;
    while (std::find(way.begin(), way.end(), stuck) == way.end()) {
      way.push_back(stuck);
      stuck = cause(*stuck);
    }
    way.erase(way.begin(), std::find(way.begin(), way.end(), stuck));
    std::string circle;
    for (std::size_t i = 0; i < std::min<std::size_t>(way.size(), 8); ++i) circle += way[i]->text() + " waits for ";
    if (way.size() > 8) circle += std::to_string(way.size() - 8) + " more that wait for ";
    problems_.add({algorithm_.where(stuck->step()), "", "the algorithm never ends: " + circle + stuck->text(),
                   "steps that do not wait for each other in a circle"});
  }

  void find_messages_left() {
    const auto is_left = [](const auto& entry) { return !entry.second.messages.empty(); };
    const auto first = std::find_if(channels_.begin(), channels_.end(), is_left);
    if (first == channels_.end()) return;
    const auto others = static_cast<std::size_t>(std::count_if(std::next(first), channels_.end(), is_left));
    const auto& [ends, channel] = *first;
    problems_.add({algorithm_.where(*channel.messages.front().sender), "",
                   "gpu " + std::to_string(std::get<0>(ends)) + " sends to gpu " + std::to_string(std::get<1>(ends)) +
                       " on channel " + std::to_string(std::get<2>(ends)) + " what is never received" +
                       also(others, "channel keeps messages", "channels keep messages"),
                   "a receive for every send"});
  }

  /// ", and 3 more steps wait": mostly consequences of what was said.
  static std::string also(std::size_t others, const char* one, const char* several) {
    if (others == 0) return "";
    return ", and " + std::to_string(others) + " more " + (others == 1 ? one : several);
  }

  const Algorithm& algorithm_;
  Problems& problems_;
  Promise promise_;
  Contributions contents_;
  ChunkSchedule schedule_;
  Indexed<MemberId, std::vector<std::vector<ContentId>>> buffers_;  ///< by Buffer
  std::map<std::tuple<MemberId, MemberId, std::int32_t>, Channel> channels_;
  std::deque<RunningBlock> blocks_;
  std::vector<std::size_t> first_block_;  ///< of each rank
  std::deque<RunningBlock*> ready_;
  std::size_t awaited_ = 0;
};

}  // namespace

ChunkSchedule execute(const Algorithm& algorithm, Problems& problems) { return Execution(algorithm, problems).run(); }

}  // namespace lockstep::collectives::msccl
