#pragma once
/// Timelines as the report page reads them (web/src/timeline/model.js): operations, and lanes of their spans.
#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "tools/report/report_data.hpp"

namespace lockstep::report {

/// What operations that do the same work have in common.
struct TimelineWork {
  std::string block, name, detail, kind, pass;
  std::string axes;  ///< of communication; "" computes
  std::string reason, algorithm;
  std::int64_t bytes = 0;
  double flops = 0;
};

struct TimelineOp {
  std::int64_t microbatch = 0;
  std::int64_t pair = 0;             ///< not 0: a half of an overlapped pair
  std::vector<std::int64_t> before;  ///< operations that it needs
};

/// Whole nanoseconds, or other ticks that the panel names; in copies of a period, times of the first one.
struct TimelineSpan {
  std::int64_t start, end;
  std::int64_t op;
  enum class Because {
    nothing,
    needs,
    lane
  } because = Because::nothing;  ///< it needed because_op, or because_op held a lane of it
  std::int64_t because_op = -1;
  std::int64_t because_rank = -1;  ///< -1: on this rank
  std::int64_t copy = 0;           ///< so many periods later
};

class TimelineWriter {
 public:
  explicit TimelineWriter(ReportData& data) : data_(data) {}

  /// Work that operations share, by a number of its own.
  [[nodiscard]] std::size_t share(const TimelineWork& work);
  /// Operations are numbered as they are added. `work`: its number, or one that no other operation does.
  void add(std::size_t work, const TimelineOp& op) { add(shared_[work], op); }
  void add(const TimelineWork& work, const TimelineOp& op) { add(row_of(work), op); }
  /// Spans in order of time that do not overlap; copies may where they meet, by rounding.
  [[nodiscard]] ReportData::Json lane(const std::string& name, bool computes, std::span<const TimelineSpan> spans);
  /// {name, end_ns, period_ns, groups, ops, words}; groups are {name, note, lanes}.
  [[nodiscard]] ReportData::Json run(const std::string& name, std::int64_t end, double period, ReportData::Json groups);

 private:
  std::uint64_t word(const std::string& text);

  ReportData& data_;
  std::unordered_map<std::string, std::uint64_t> words_{{"", 0}};
  std::vector<std::string> word_list_{""};
  /// By the alphabet, as the page's document has them.
  enum Column : std::size_t {
    algorithm,
    axes,
    before,
    befores,
    block,
    bytes,
    detail,
    flops,
    kind,
    microbatch,
    named,
    pair,
    pass,
    reason,
    columns
  };
  static constexpr std::array<const char*, columns> column_names{
      "algorithm", "axes", "before",     "befores", "block", "bytes", "detail",
      "flops",     "kind", "microbatch", "name",    "pair",  "pass",  "reason"};
  using Row = std::array<std::uint64_t, columns>;
  [[nodiscard]] Row row_of(const TimelineWork& work);
  void add(Row row, const TimelineOp& op);

  std::vector<Row> shared_;  ///< what operations of one work have in their columns; 0 in those of their own
  std::array<std::vector<std::uint64_t>, columns> columns_;
  std::map<double, std::uint64_t> flops_;  ///< few: an operation has those of its layer
  std::vector<double> flops_list_;
};

}  // namespace lockstep::report
