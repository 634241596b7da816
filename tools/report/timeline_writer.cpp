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

void TimelineWriter::add(const TimelineOp& op) {
  const auto id = static_cast<std::int64_t>(flops_.size());
  for (const auto& [column, text] : {std::pair{"block", &op.block},
                                     {"name", &op.name},
                                     {"detail", &op.detail},
                                     {"kind", &op.kind},
                                     {"pass", &op.pass},
                                     {"axes", &op.axes},
                                     {"reason", &op.reason},
                                     {"algorithm", &op.algorithm}}) {
    columns_[column].push_back(word(*text));
  }
  for (const auto& [column, value] : {std::pair{"microbatch", op.microbatch},
                                      {"bytes", op.bytes},
                                      {"pair", op.pair},
                                      {"befores", static_cast<std::int64_t>(op.before.size())}}) {
    columns_[column].push_back(number(value));
  }
  for (const auto before : op.before) columns_["before"].push_back(number(id - before));
  flops_.push_back(op.flops);
}

Json TimelineWriter::lane(const std::string& name, bool computes, std::span<const TimelineSpan> spans) {
  std::vector<std::uint64_t> gap, length, op, because, because_op, because_rank;
  std::int64_t time = 0, last = 0;
  for (const auto& span : spans) {
    const bool known = span.because != TimelineSpan::Because::nothing;
    gap.push_back(number(span.start - time));
    length.push_back(number(span.end - span.start));
    op.push_back(without_sign(span.op - last));
    because.push_back(number(static_cast<std::int64_t>(span.because)));
    because_op.push_back(known ? without_sign(span.op - span.because_op) : 0);
    because_rank.push_back(number(span.because_rank + 1));
    time = span.end;
    last = span.op;
  }
  return {{"name", name},
          {"computes", computes},
          {"gap", data_.whole(gap)},
          {"length", data_.whole(length)},
          {"op", data_.whole(op)},
          {"because", data_.whole(because)},
          {"because_op", data_.whole(because_op)},
          {"because_rank", data_.whole(because_rank)}};
}

Json TimelineWriter::run(const std::string& name, std::int64_t end, Json groups) {
  Json ops = {{"flops", data_.real(flops_)}};
  for (const auto& [column, values] : columns_) ops[column] = data_.whole(values);
  return {
      {"name", name}, {"end_ns", end}, {"groups", std::move(groups)}, {"ops", std::move(ops)}, {"words", word_list_}};
}

}  // namespace lockstep::report
