#include "sim/studies/replay/matched_collectives.hpp"

#include <algorithm>
#include <tuple>

#include "sim/core/counted.hpp"
#include "sim/core/errors.hpp"

namespace lockstep::replay {
namespace {

using workloads::CollectiveKind;
using workloads::RecordedCollective;

/// Whose collectives are counted together: those of a group; sends from one rank to another; what the trace says too
/// little of stays with its rank.
using Key = std::tuple<int, std::int32_t, std::int32_t>;

Key key_of(const RecordedCollective& collective, std::int32_t rank) {
  if (!collective.kind) return {2, rank, collective.group};
  if (collective.kind != CollectiveKind::point_to_point) return {0, collective.group, 0};
  return collective.role == RecordedCollective::Role::sends ? Key{1, rank, collective.peer}
                                                            : Key{1, collective.peer, rank};
}

class Matching {
 public:
  Matching(const workloads::RecordedJob& job, const std::vector<RankWork>& works) : job_(job), works_(works) {}

  std::vector<MatchedCollective> run() {
    for (std::int32_t rank = 0; std::cmp_less(rank, job_.ranks.size()); ++rank) {
      std::map<std::pair<Key, bool>, std::size_t> seen;  // a rank's sends and its receives count apart
      const auto& work = works_[position_of(rank)];
      for (const auto id : work.operations.ids()) {
        const auto& operation = work.operations[id];
        if (operation.kind != WorkOperation::Kind::collective) continue;
        const auto& collective = collective_of(rank, operation);
        const auto key = key_of(collective, job_.ranks[position_of(rank)].rank);
        add(key, seen[{key, collective.role == RecordedCollective::Role::receives}]++, collective, {rank, id},
            operation.duration);
      }
    }
    for (const auto& [key, list] : known_) check(key, list);
    problems_.throw_if_any();
    return std::move(all_);
  }

 private:
  [[nodiscard]] const RecordedCollective& collective_of(std::int32_t rank, const WorkOperation& operation) const {
    const auto& recorded = job_.ranks[position_of(rank)];
    return recorded.collectives[recorded.events[operation.event].collective];
  }

  void add(const Key& key, std::size_t place, const RecordedCollective& collective, MatchedPart part,
           Seconds duration) {
    auto& list = known_[key];
    if (place == list.size()) {
      list.push_back(all_.size());
      all_.push_back({collective, {}, duration});
    }
    auto& matched = all_[list[place]];
    if (matched.what.kind != collective.kind) {
      const auto& first = job_.ranks[position_of(matched.parts.front().rank)];
      problem(part.rank, "collective " + std::to_string(place) + " of " + group_text(collective) + " is " +
                             kind_text(collective) + ", on rank " + std::to_string(first.rank) + " it is " +
                             kind_text(matched.what));
      return;
    }
    agree_on_bytes(matched, place, collective, part.rank);
    matched.recorded = std::min(matched.recorded, duration);
    matched.parts.push_back(part);
  }

  /// The members of a collective have arrays of one size, but in an all-to-all, where the largest counts.
  void agree_on_bytes(MatchedCollective& matched, std::size_t place, const RecordedCollective& collective,
                      std::int32_t rank) {
    auto& known = matched.what;
    if (!collective.buffer || (known.buffer && known.buffer_is_shard != collective.buffer_is_shard)) return;
    if (!known.buffer || collective.kind == CollectiveKind::all_to_all) {
      known.buffer = std::max(known.buffer.value_or(Bytes(0)), *collective.buffer);
      known.buffer_is_shard = collective.buffer_is_shard;
    } else if (known.kind && *known.buffer != *collective.buffer) {
      problem(rank, "collective " + std::to_string(place) + " of " + group_text(collective) + " has " +
                        std::to_string(collective.buffer->value()) + " bytes, on rank " +
                        std::to_string(job_.ranks[position_of(matched.parts.front().rank)].rank) + " it has " +
                        std::to_string(known.buffer->value()));
    }
  }

  /// Of two recorded ranks the one receives what the other sends.
  void check_transfers(const Key& key, const std::vector<std::size_t>& list) {
    const auto recorded = [&](std::int32_t rank) {
      return std::any_of(job_.ranks.begin(), job_.ranks.end(), [&](const auto& other) { return other.rank == rank; });
    };
    if (!recorded(std::get<1>(key)) || !recorded(std::get<2>(key))) return;
    for (const auto place : list) {
      const auto& matched = all_[place];
      if (matched.parts.size() == 2) continue;
      const bool sends = matched.what.role == RecordedCollective::Role::sends;
      return problem(matched.parts.front().rank, "rank " + std::to_string(std::get<1>(key)) +
                                                     (sends ? " sends more to rank " : " sends less to rank ") +
                                                     std::to_string(std::get<2>(key)) + " than that one receives");
    }
  }

  /// All recorded members of a group take part in each of its collectives.
  void check(const Key& key, const std::vector<std::size_t>& list) {
    if (std::get<0>(key) == 1) check_transfers(key, list);
    if (std::get<0>(key) != 0) return;
    std::map<std::int32_t, std::int64_t> count;
    for (const auto place : list) {
      for (const auto& part : all_[place].parts) ++count[part.rank];
    }
    const auto& members = job_.groups[all_[list.front()].what.group].ranks;
    for (std::int32_t rank = 0; std::cmp_less(rank, job_.ranks.size()); ++rank) {
      const auto number = job_.ranks[position_of(rank)].rank;
      if (problems_.size() == 0 && std::find(members.begin(), members.end(), number) != members.end())
        count.try_emplace(rank, 0);
    }
    for (const auto& [rank, parts] : count) {
      if (parts == std::ssize(list)) continue;
      problem(rank, "has " + counted(parts, "collective") + " of " + group_text(all_[list.front()].what) +
                        ", other ranks have " + std::to_string(list.size()));
      return;
    }
  }

  [[nodiscard]] std::string group_text(const RecordedCollective& collective) const {
    const auto& group = job_.groups[collective.group];
    if (group.name.empty() && group.description.empty()) return "the group of all ranks";
    return "group '" + group.name + (group.description.empty() ? "" : " " + group.description) + "'";
  }

  void problem(std::int32_t rank, std::string what) {
    if (problems_.size() > 20) return;
    problems_.add({{job_.ranks[position_of(rank)].file, 0, 0}, "", std::move(what), "ranks of one job"});
  }

  const workloads::RecordedJob& job_;
  const std::vector<RankWork>& works_;
  std::map<Key, std::vector<std::size_t>> known_;
  std::vector<MatchedCollective> all_;
  Problems problems_;
};

}  // namespace

std::vector<MatchedCollective> matched_collectives(const workloads::RecordedJob& job,
                                                   const std::vector<RankWork>& works) {
  return Matching(job, works).run();
}

std::string kind_text(const RecordedCollective& collective) {
  return collective.kind ? std::string(name(*collective.kind)) : "unknown";
}

}  // namespace lockstep::replay
