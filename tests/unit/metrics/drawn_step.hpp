#pragma once
/// A step, its program and its timeline drawn by hand: operation by operation, with the span of every rank.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "sim/metrics/metrics.hpp"

namespace lockstep::test {

class DrawnStep {
 public:
  using Drawn = std::vector<std::pair<double, double>>;  ///< start and end in s by rank

  explicit DrawnStep(std::int32_t ranks) : ranks_(ranks) {
    program.streams = {"compute", "x", "y"};
    program.stage_of_rank.assign(static_cast<std::size_t>(ranks), 0);
  }

  workloads::OpId compute(const Drawn& spans) { return add({}, spans); }

  workloads::OpId collective(const workloads::AxisNames& axes, const Drawn& spans, Bytes full_size = Bytes(0),
                             workloads::CollectiveKind kind = workloads::CollectiveKind::all_gather) {
    workloads::StepWork work;
    work.kind = workloads::StepWork::Kind::collective;
    work.axes = axes;
    work.collective = kind;
    work.full_size = full_size;
    return add(std::move(work), spans);
  }

  /// Any operation, with those that it waited for.
  workloads::OpId add(workloads::StepWork work, const Drawn& spans,
                      const std::vector<workloads::OpId>& predecessors = {}, workloads::StepOp op = {}) {
    program::ProgramOp lowered;
    lowered.kind = work.kind == workloads::StepWork::Kind::compute ? program::ProgramOp::Kind::compute
                                                                   : program::ProgramOp::Kind::collective;
    lowered.stage = op.stage;
    op.what = step.share(std::move(work));
    const auto id = step.add(op);
    lowered.vertex = id;
    lowered.predecessors.assign(predecessors.begin(), predecessors.end());
    program.ops.push_back(std::move(lowered));
    spans_.push_back(spans);
    return id;
  }

  /// A rank with start < 0 takes no part.
  [[nodiscard]] timeline::Timeline timeline() const {
    std::vector<timeline::RankSets::Ranks> ranks(spans_.size());
    std::vector<std::int32_t> set_of_op;
    for (std::size_t op = 0; op < spans_.size(); ++op) {
      set_of_op.push_back(static_cast<std::int32_t>(op));
      for (std::size_t rank = 0; rank < spans_[op].size(); ++rank) {
        if (spans_[op][rank].first >= 0) ranks[op].push_back(static_cast<std::int32_t>(rank));
      }
    }
    timeline::Timeline result(std::make_shared<const timeline::RankSets>(ranks_, std::move(ranks), set_of_op));
    for (std::size_t op = 0; op < spans_.size(); ++op) {
      for (std::size_t rank = 0; rank < spans_[op].size(); ++rank) {
        const auto [start, end] = spans_[op][rank];
        if (start >= 0)
          result.record(static_cast<std::int32_t>(op), static_cast<std::int32_t>(rank), {Seconds(start), Seconds(end)});
      }
    }
    return result;
  }

  workloads::StepGraph step;
  program::Program program;

 private:
  std::int32_t ranks_;
  std::vector<Drawn> spans_;
};

}  // namespace lockstep::test
