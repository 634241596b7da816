#pragma once
/// The SPMD DAG of one training step: a vertex is one operation of *all* ranks of a stage, so the size does not depend
/// on the number of chips. Vertices are numbered in program order, which is topological. Boost.Graph stores it.
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sim/core/small_list.hpp"
#include "workloads/pipeline/cell_turns.hpp"
#include "workloads/sharded_layers/sharded_layer.hpp"

namespace lockstep::workloads {

using OpId = std::int32_t;
using BufferId = std::int32_t;  ///< position in StepGraph::buffers

enum class StepPass : std::uint8_t { forward, backward, update };
[[nodiscard]] std::string_view name(StepPass pass);

/// Work at its place: `op->name` says what is done, `op.stage` where.
struct StepOp {
  using Kind = StepWork::Kind;
  const StepWork* what = nullptr;  ///< one of its graph's
  StepPass pass = StepPass::forward;
  std::int32_t stage = 0;  ///< place on the pipeline whose ranks run it; every_stage: all of them
  std::int32_t other_stage =
      -1;                 ///< a collective between two places of the pipeline: the second (of a send, the receiver)
  std::int32_t pair = 0;  ///< of a forward and a backward that overlap, from 1 on; 0: none
  std::int32_t half = 0;  ///< 2 pair - 1 and 2 pair: the halves of a pair that do not wait for each other; 0: none such
  std::int32_t block = 0;  ///< position in the model's block order
  std::int32_t microbatch = 0;
  const StepWork* operator->() const { return what; }

  static constexpr std::int32_t every_stage = -1;
};

/// Whether two operations do the same at the same place, for whatever microbatch.
[[nodiscard]] inline bool same_work(const StepOp& a, const StepOp& b) {
  return a.what == b.what && a.pass == b.pass && a.stage == b.stage && a.other_stage == b.other_stage &&
         a.block == b.block;
}

using Readers = SmallList<OpId>;

/// Memory of one rank of a stage from the start of `producer` to the end of the last reader (or of the producer).
struct Buffer {
  MemoryKind kind;
  Bytes size;
  OpId producer;
  Readers readers;
  std::int32_t stage = 0;
};

/// Memory that one rank of a stage holds throughout the step.
struct HeldMemory {
  Bytes weights{0};
  Bytes weight_padding{0};  ///< of weights: shards that the axes do not divide
  Bytes optimizer{0};
  Bytes overhead{0};
  Bytes host{0};         ///< in its share of the host's memory
  Bytes outer_state{0};  ///< of optimizer, or of host: what the outer optimizer of local updates keeps
  Bytes buffers{0};      ///< outer gradients under way
};

/// Where the operations of a cell of the pipeline's order begin; they end where those of the next cell do.
struct CellOps {
  CellPlace cell;
  OpId first;
};

class StepGraph {
 public:
  struct Graph;  // Boost.Graph inside
  StepGraph();
  StepGraph(StepGraph&&) noexcept;
  StepGraph& operator=(StepGraph&&) noexcept;
  ~StepGraph();

  void expect(std::size_t operations);  ///< reserves memory for about this many
  /// Stores work that operations can share; the reference stays valid.
  const StepWork* share(StepWork work);
  OpId add(const StepOp& op);
  /// Adds an operation that depends on others.
  OpId add(const StepOp& op, std::span<const OpId> after);
  /// `before` must have been added before `after`; a repeated dependency is kept once.
  void depend(OpId after, OpId before);

  [[nodiscard]] std::int32_t size() const;
  [[nodiscard]] const StepOp& op(OpId id) const;
  [[nodiscard]] std::vector<OpId> predecessors(OpId id) const;
  /// The same without a copy; valid until an operation or a dependency is added.
  [[nodiscard]] std::span<const OpId> waits_for(OpId id) const;
  void for_each_predecessor(OpId id, const std::function<void(OpId)>& visit) const;
  [[nodiscard]] std::int64_t dependencies() const;

  Indexed<BufferId, Buffer> buffers;          ///< memory that comes and goes during the step
  std::vector<CellOps> cells;                 ///< in the order in which they were written
  OpId first_update = 0;                      ///< one past the operations of the last cell
  bool host_waits_for_transfers = false;      ///< as StepOptions says, in a pipeline of several places
  Indexed<BlockId, std::string> block_names;  ///< "embedding", "layer 0", ...
  Indexed<StageId, HeldMemory> held{HeldMemory{}};
  std::int64_t parameters = 0;  ///< of one copy of the model

  [[nodiscard]] std::string to_string() const;  ///< for --dump=step
 private:
  std::unique_ptr<Graph> graph_;
  std::deque<StepWork> works_;
};

}  // namespace lockstep::workloads
