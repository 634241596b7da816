#include "sim/timeline/timeline.hpp"

#include <algorithm>

namespace lockstep::timeline {

namespace {

std::size_t at(std::int32_t index) { return static_cast<std::size_t>(index); }

}  // namespace

Timeline::Timeline(std::int32_t ops, std::int32_t ranks)
    : ranks_(ranks), spans_(at(ops)), took_part_(at(ops) * at(ranks), false) {}

void Timeline::record(std::int32_t op, std::int32_t rank, Interval span) {
  auto& spans = spans_[at(op)];
  if (spans.differing == nobody) spans = {span, all_agree};
  if (spans.differing == all_agree && spans.first != span) {
    spans.differing = static_cast<std::int32_t>(differing_.size());
    differing_.push_back({{spans.first}, std::vector<std::int32_t>(at(ranks_), 0)});
  }
  if (spans.differing >= 0) {
    auto& [distinct, chosen] = differing_[at(spans.differing)];
    // Ranks that agree are mostly recorded in a row: comparing with the last span is enough to share.
    if (distinct.back() != span) distinct.push_back(span);
    chosen[at(rank)] = static_cast<std::int32_t>(distinct.size()) - 1;
  }
  took_part_[place(op, rank)] = true;
  makespan_ = std::max(makespan_, span.end);
}

}  // namespace lockstep::timeline
