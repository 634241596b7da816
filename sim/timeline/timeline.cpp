#include "sim/timeline/timeline.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace lockstep::timeline {

namespace {

std::shared_ptr<const RankSets> everyone(std::int32_t ops, std::int32_t ranks) {
  RankSets::Ranks all(position_of(ranks));
  std::iota(all.begin(), all.end(), 0);
  return std::make_shared<const RankSets>(ranks, std::vector<RankSets::Ranks>{std::move(all)},
                                          std::vector<std::int32_t>(position_of(ops), 0));
}

}  // namespace

Timeline::Timeline(std::shared_ptr<const RankSets> sets)
    : sets_(std::move(sets)), end_of_rank_(sets_->ranks(), Seconds(0)), spans_(position_of(sets_->ops())) {}

Timeline::Timeline(std::int32_t ops, std::int32_t ranks) : Timeline(everyone(ops, ranks)) {}

void Timeline::record(std::int32_t op, std::int32_t rank, Interval span) {
  auto& spans = spans_[op];
  if (spans.differing == nobody) spans = {span, all_agree};
  if (spans.differing == all_agree && spans.first != span) {
    spans.differing = static_cast<std::int32_t>(differing_.size());
    const auto first = static_cast<std::uint32_t>(distinct_.size());
    distinct_.push_back(spans.first);
    differing_.push_back({Indexed<std::int32_t, std::uint32_t>(sets_->of(op).size(), first), first});
  }
  if (spans.differing >= 0) {
    auto& [chosen, last] = differing_[spans.differing];
    // Ranks that agree are mostly recorded in a row: comparing with the last span is enough to share.
    if (distinct_[last] != span) {
      last = static_cast<std::uint32_t>(distinct_.size());
      distinct_.push_back(span);
    }
    chosen[sets_->place(op, rank)] = last;
  }
  makespan_ = std::max(makespan_, span.end);
  end_of_rank_[rank] = std::max(end_of_rank_[rank], span.end);
}

}  // namespace lockstep::timeline
