#pragma once
/// The derivation of one block while it runs: every array in the versions made so far, and the two passes.
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "workloads/sharded_layers/sharded_layer_pass_private.hpp"

namespace lockstep::workloads {

class BlockDerivation {
 public:
  BlockDerivation(const Block& block, const Plan& plan, const Sizes& sizes, const ShardedTensor& arrives,
                  const DerivePolicy& policy);
  ShardedLayer run();
  /// Weights alone, without steps.
  ShardedLayer run_for_weights();

 private:
  using Versions = std::map<std::string, std::vector<Version>>;
  using Collectives = std::vector<DerivedCollective>;

  [[nodiscard]] const ShardedTensor& crossing(const std::string& tensor) const { return plan_.activations.at(tensor); }
  [[nodiscard]] Bytes bytes(const ShardedTensor& tensor) const;
  [[nodiscard]] Collectives settled(const ShardedTensor& from, const ShardedTensor& to) const;  ///< of an activation
  [[nodiscard]] Collectives in_element(Collectives collectives,
                                       Bytes element) const;  ///< derived for activations, of another size
  static ShardedTensor renamed(ShardedTensor tensor, const std::string& name);
  static ShardedTensor gradient_of(ShardedTensor tensor);

  // sharded_layer.cpp: weights and the block's edges
  void refuse_bad_plan() const;
  void write_weights();
  void receive_input();
  void hand_back_input_gradient();

  // sharded_layer_arrays.cpp: arrays in the sharding that an operation needs
  Version obtain(Pass& pass, std::vector<Version>& list, const ShardedTensor& wanted, const Collectives& collectives,
                 CollectiveRole role, Bytes element);
  /// An activation for the operation that is written: in the forward, in the backward, or when the forward runs again.
  /// `compact`: a copy in fewer bytes will do, if the policy keeps one.
  Version activation(const std::string& tensor, const ShardedTensor& wanted, const Collectives& collectives,
                     Reads& reads, bool compact = false);
  Version activation_in_backward(const std::string& tensor, const ShardedTensor& wanted, const Collectives& collectives,
                                 Reads& reads, bool compact = false);
  /// In which the array may be kept for such a reader; none: as it is.
  [[nodiscard]] std::optional<KeptFormat> kept_format(const std::string& tensor, bool compact) const;
  int compact_copy(const std::string& tensor, const Version& version, const KeptFormat& format);
  StepIds compact_in_backward(const Version& version);  ///< of what the backward has made, for gradients of weights
  void drop_second_copies();
  Version weight(const std::string& name, const ShardedTensor& wanted, const Collectives& collectives, Reads& reads);
  Version weight_in_backward(const std::string& name, const ShardedTensor& wanted, const Collectives& collectives,
                             Reads& reads);
  /// The version that the producing operation made.
  const Version& source(const std::string& tensor);
  Version& finished_gradient(const std::string& tensor);
  Version gradient(const std::string& tensor, const ShardedTensor& wanted, const Collectives& collectives,
                   Reads& reads);
  /// The same with the collectives that settling takes, and waiting for them.
  void read(const std::string& tensor, const ShardedTensor& wanted, Reads& reads, bool compact = false);
  void read_in_backward(const std::string& tensor, const ShardedTensor& wanted, Reads& reads, bool compact = false);
  void read_gradient(const std::string& tensor, const ShardedTensor& wanted, Reads& reads);
  Version overlapped(Pass& pass, Version result, bool has_collectives) const;
  void wait_for_start_of(const Version& gathered, const Version& source, Reads& reads) const;

  // sharded_layer_again.cpp: what the backward computes again
  [[nodiscard]] bool dropped(const BlockOp& op) const;
  [[nodiscard]] bool dropped(const std::string& tensor) const;
  [[nodiscard]] bool drops_inside(const BlockOp& op) const;
  void compute_again(const std::string& tensor);
  void compute_all_again();
  /// Keeps the data that an operation holds for its own backward: a dropout's mask, scores of unfused attention.
  void keep_inside(const BlockOp& op, int step, Bytes size);
  void read_inside(const BlockOp& op, Reads& reads);

  // sharded_layer_product.cpp: matrix products and look-ups
  void tag(BlockStep& step, const BlockOp& op, const Derivation& derived) const;
  void forward_product(const BlockOp& op);
  void backward_input(const BlockOp& op);
  void backward_weight(const BlockOp& op);
  void in_tiles(const BlockOp& op, BlockStep& step, std::int64_t KernelShape::*tokens, Bytes each_time) const;
  [[nodiscard]] Derivation weight_gradient(const BlockOp& op, const ShardedTensor& of_output) const;
  void finish_weight(const std::string& name, int step, Collectives collectives);
  [[nodiscard]] Bytes traffic(const BlockOp& op, const Einsum& local) const;
  [[nodiscard]] Bytes gradient_traffic(const BlockOp& op, const Derivation& derived) const;
  [[nodiscard]] Bytes written_gradient(const Derivation& derived) const;
  [[nodiscard]] bool added_up(const BlockOp& op, const Derivation& derived) const;
  [[nodiscard]] Bytes operand_element(const BlockOp& op) const;

  // sharded_layer_attention.cpp
  struct AttentionArrays;  ///< as one rank attends to them
  void forward_attention(const BlockOp& op);
  void backward_attention(const BlockOp& op);
  void finish_sinks(const BlockOp& op, int step);
  [[nodiscard]] AttentionArrays attention_arrays(const BlockOp& op) const;
  /// Tokens that one of a slice's attends to on average, and the keys and values that the slice does not hold itself.
  [[nodiscard]] double attended(const BlockOp& op) const;
  [[nodiscard]] std::int64_t earlier_keys(const BlockOp& op, std::int64_t earlier) const;
  [[nodiscard]] Bytes earlier_bytes(const BlockOp& op, const AttentionArrays& arrays, std::int64_t earlier) const;
  [[nodiscard]] Flops attention_flops(const BlockOp& op, const AttentionArrays& arrays) const;
  [[nodiscard]] KernelShape attention_shape(const BlockOp& op, const AttentionArrays& arrays, bool backward) const;
  // sharded_layer_shared_attention.cpp: attention that the stages of a pipeline share out
  [[nodiscard]] double blocks_handed_over() const;
  int hand_over(const std::string& what, Reads reads, Bytes size);
  /// `keys`: the bytes of keys and values.
  void share_attention(const BlockOp& op, Bytes queries, Bytes keys, const Reads& reads, bool backward,
                       Version& result);
  [[nodiscard]] std::int64_t tokens_before() const;  ///< the slice, as far as its own rank's attention goes

  [[nodiscard]] Bytes score_bytes(const BlockOp& op, const AttentionArrays& arrays) const;
  [[nodiscard]] double share_that_travels(const BlockOp& op, const AttentionArrays& arrays) const;
  [[nodiscard]] double share_that_comes_back(const std::string& tensor) const;
  StepIds travel(const BlockOp& op, const AttentionArrays& arrays, Reads& reads);
  std::pair<int, int> attention_core(const std::string& name, const AttentionArrays& arrays, const Reads& reads,
                                     const Kernel& kernel, const LayerKind& reach, Bytes output,
                                     const StepIds& travelling);

  // sharded_layer_sparse.cpp: an indexer, and attention to the tokens that it chooses
  struct SparseArrays;
  struct IndexArrays;
  void forward_sparse_attention(const BlockOp& op);
  void backward_sparse_attention(const BlockOp& op);
  void forward_index(const BlockOp& op);
  void backward_index(const BlockOp& op);
  [[nodiscard]] SparseArrays sparse_arrays(const BlockOp& op) const;
  [[nodiscard]] IndexArrays index_arrays(const BlockOp& op) const;
  [[nodiscard]] double chosen_of(double most, const AxisNames& sequence) const;
  [[nodiscard]] ShardedTensor choice_of(const BlockOp& op, const ShardedTensor& queries) const;
  struct Teacher {
    std::vector<ShardedTensor> arrays;  ///< in the operation's order, behind the indexer's own
    Kernel kernel;
  };
  [[nodiscard]] Teacher teacher_of(const BlockOp& op) const;
  [[nodiscard]] double seen_by_indexer(const BlockOp& op, double most, const AxisNames& sequence) const;
  [[nodiscard]] Kernel sparse_kernel(const BlockOp& op, const SparseArrays& arrays, std::int64_t width) const;
  [[nodiscard]] Kernel index_kernel(const IndexArrays& arrays, double chosen) const;
  static int sparse_step(Pass& pass, const std::string& name, const std::string& detail, Reads reads,
                         const Kernel& kernel, Bytes output);

  // sharded_layer_compressed.cpp: a window, and compressed entries
  struct CompressedArrays {
    ShardedTensor queries, keys, entries;  ///< as one rank attends to them; T of entries is whole, without dims: none
  };
  void forward_compressed_attention(const BlockOp& op);
  void backward_compressed_attention(const BlockOp& op);
  [[nodiscard]] CompressedArrays compressed_arrays(const BlockOp& op) const;
  [[nodiscard]] double mean_of_piece(const std::function<double(double)>& mean, const AxisNames& sequence) const;
  [[nodiscard]] double entries_of(const BlockOp& op, double most, const AxisNames& sequence) const;
  [[nodiscard]] Kernel compressed_kernel(const BlockOp& op, const CompressedArrays& arrays) const;

  // sharded_layer_scan.cpp: recurrences
  struct ScanArrays;
  void forward_scan(const BlockOp& op);
  void backward_scan(const BlockOp& op);
  [[nodiscard]] ScanArrays scan_arrays(const BlockOp& op) const;
  [[nodiscard]] std::int64_t pieces_of_sequence() const;
  [[nodiscard]] std::int64_t state_numbers(const ScanArrays& arrays) const;
  [[nodiscard]] Flops scan_flops(const BlockOp& op, const ScanArrays& arrays, bool states_only) const;
  [[nodiscard]] Bytes scan_traffic(const BlockOp& op, const ScanArrays& arrays) const;
  int scan_step(Pass& pass, const BlockOp& op, const ScanArrays& arrays, const std::string& name, Reads reads,
                Flops flops, Bytes traffic, Bytes output, bool backward);
  void pass_state_along(Pass& pass, const BlockOp& op, const ScanArrays& arrays, Reads& reads, bool backward);

  // sharded_layer_elementwise.cpp: norms, activation functions, sums, dropout, the loss
  [[nodiscard]] Bytes unfused(Bytes moved) const;
  void forward_elementwise(const BlockOp& op);
  void backward_elementwise(const BlockOp& op);
  void forward_loss(const BlockOp& op);
  void backward_loss(const BlockOp& op);
  [[nodiscard]] Bytes of_a_tile(Bytes whole) const;        ///< of an array of the logits' shape
  [[nodiscard]] bool feeds_loss(const BlockOp& op) const;  ///< its result are the logits
  void backward_add(const BlockOp& op);
  void forward_bias(const BlockOp& op);
  void backward_bias(const BlockOp& op);
  /// An operation's scale, bias or other vector, split as the array is to which it belongs.
  void read_vector(const BlockOp& op, const ShardedTensor& local, Reads& reads);
  void finish_vector(const BlockOp& op, const ShardedTensor& local, int step);
  [[nodiscard]] ShardedTensor local_input(const BlockOp& op, const std::string& input) const;
  [[nodiscard]] ShardedTensor local_output(const BlockOp& op) const;
  [[nodiscard]] ShardedTensor scale(const BlockOp& op, const ShardedTensor& local) const;
  [[nodiscard]] Collectives scale_gradient(const BlockOp& op, const ShardedTensor& local) const;
  void reduce_statistics(Pass& pass, const BlockOp& op, const ShardedTensor& local, StepIds& after) const;
  void fetch_tokens_before(Pass& pass, const BlockOp& op, const ShardedTensor& local, StepIds& after) const;

  // sharded_layer_experts.cpp: tokens to the slots of their experts and back
  void forward_dispatch(const BlockOp& op);
  void backward_dispatch(const BlockOp& op);
  void forward_combine(const BlockOp& op);
  void backward_combine(const BlockOp& op);
  void fill_up_rows();
  [[nodiscard]] bool goes_to_experts(const std::string& tensor) const;  ///< the gradient of what experts gave
  [[nodiscard]] ShardedTensor slots_of_senders(const std::string& tokens, const std::string& slots) const;
  [[nodiscard]] Bytes regrouped(const ShardedTensor& slots) const;
  void move_tokens(BlockStep& step, const ShardedTensor& tokens, const ShardedTensor& slots, int products) const;

  // sharded_layer.cpp: one operation
  void forward(const BlockOp& op);
  void backward(const BlockOp& op);
  void finish_forward(const BlockOp& op, const Version& local, const Collectives& collectives,
                      const Version* gathered = nullptr);
  void finish_forward(const BlockOp& op, const ShardedTensor& local, int step);

  /// The pass to which forward operations are written: the forward, or the backward if they run again.
  Pass& pass() { return again_ ? backward_ : forward_; }
  Versions& made() { return again_ ? recomputed_ : versions_; }

  const Block& block_;
  const Plan& plan_;
  const Sizes& sizes_;
  const ShardedTensor& arrives_;
  const DerivePolicy& policy_;
  ShardedLayer out_;
  Pass forward_, backward_;
  bool again_ = false;
  Versions versions_;                            ///< activations by name; the first is the crossing one
  Versions recomputed_;                          ///< those that the backward makes: computed again, or gathered again
  Versions weights_forward_, weights_backward_;  ///< the first is the stored one
  Versions gradients_;                           ///< contributions to activation gradients
  Versions finished_;                            ///< their sums; the first is the crossing one
  std::map<std::pair<std::string, int>, int>
      compact_;  ///< forward step that holds a version's copy in fewer bytes, by tensor and buffer
  std::map<std::pair<std::string, int>, int>
      compact_in_backward_;  ///< likewise in the backward, by sharding and buffer
  struct Inside {
    int step;
    bool in_backward;
  };
  std::map<std::string, Inside> inside_;  ///< by the operation's output: whose buffer holds it
};

}  // namespace lockstep::workloads
