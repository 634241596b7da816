#include "workloads/traces/peers_private.hpp"

#include <algorithm>

namespace lockstep::workloads {
namespace {

/// Whether a trace says of any of the rank's collectives which ranks they join.
bool names_groups(const RecordedJob& job, const RecordedRank& rank) {
  return std::any_of(rank.collectives.begin(), rank.collectives.end(), [&](const RecordedCollective& collective) {
    const auto& group = job.groups[collective.group];
    return !group.name.empty() || !group.ranks.empty();
  });
}

bool are_alike(const RecordedJob& job, const RecordedRank& untold, const std::vector<std::int32_t>& calls,
               const RecordedRank& told, const std::vector<std::int32_t>& told_calls) {
  if (calls.size() != told_calls.size()) return false;
  for (std::size_t i = 0; i < calls.size(); ++i) {
    const auto& one = untold.collectives[calls[i]];
    const auto& other = told.collectives[told_calls[i]];
    if (other.kind == CollectiveKind::point_to_point || (one.kind && one.kind != other.kind)) return false;
    const auto& members = job.groups[other.group].ranks;
    if (std::find(members.begin(), members.end(), untold.rank) == members.end()) return false;
  }
  return true;
}

std::string list_of(const std::vector<std::int32_t>& ranks) {
  constexpr std::size_t most = 8;
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (std::size_t i = 0; i < std::min(ranks.size(), most); ++i)
    text += (i == 0 ? "" : ", ") + std::to_string(ranks[i]);
  return text + (ranks.size() > most ? ", ..." : "");
}

void take_over(RecordedRank& untold, const std::vector<std::int32_t>& calls, const RecordedRank& told,
               const std::vector<std::int32_t>& told_calls) {
  for (std::size_t i = 0; i < calls.size(); ++i) {
    auto& made = untold.collectives[calls[i]];
    const auto& other = told.collectives[told_calls[i]];
    made.kind = other.kind;
    made.group = other.group;
    made.sequence = other.sequence;
    if (made.buffer) continue;
    made.buffer = other.buffer;
    made.buffer_is_shard = other.buffer_is_shard;
  }
}

}  // namespace

std::vector<std::int32_t> collectives_in_order_of_calls(const RecordedRank& rank) {
  std::vector<std::pair<Seconds, std::int32_t>> calls;
  for (const auto& event : rank.events) {
    if (event.collective >= 0)
      calls.emplace_back(event.launched.value_or(event.start.value_or(Seconds(0))), event.collective);
  }
  std::stable_sort(calls.begin(), calls.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<std::int32_t> order;
  for (const auto& [when, collective] : calls) order.push_back(collective);
  return order;
}

void forget_what_was_missing(RecordedJob& job) {
  bool kinds = true, sizes = true, groups = true;
  for (const auto& rank : job.ranks) {
    for (const auto& made : rank.collectives) {
      const auto& group = job.groups[made.group];
      kinds = kinds && made.kind;
      sizes = sizes && (!made.kind || made.buffer);
      groups = groups && (!group.name.empty() || !group.ranks.empty());
    }
  }
  std::erase_if(job.missing, [&](const std::string& sentence) {
    return (kinds && sentence.starts_with("Of some collectives the trace does not tell the kind")) ||
           (sizes && sentence.starts_with("Of some collectives the trace does not tell the size"));
  });
  std::erase_if(job.guessed, [&](const std::string& sentence) {
    return groups && sentence.starts_with("The trace does not say which ranks a collective joins");
  });
}

void complete_from_peers(RecordedJob& job) {
  std::vector<const RecordedRank*> told;
  std::vector<RecordedRank*> untold;
  for (auto& rank : job.ranks) {
    if (rank.collectives.empty()) continue;
    if (names_groups(job, rank))
      told.push_back(&rank);
    else
      untold.push_back(&rank);
  }
  if (told.empty()) return;
  std::vector<std::int32_t> completed, alone;
  for (auto* rank : untold) {
    const auto calls = collectives_in_order_of_calls(*rank);
    const auto peer = std::find_if(told.begin(), told.end(), [&](const RecordedRank* other) {
      return are_alike(job, *rank, calls, *other, collectives_in_order_of_calls(*other));
    });
    (peer == told.end() ? alone : completed).push_back(rank->rank);
    if (peer != told.end()) take_over(*rank, calls, **peer, collectives_in_order_of_calls(**peer));
  }
  if (!completed.empty()) {
    forget_what_was_missing(job);
    job.guessed.push_back("The trace says nothing of the collectives of " + list_of(completed) +
                          "; taken to be those of another rank of their groups that calls as many of the same kinds.");
  }
  if (!alone.empty()) {
    job.missing.push_back("The trace says nothing of the collectives of " + list_of(alone) +
                          ", and no other rank calls as many of the same kinds.");
  }
}

}  // namespace lockstep::workloads
