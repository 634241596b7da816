#pragma once
/// The SPMD DAG of one training step: a vertex is one operation of *all* ranks of a stage, so the size
/// does not depend on the number of chips. Vertices are numbered in program order, which is topological.
/// Boost.Graph holds it inside.
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "workloads/derived_block.hpp"

namespace lockstep {

using OpId = std::int32_t;

enum class StepPass { forward, backward, update };
[[nodiscard]] std::string_view name(StepPass pass);

struct StepOp {
  enum class Kind { compute, collective };
  Kind kind = Kind::compute;
  StepPass pass = StepPass::forward;
  std::int32_t stage = 0;         ///< place on the pipeline whose ranks run it; every_stage: all of them
  std::int32_t other_stage = -1;  ///< a collective between two places of the pipeline: the second (of a send, the receiver)
  std::int32_t pair = 0;          ///< of a forward and a backward that overlap, from 1 on; 0: none
  std::int32_t half = 0;          ///< 2 pair - 1 and 2 pair: the halves of a pair that do not wait for each other; 0: none such
  std::int32_t block = 0;       ///< position in the model's block order
  std::int32_t microbatch = 0;
  std::string name;             ///< "query projection", "AllGather_fsdp Wq Wk Wv ..."
  std::string detail;           ///< shapes, or what a collective turns into what
  ComputeWork work = ComputeWork::memory;
  KernelShape shape{};          ///< compute: of products and attention
  Flops flops{0};               ///< compute: of one rank
  Bytes traffic{0};             ///< compute: memory bytes one rank moves
  Bytes casts{0};               ///< products in 8 bits: bytes that a kernel before it moves to make its operand
  CollectiveKind collective{};
  AxisNames axes;
  Bytes full_size{0};
  TokenCopies copies{};         ///< of an all-to-all to or from experts
  CollectiveRole role = CollectiveRole::activation;
  std::string reason;
  std::optional<Seconds> given_time;  ///< it takes this long, whatever chip or network (replayed measurements)
  std::string stream;                 ///< where it runs; empty: the compute stream, or those of its axes

  static constexpr std::int32_t every_stage = -1;
};

/// Memory of one rank of a stage from the start of `producer` to the end of the last reader (or of the producer).
struct Buffer {
  MemoryKind kind;
  Bytes size;
  OpId producer;
  std::vector<OpId> readers;
  std::int32_t stage = 0;
};

/// What one rank of a stage holds throughout.
struct HeldMemory {
  Bytes weights{0};
  Bytes weight_padding{0};  ///< of weights: shards that the axes do not divide
  Bytes optimizer{0};
  Bytes overhead{0};
  Bytes host{0};            ///< in its share of the host's memory
};

class StepGraph {
 public:
  struct Graph;  // Boost.Graph inside
  StepGraph();
  StepGraph(StepGraph&&) noexcept;
  StepGraph& operator=(StepGraph&&) noexcept;
  ~StepGraph();

  OpId add(StepOp op);
  /// `before` must have been added before `after`; a repeated dependency is kept once.
  void depend(OpId after, OpId before);

  [[nodiscard]] std::int32_t size() const;
  [[nodiscard]] const StepOp& op(OpId id) const;
  [[nodiscard]] std::vector<OpId> predecessors(OpId id) const;
  [[nodiscard]] std::int64_t dependencies() const;

  std::vector<Buffer> buffers;          ///< memory that comes and goes during the step
  std::vector<std::string> block_names; ///< by block position: "embedding", "layer 0", ...
  std::vector<HeldMemory> held{1};      ///< by stage
  std::int64_t parameters = 0;          ///< of one copy of the model

  [[nodiscard]] std::string to_string() const;  ///< for --dump=step
 private:
  std::unique_ptr<Graph> graph_;
};

}  // namespace lockstep
