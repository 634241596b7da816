#include "sim/timeline/timeline.hpp"

#include <algorithm>

namespace lockstep {

namespace {

std::size_t at(std::int32_t index) { return static_cast<std::size_t>(index); }

}  // namespace

Timeline::Timeline(std::int32_t ops, std::int32_t ranks) : ranks_(ranks), spans_(at(ops)), took_part_(at(ops) * at(ranks), false) {}

void Timeline::record(std::int32_t op, std::int32_t rank, Interval span) {
  Spans& spans = spans_[at(op)];
  if (spans.distinct.empty()) spans.distinct.push_back(span);
  // Ranks that agree are mostly recorded in a row: comparing with the last span is enough to share.
  if (spans.distinct.back() != span) {
    if (spans.chosen.empty()) spans.chosen.assign(at(ranks_), 0);
    spans.distinct.push_back(span);
  }
  took_part_[place(op, rank)] = true;
  if (!spans.chosen.empty()) spans.chosen[at(rank)] = static_cast<std::int32_t>(spans.distinct.size()) - 1;
  makespan_ = std::max(makespan_, span.end);
}

Interval Timeline::span(std::int32_t op, std::int32_t rank) const {
  const Spans& spans = spans_[at(op)];
  return spans.chosen.empty() ? spans.distinct.front() : spans.distinct[at(spans.chosen[at(rank)])];
}

bool Timeline::uniform(std::int32_t op) const { return spans_[at(op)].chosen.empty(); }

}  // namespace lockstep
