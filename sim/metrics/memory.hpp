#pragma once
/// Memory of one rank over a step, and its peak. Rules: docs/models/memory.md.
#include <cstdint>
#include <vector>

#include "sim/program/program.hpp"
#include "sim/timeline/timeline.hpp"
#include "workloads/step/step_graph.hpp"

namespace lockstep::metrics {

/// Bytes by kind, of one rank.
struct MemoryParts {
  Bytes weights{0}, gradients{0}, optimizer{0}, activations{0};
  Bytes gathered{0}, buffers{0}, workspace{0}, overhead{0};
  Bytes host{0};  ///< not on the chip
  [[nodiscard]] Bytes& of(workloads::MemoryKind kind);
  [[nodiscard]] const Bytes& of(workloads::MemoryKind kind) const;
  [[nodiscard]] Bytes other() const { return gathered + buffers + workspace + overhead; }
  [[nodiscard]] Bytes total() const {
    return weights + gradients + optimizer + activations + other();
  }  ///< on the chip
};

/// The memory held from an instant until the next point of the curve.
struct MemoryPoint : MemoryParts {
  Seconds time{0};
};

/// A block's share of the activations; all microbatches together.
struct BlockActivations {
  std::int32_t block = 0;
  std::int64_t microbatches = 0;
  Bytes size{0};
};

/// The memory at the peak, by parts.
struct MemoryUse : MemoryParts {
  Bytes peak{0};
  Bytes capacity{0};  ///< whether the peak fits into it: studies::fit_of
  Seconds peak_at{0};
  workloads::OpId peak_op = -1;  ///< the operation whose start makes the peak; none if it is there from the beginning
  std::int64_t peak_microbatch = 0;  ///< of that operation, in the whole step
  std::int32_t stage = 0;
  std::int32_t rank = 0;  ///< lane of the program as run
  Bytes weight_padding{0};
  std::vector<BlockActivations> activations_by_block;  ///< at the peak, in model order, without empty ones
};

/// The memory that the ranks of a step hold. One object serves any number of ranks.
class StepMemory {
 public:
  StepMemory(const workloads::StepGraph& step, const program::Program& program, const timeline::Timeline& timeline);
  [[nodiscard]] MemoryUse of(std::int32_t rank, Bytes capacity);
  [[nodiscard]] std::vector<MemoryPoint> curve(std::int32_t rank);  ///< as memory_curve
  /// A buffer that begins, or that ends, with an operation.
  struct Change {
    Seconds time;
    const workloads::Buffer* buffer;
    std::int32_t number;  ///< of the buffer, among the rank's
    bool frees;
    bool at_once;  ///< the operation takes no time
  };
  /// Of the simulated part of the step, in the order in which they happen.
  [[nodiscard]] std::vector<Change> changes(std::int32_t rank) { return changes_on(rank, alive_on(rank)); }

 private:
  /// A buffer on a rank, from the start of its producer to the end of the operation that reads it last.
  struct Alive {
    const workloads::Buffer* buffer;
    workloads::OpId last;  ///< that operation
  };
  [[nodiscard]] std::vector<Alive> alive_on(std::int32_t rank) const;
  [[nodiscard]] std::vector<Change> changes_on(std::int32_t rank, const std::vector<Alive>& buffers);
  /// Calls `see` for every change and `visit` for every point of the rank's curve, in simulated time.
  template <class See, class Visit>
  void for_each_point(std::int32_t rank, const std::vector<Change>& changes, See see, Visit visit) const;
  [[nodiscard]] const workloads::HeldMemory& held_by(std::int32_t rank) const {
    return step_.held[program_.stage_of_rank[rank]];
  }
  void explain(MemoryUse& use, const std::vector<const workloads::Buffer*>& held_then) const;
  const workloads::StepGraph& step_;
  const program::Program& program_;
  const timeline::Timeline& timeline_;
  std::vector<std::vector<const workloads::Buffer*>> buffers_;  ///< by stage: buffers that take memory
  /// The first buffer of a rank that begins with an operation, and the first that ends with it; -1 between uses.
  struct OfOperation {
    std::int32_t begins = -1, ends = -1;
  };
  Indexed<workloads::OpId, OfOperation> of_operation_;
};

/// The curve has a point at time 0 and at every instant at which memory changes, and one for each operation that takes
/// no time (so that no model of time hides what it needs). It adds up the memory held throughout the step and the
/// buffers, each held from the start of its producer to the end of its last reader.
[[nodiscard]] std::vector<MemoryPoint> memory_curve(const workloads::StepGraph& step, const program::Program& program,
                                                    const timeline::Timeline& timeline, std::int32_t rank);
/// The highest point of that curve, the first if there are several.
[[nodiscard]] MemoryUse memory_of(const workloads::StepGraph& step, const program::Program& program,
                                  const timeline::Timeline& timeline, std::int32_t rank, Bytes capacity);

}  // namespace lockstep::metrics
