#pragma once
/// A step, its program and its timeline drawn by hand: operation by operation, with the span of every rank.
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

  OpId compute(const Drawn& spans) { return add({}, spans); }

  OpId collective(const AxisNames& axes, const Drawn& spans, Bytes full_size = Bytes(0),
                  CollectiveKind kind = CollectiveKind::all_gather) {
    StepOp op;
    op.kind = StepOp::Kind::collective;
    op.axes = axes;
    op.collective = kind;
    op.full_size = full_size;
    return add(std::move(op), spans);
  }

  /// Any operation, with those that it waited for.
  OpId add(StepOp op, const Drawn& spans, std::vector<OpId> predecessors = {}) {
    ProgramOp lowered;
    lowered.kind = op.kind == StepOp::Kind::compute ? ProgramOp::Kind::compute : ProgramOp::Kind::collective;
    lowered.stage = op.stage;
    const auto id = step.add(std::move(op));
    lowered.vertex = id;
    lowered.predecessors = std::move(predecessors);
    program.ops.push_back(std::move(lowered));
    spans_.push_back(spans);
    return id;
  }

  /// A rank with start < 0 takes no part.
  [[nodiscard]] Timeline timeline() const {
    Timeline result(static_cast<std::int32_t>(spans_.size()), ranks_);
    for (std::size_t op = 0; op < spans_.size(); ++op) {
      for (std::size_t rank = 0; rank < spans_[op].size(); ++rank) {
        const auto [start, end] = spans_[op][rank];
        if (start >= 0) result.record(static_cast<std::int32_t>(op), static_cast<std::int32_t>(rank), {Seconds(start), Seconds(end)});
      }
    }
    return result;
  }

  StepGraph step;
  Program program;

 private:
  std::int32_t ranks_;
  std::vector<Drawn> spans_;
};

}  // namespace lockstep::test
