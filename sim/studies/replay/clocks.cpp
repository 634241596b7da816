#include "sim/studies/replay/clocks.hpp"

#include <algorithm>
#include <map>
#include <optional>

namespace lockstep::replay {
namespace {

Seconds median(std::vector<Seconds> values) {
  const auto middle = values.begin() + std::ssize(values) / 2;
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace

std::vector<Seconds> later_begins(const workloads::RecordedJob& job, const std::vector<RankWork>& works,
                                  const std::vector<MatchedCollective>& collectives) {
  std::vector<Seconds> begins(works.size(), Seconds(0));
  if (!job.dated || works.size() < 2) return begins;
  const auto end_of = [&](const MatchedPart& part) {
    const auto& rank = job.ranks[position_of(part.rank)];
    const auto& event = rank.events[works[position_of(part.rank)].operations[part.operation].event];
    return *event.start + event.duration;
  };
  // What a rank's clock is ahead of the first one's; neighbours are those that share a collective.
  std::vector<std::optional<Seconds>> ahead(works.size());
  ahead.front() = Seconds(0);
  for (bool grew = true; grew;) {
    grew = false;
    std::map<std::int32_t, std::vector<Seconds>> differences;
    for (const auto& collective : collectives) {
      const auto known = std::find_if(collective.parts.begin(), collective.parts.end(), [&](const MatchedPart& part) {
        return ahead[position_of(part.rank)].has_value();
      });
      if (known == collective.parts.end()) continue;
      const Seconds end = end_of(*known) - *ahead[position_of(known->rank)];
      for (const auto& part : collective.parts) {
        if (!ahead[position_of(part.rank)]) differences[part.rank].push_back(end_of(part) - end);
      }
    }
    for (auto& [rank, values] : differences) {
      ahead[position_of(rank)] = median(std::move(values));
      grew = true;
    }
  }
  std::optional<Seconds> first;
  for (std::size_t rank = 0; rank < works.size(); ++rank) {
    if (!ahead[rank]) continue;
    begins[rank] = works[rank].begin - *ahead[rank];
    first = first ? std::min(*first, begins[rank]) : begins[rank];
  }
  for (std::size_t rank = 0; rank < works.size(); ++rank)
    begins[rank] = ahead[rank] ? begins[rank] - *first : Seconds(0);
  return begins;
}

}  // namespace lockstep::replay
