#include "sim/collectives/files/step_list.hpp"

#include <algorithm>
#include <map>
#include <unordered_map>

#include "sim/collectives/files/promise.hpp"
#include "sim/core/yaml_view.hpp"

namespace lockstep::collectives {
namespace {

constexpr std::size_t largest_text = 4u << 20;
constexpr std::int64_t most_ranks = 65'536, most_chunks = 1 << 22, most_places = 1 << 25;
constexpr std::size_t most_awaited = 20'000'000, most_problems = 20;

/// Who wrote and who read one chunk of a rank last.
struct Users {
  std::vector<TransferId> writers, readers;
};

/// A transfer of the step that is being read.
struct Move {
  MemberId from = 0, to = 0;
  bool reduce = false;
  std::vector<ChunkNumber> chunks;
  std::vector<ContentId> contents;
  YamlView view;
  TransferId id = 0;
};

class StepReader {
 public:
  StepReader(ChunkSchedule& schedule, Problems& problems)
      : schedule_(schedule), problems_(problems), promise_(schedule.kind, schedule.ranks, schedule.chunks) {
    held_.assign(static_cast<std::size_t>(schedule.ranks * promise_.all_chunks()), nothing);
    for (MemberId rank = 0; rank < schedule.ranks; ++rank) {
      for (std::int32_t place = 0; place < promise_.input_chunks(rank); ++place)
        held_[key(rank, promise_.input(rank, place))] = promise_.given(rank, place, contents_);
    }
  }

  void read(const YamlView& steps) {
    for (const auto& step : steps.items()) {
      std::vector<Move> moves;
      for (const auto& item : step.items()) {
        if (problems_.size() > most_problems) return;
        if (auto move = read_move(item)) moves.push_back(std::move(*move));
      }
      if (!problems_.empty()) continue;
      for (auto& move : moves) start(move);
      write(moves);
      if (contents_.full())
        return step.problem("the sums of contributions up to here are too many to follow",
                            "an algorithm of fewer ranks or chunks");
      if (awaited_ > most_awaited)
        return step.problem("the transfers up to here wait for too many others",
                            "at most " + std::to_string(most_awaited));
    }
  }

  void check(const YamlView& steps) {
    promise_.check([&](MemberId rank, std::int32_t place) { return held_[key(rank, promise_.output(rank, place))]; },
                   contents_, steps.where(), problems_);
  }

 private:
  [[nodiscard]] std::size_t key(MemberId rank, ChunkNumber chunk) const {
    return static_cast<std::size_t>(rank * promise_.all_chunks() + chunk);
  }

  std::optional<Move> read_move(const YamlView& item) {
    if (!item.expect_map("a transfer such as {from: 0, to: 1, chunks: [0, 1], reduce: true}")) return std::nullopt;
    const auto before = problems_.size();
    Move move;
    move.view = item;
    const auto rank = [&](const char* name) {
      const auto view = item.require(name, "a rank, from 0 to " + std::to_string(schedule_.ranks - 1));
      return view.exists() ? static_cast<MemberId>(view.integer(0, schedule_.ranks - 1)) : 0;
    };
    move.from = rank("from");
    move.to = rank("to");
    const auto chunks = item.require("chunks", "a chunk or a list of chunks");
    const auto add = [&](const YamlView& view) { move.chunks.push_back(view.integer(0, promise_.all_chunks() - 1)); };
    if (chunks.is_list()) {
      for (const auto& chunk : chunks.items()) add(chunk);
      auto sorted = move.chunks;
      std::sort(sorted.begin(), sorted.end());
      if (sorted.empty()) chunks.problem("names no chunk", "at least one chunk");
      if (std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end())
        chunks.problem("names a chunk twice", "each chunk once");
    } else if (chunks.exists()) {
      add(chunks);
    }
    if (const auto reduce = item["reduce"]; reduce.exists()) move.reduce = reduce.boolean();
    item.refuse_unknown_keys();
    if (problems_.size() == before && move.from == move.to)
      item.problem("rank " + std::to_string(move.from) + " sends to itself", "two ranks");
    return problems_.size() == before ? std::optional(std::move(move)) : std::nullopt;
  }

  /// Takes what the sender has, and finds what it waits for.
  void start(Move& move) {
    ChunkTransfer transfer;
    const auto [connection, is_new] =
        connections_.try_emplace({move.from, move.to}, Line{schedule_.connections.next_id(), {}});
    if (is_new) schedule_.connections.push_back({move.from, move.to});
    transfer.connection = connection->second.id;
    transfer.chunks = static_cast<std::int32_t>(move.chunks.size());
    transfer.after = connection->second.last;
    const auto wait_for = [&](const std::vector<TransferId>& others) {
      transfer.after.insert(transfer.after.end(), others.begin(), others.end());
    };
    for (const auto chunk : move.chunks) {
      const auto content = held_[key(move.from, chunk)];
      if (content == nothing && problems_.size() <= most_problems)
        move.view.problem("rank " + std::to_string(move.from) + " sends chunk " + std::to_string(chunk) +
                              ", which it does not have before this step",
                          "a chunk that it starts with or has received");
      move.contents.push_back(content);
      if (const auto known = users_.find(key(move.from, chunk)); known != users_.end()) wait_for(known->second.writers);
      if (const auto known = users_.find(key(move.to, chunk)); known != users_.end()) {
        wait_for(known->second.writers);
        wait_for(known->second.readers);
      }
    }
    std::sort(transfer.after.begin(), transfer.after.end());
    transfer.after.erase(std::unique(transfer.after.begin(), transfer.after.end()), transfer.after.end());
    awaited_ += transfer.after.size();
    move.id = schedule_.transfers.next_id();
    connection->second.last = {move.id};
    schedule_.transfers.push_back(std::move(transfer));
  }

  /// Lets all transfers of a step arrive.
  void write(const std::vector<Move>& moves) {
    std::unordered_map<std::size_t, bool> written;  ///< in this step; whether added up
    for (const auto& move : moves) {
      for (std::size_t i = 0; i < move.chunks.size(); ++i) {
        const auto place = key(move.to, move.chunks[i]);
        const auto [known, is_new] = written.try_emplace(place, move.reduce);
        if (is_new) {
          users_[place] = {};
        } else if (!known->second || !move.reduce) {
          move.view.problem("another transfer of this step writes chunk " + std::to_string(move.chunks[i]) +
                                " of rank " + std::to_string(move.to) + " too",
                            "one of the two in another step, or both with reduce: true");
        }
        held_[place] = move.reduce ? contents_.sum(held_[place], move.contents[i]) : move.contents[i];
        users_[place].writers.push_back(move.id);
      }
    }
    for (const auto& move : moves) {
      for (const auto chunk : move.chunks) users_[key(move.from, chunk)].readers.push_back(move.id);
    }
  }

  struct Line {
    ConnectionId id;
    std::vector<TransferId> last;  ///< at most one
  };

  ChunkSchedule& schedule_;
  Problems& problems_;
  Promise promise_;
  Contributions contents_;
  std::vector<ContentId> held_;  ///< by rank, then chunk
  std::unordered_map<std::size_t, Users> users_;
  std::map<std::pair<MemberId, MemberId>, Line> connections_;
  std::size_t awaited_ = 0;
};

/// The kinds that a file may promise.
std::vector<std::string> kind_names() {
  std::vector<std::string> names;
  for (const auto kind : workloads::all_collective_kinds) names.emplace_back(workloads::name(kind));
  names.pop_back();  // point_to_point
  return names;
}

}  // namespace

ChunkSchedule read_step_list(std::string_view text, const std::string& file, Problems& problems) {
  ChunkSchedule schedule;
  schedule.file = file;
  if (text.size() > largest_text) {
    problems.add({{file, 0, 0}, "", "the file is too large", "at most 4 MiB"});
    return schedule;
  }
  const auto root = YamlView::from_text(text, file, problems);
  if (!root.exists() || !root.expect_map("an algorithm with collective, ranks and steps")) return schedule;
  const auto names = kind_names();
  const auto kind = root.require("collective", "a collective such as all_gather");
  if (kind.exists()) schedule.kind = workloads::all_collective_kinds[kind.choice(names)];
  const auto ranks = root.require("ranks", "the number of ranks");
  schedule.ranks = ranks.exists() ? static_cast<std::int32_t>(ranks.integer(2, most_ranks)) : 2;
  const auto chunks = root["chunks"];
  schedule.chunks = chunks.exists() ? static_cast<std::int32_t>(chunks.integer(1, most_chunks)) : schedule.ranks;
  const auto name = root["name"], protocol = root["protocol"];
  schedule.name = name.exists() ? name.text() : "from a file";
  if (protocol.exists()) schedule.protocol = protocol.text();
  const auto steps = root.require("steps", "a list of steps, each a list of transfers");
  root.refuse_unknown_keys();
  if (!problems.empty()) return schedule;
  const auto& size = chunks.exists() ? chunks : ranks;
  if (const auto why = Promise::why_not(schedule.kind, schedule.ranks, schedule.chunks)) {
    size.problem(why->first, why->second);
  } else if (schedule.ranks * Promise(schedule.kind, schedule.ranks, schedule.chunks).all_chunks() > most_places) {
    size.problem("so many chunks on each of " + std::to_string(schedule.ranks) + " ranks are too many to follow",
                 "at most " + std::to_string(most_places) + " in all");
  } else {
    StepReader reader(schedule, problems);
    reader.read(steps);
    if (problems.empty()) reader.check(steps);
  }
  return schedule;
}

}  // namespace lockstep::collectives
