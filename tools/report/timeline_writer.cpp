#include "tools/report/timeline_writer.hpp"

#include <utility>

namespace lockstep::report {
namespace {

using Json = ReportData::Json;

std::uint64_t number(std::int64_t value) { return static_cast<std::uint64_t>(value); }

}  // namespace

std::uint64_t TimelineWriter::word(const std::string& text) {
  const auto [found, is_new] = words_.try_emplace(text, word_list_.size());
  if (is_new) word_list_.push_back(text);
  return found->second;
}

std::size_t TimelineWriter::share(const TimelineWork& work) {
  shared_.push_back(row_of(work));
  return shared_.size() - 1;
}

TimelineWriter::Row TimelineWriter::row_of(const TimelineWork& work) {
  Row row{};
  for (const auto& [column, text] : {std::pair{block, &work.block},
                                     {named, &work.name},
                                     {detail, &work.detail},
                                     {kind, &work.kind},
                                     {pass, &work.pass},
                                     {axes, &work.axes},
                                     {reason, &work.reason},
                                     {algorithm, &work.algorithm}}) {
    row[column] = word(*text);
  }
  row[bytes] = number(work.bytes);
  const auto [found, is_new] = flops_.try_emplace(work.flops, flops_list_.size());
  if (is_new) flops_list_.push_back(work.flops);
  row[flops] = found->second;
  return row;
}

void TimelineWriter::add(Row row, const TimelineOp& op) {
  auto last = std::ssize(columns_[named]);  // neighbours in a list are near one another
  for (const auto earlier : op.before) columns_[before].push_back(without_sign(std::exchange(last, earlier) - earlier));
  row[microbatch] = number(op.microbatch);
  row[pair] = number(op.pair);
  row[befores] = op.before.size();
  for (std::size_t column = 0; column < columns; ++column) {
    if (column != before) columns_[column].push_back(row[column]);
  }
}

Json TimelineWriter::lane(const std::string& name, bool computes, std::span<const TimelineSpan> spans) {
  std::vector<std::uint64_t> gap, length, copy, op, because, because_op, because_rank;
  std::int64_t time = 0, last_copy = 0, last = 0;
  for (const auto& span : spans) {
    const bool known = span.because != TimelineSpan::Because::nothing;
    gap.push_back(without_sign(span.start - time));
    length.push_back(number(span.end - span.start));
    copy.push_back(without_sign(span.copy - last_copy));
    op.push_back(without_sign(span.op - last));
    because.push_back(number(static_cast<std::int64_t>(span.because)));
    because_op.push_back(known ? without_sign(span.op - span.because_op) : 0);
    because_rank.push_back(number(span.because_rank + 1));
    time = span.end;
    last_copy = span.copy;
    last = span.op;
  }
  return {{"name", name},
          {"computes", computes},
          {"gap", data_.repeating(gap)},
          {"length", data_.repeating(length)},
          {"copy", data_.repeating(copy)},
          {"op", data_.repeating(op)},
          {"because", data_.repeating(because)},
          {"because_op", data_.repeating(because_op)},
          {"because_rank", data_.repeating(because_rank)}};
}

Json TimelineWriter::run(const std::string& name, std::int64_t end, double period, Json groups) {
  Json ops;
  for (std::size_t column = 0; column < columns; ++column) {
    const bool grows = column == microbatch || column == pair;  // from copy to copy of a period
    ops[column_names[column]] = grows ? data_.growing(columns_[column]) : data_.repeating(columns_[column]);
  }
  return {{"name", name},
          {"end_ns", end},
          {"period_ns", period},
          {"groups", std::move(groups)},
          {"ops", std::move(ops)},
          {"words", word_list_},
          {"flops", data_.real(flops_list_)}};
}

}  // namespace lockstep::report
