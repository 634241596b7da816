#include "sim/timeline/rank_sets.hpp"

#include <map>
#include <utility>

namespace lockstep::timeline {

RankSets::RankSets(std::int32_t ranks, std::vector<Ranks> sets, const std::vector<std::int32_t>& set_of_op)
    : ranks_(ranks), sets_of_rank_(ranks) {
  std::map<Ranks, std::int32_t> known;
  Indexed<std::int32_t, std::int32_t> number;
  for (Ranks& members : sets) {
    const auto [found, is_new] = known.try_emplace(members, static_cast<std::int32_t>(sets_.size()));
    number.push_back(found->second);
    if (!is_new) continue;
    Set set{std::move(members), 0, {}, {}};
    if (!set.ranks.empty()) {
      set.first = set.ranks.front();
      set.places.assign(position_of(set.ranks.back() - set.first) + 1, -1);
    }
    std::int32_t place = 0;
    for (const std::int32_t rank : set.ranks) {
      set.places[position_of(rank - set.first)] = place++;
      sets_of_rank_[rank].push_back(found->second);
    }
    sets_.push_back(std::move(set));
  }
  set_of_op_.reserve(set_of_op.size());
  for (const std::int32_t set : set_of_op) {
    set_of_op_.push_back(number[set]);
    sets_[set_of_op_.back()].ops.push_back(static_cast<std::int32_t>(set_of_op_.size()) - 1);
  }
}

}  // namespace lockstep::timeline
