#pragma once
/// A block under a plan: the compute steps and derived collectives of its forward, backward and update,
/// once for all layers of the kind and all ranks (SPMD).
#include <array>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "workloads/layers/block.hpp"
#include "workloads/sharded_layers/kept_format.hpp"
#include "workloads/sharded_layers/kernel.hpp"
#include "workloads/sharded_layers/muon.hpp"
#include "workloads/sharded_layers/plan.hpp"
#include "workloads/sharding/derive.hpp"

namespace lockstep::workloads {

/// The purpose of a collective; decides its priority on a stream and how it is grouped.
enum class CollectiveRole { activation, weight, gradient };

/// The kinds of data in memory. All but `host` is on the chip.
enum class MemoryKind {
  weights,    ///< as stored
  gradients,  ///< accumulated, and contributions that wait for their reduction
  optimizer,
  activations,  ///< outputs of operations, gathered ones too, and their gradients
  gathered,     ///< weights gathered for a pass
  buffers,      ///< copies that collectives send from
  workspace,    ///< of an operation while it runs
  overhead,     ///< the framework's own, as the user says
  host          ///< moved to the host's memory
};
inline constexpr std::array all_memory_kinds{MemoryKind::weights,     MemoryKind::gradients, MemoryKind::optimizer,
                                             MemoryKind::activations, MemoryKind::gathered,  MemoryKind::buffers,
                                             MemoryKind::workspace,   MemoryKind::overhead,  MemoryKind::host};
[[nodiscard]] std::string_view name(MemoryKind kind);

// Times that a scenario states, or that follow from sizes and one rate of the host.

/// The origin of a given time.
enum class GivenTime {
  measured,     ///< replayed, whatever chip or network
  host_link,    ///< bytes over the link between a chip and its host
  host_memory,  ///< bytes that the host reads and writes
  overhead      ///< of a step
};
/// The work of an operation. In the step's graph the operations of all layers, stages and microbatches that do the same
/// work share one StepWork.
struct StepWork {
  enum class Kind { compute, collective };
  Kind kind = Kind::compute;
  std::string name;    ///< "query projection", "AllGather_fsdp Wq Wk Wv ..."
  std::string detail;  ///< shapes of a compute step, derivation of a collective
  ComputeWork work = ComputeWork::memory;
  KernelShape shape{};  ///< compute: of products and attention
  Flops flops{0};       ///< compute: of one rank
  Bytes traffic{0};     ///< compute: bytes one rank reads and writes in memory
  Bytes casts{0};       ///< products in 8 bits: bytes that a kernel before it moves to make its operand
  Bytes indexed{0};     ///< compute: of the traffic, rows that are read or written where an index says
  Bytes added{0};       ///< products: of the traffic, gradients of earlier microbatches and their sums with these

  CollectiveKind collective{};
  AxisNames axes;
  Bytes full_size{0};
  TokenCopies copies{};  ///< of an all-to-all to or from experts
  CollectiveRole role = CollectiveRole::activation;
  std::string reason;

  std::optional<Seconds> given_time;  ///< it takes this long, whatever else runs
  GivenTime given = GivenTime::measured;
  std::string stream;  ///< where it runs; empty: the compute stream, or those of its axes
};

[[nodiscard]] inline Kernel kernel_of(const StepWork& step) {
  return {step.work, step.flops, step.traffic, step.shape, step.casts, step.indexed, step.added};
}

struct BlockStep : StepWork {
  std::vector<int> after;  ///< steps of the same pass it waits for; `outside` stands for the pass's input
  std::vector<int> saved;  ///< backward: forward steps whose output it reads (or `outside`: the block's input)
  Bytes output{0};         ///< what it leaves in one rank's memory
  MemoryKind output_kind = MemoryKind::activations;
  Bytes workspace{0};    ///< what it needs in one rank's memory while it runs
  Bytes for_earlier{0};  ///< gradients of keys and values of earlier slices, until the slice before has added its own
  bool routed = false;   ///< its work and bytes are those of the tokens that come to a rank's experts
  /// Attention: the tokens that see each other, so that its work follows from how long documents are.
  std::optional<LayerKind> attends = {};
  bool travels = false;  ///< collective: keys and values on their way around the context axis

  static constexpr int outside = -1;

  [[nodiscard]] bool gathers_weights() const { return kind == Kind::collective && role == CollectiveRole::weight; }
};
using BlockStepId = int;  ///< position of a step in its pass
using BlockSteps = Indexed<BlockStepId, BlockStep>;

/// Gradient of one weight: the backward steps that end it, and what still has to happen after the last microbatch.
struct WeightUpdate {
  std::string weight;
  std::int64_t parameters;  ///< of one copy
  Bytes stored;   ///< one rank's shard as stored, padding included, and the copies of it that are kept in fewer bytes
  Bytes padding;  ///< of stored, on the average rank
  Bytes stored_element{2};          ///< of stored, without those copies
  std::int64_t gradient_elements;   ///< one rank's accumulated gradient
  std::int64_t optimizer_elements;  ///< one rank's optimizer shard
  std::int64_t factored_elements =
      0;                    ///< sums over its rows and over its columns, on one rank's optimizer shard (Adafactor)
  AxisNames split_over;     ///< axes that split the optimizer shard
  MuonMatrices matrices{};  ///< of products in layers
  std::vector<int> gradient_steps;                 ///< backward steps that complete it within one microbatch
  std::vector<DerivedCollective> each_microbatch;  ///< its chain of gradient collectives
  std::vector<DerivedCollective> last_microbatch;  ///< from the accumulated to the optimizer's sharding
  std::vector<DerivedCollective> publish;          ///< updated weights, back to the stored sharding
};

/// A backward step that adds to the gradient of a weight that an earlier block owns.
struct TiedGradient {
  std::string weight;
  int step;
};

/// A step of one of the two passes that an overlapped pair runs side by side.
struct PairTurn {
  bool forward;
  int step;
};

struct ShardedLayer {
  std::string name;
  bool is_layer = false;  ///< one of the layers that a pipeline's stages share out
  BlockSteps forward;
  BlockSteps backward;
  std::vector<int> output_steps;          ///< forward steps the next block waits for
  std::vector<int> input_gradient_steps;  ///< backward steps the previous block waits for
  Bytes input_bytes{0};                   ///< the block's input as it arrives, on one rank
  Bytes choice_bytes{0};  ///< with an index of the layer before: the choice that comes with the input, on one rank
  AxisNames input_copied_over;    ///< axes along which all ranks have the same input
  std::int64_t input_copies = 1;  ///< ranks that have it
  std::vector<WeightUpdate> weights;
  std::vector<TiedGradient> tied_gradients;
  /// How a forward and a backward of such blocks share the compute stream in an overlapped pair: all steps of both,
  /// in order; the pair starts when the inputs of both are there. Empty: each pass has its own order, and whichever is
  /// ready goes on.
  std::vector<PairTurn> pair_turns;
  [[nodiscard]] std::string to_string() const;  ///< the derivation as the book would write it
};
using ShardedLayers = Indexed<KindId, ShardedLayer>;

/// Activations that the backward computes again instead of keeping them. `all`: the block's whole forward runs again,
/// from its input; else what the named parts leave, as far as the backward needs it (core attention: what it keeps
/// inside); `kept`: likewise everything but the results of these operations.
struct Recompute {
  bool all = false;
  std::set<OpPart> parts{};
  std::set<std::string> kept{};
  [[nodiscard]] bool any() const { return all || !parts.empty() || !kept.empty(); }
  friend bool operator==(const Recompute&, const Recompute&) = default;
};

/// How attention sees the whole sequence where an axis splits it.
enum class ContextAttention {
  ring,        ///< keys and values travel around while the ranks attend to those at hand
  all_gather,  ///< keys and values are gathered first
  all_to_all   ///< heads are split instead while attention runs (Ulysses)
};

struct DerivePolicy {
  Bytes activation_element{2};
  Bytes weight_element{2};  ///< as products read them, and collectives carry them
  Bytes stored_element{2};  ///< as ranks keep them: the same, or fp32 alone, cast where they are used
  Bytes gradient_element{2};
  bool causal = true;
  std::int64_t earlier_tokens =
      0;  ///< of the sequence, before the slice of it that is derived: its attention sees them
  std::int32_t sharing_slices =
      0;  ///< slices of a sequence whose attention the stages of the pipeline share out evenly (SlimPipe); 0: none
  bool regather_weights = true;          ///< weights gathered for the forward are freed and gathered again
  bool share_activation_gathers = true;  ///< activations gathered in the forward are kept for the backward
  bool collective_matmul = false;        ///< activation collectives overlap the products they belong to
  ContextAttention context_attention = ContextAttention::all_gather;
  bool balanced_context =
      true;               ///< ranks hold an early and a late piece of the sequence each (zig-zag): causal work is even
  Recompute recompute{};  ///< of layers
  TokenCopies token_copies{};      ///< of all-to-alls to and from experts
  bool counted_slots = true;       ///< an expert has as many slots as tokens come to it; else its capacity
  bool one_hot_slots = false;      ///< tokens come to their slots and back by products with masks, not by their index
  std::int64_t rows_multiple = 1;  ///< to which each expert's tokens are filled up for its products
  bool filled_by_copies = false;   ///< by a copy of all rows before the products and one after; else as routed
  bool grouped_products = false;   ///< GPUs: products of a rank's experts are one kernel, not one for each expert
  Seconds counts_wait{0};          ///< for which the host waits for the counts of tokens before it can go on
  /// In which layers keep what weight gradients, activation functions of MLPs and products that run again read; none:
  /// as it is.
  std::optional<KeptFormat> kept{};
  bool kept_for_functions = true;  ///< `kept` holds for inputs of activation functions of MLPs too; else as they are
  /// In which they keep what attention leaves, which its own backward reads too; none: as it is.
  std::optional<KeptFormat> kept_attention{};
  Bytes loss_element{4};           ///< cross-entropy's workspace for a logit, while it runs
  std::int64_t loss_tiles = 1;     ///< the unembedding and the loss run on one part of the tokens after the other
  bool loss_again = false;         ///< the backward computes the logits again, instead of keeping their gradient
  Bytes dispatch_element{2};       ///< in which tokens travel to their experts, and gradients of the experts' results
  Bytes operand_element{2};        ///< in which products of layers get what other ranks hold of their operands
  bool accumulates = false;        ///< a step has several microbatches: their weight gradients are added up
  double elementwise_traffic = 1;  ///< bytes that norms and activation functions move, over those of fused kernels
};

/// Derives one block. `arrives` is the sharding in which the block before leaves its output (for the
/// first block, the block input's own). Throws ShardingError.
[[nodiscard]] ShardedLayer derive_layer(const Block& block, const Plan& plan, const Sizes& sizes,
                                        const ShardedTensor& arrives, const DerivePolicy& policy);

}  // namespace lockstep::workloads
