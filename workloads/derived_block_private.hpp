#pragma once
/// The derivation of one block while it runs: every array in the versions made so far, and the two passes.
#include <map>
#include <string>
#include <vector>

#include "workloads/derived_block_pass_private.hpp"

namespace lockstep {

class BlockDerivation {
 public:
  BlockDerivation(const Block& block, const Plan& plan, const Sizes& sizes, const ShardedTensor& arrives,
                  const DerivePolicy& policy);
  DerivedBlock run();

 private:
  using Versions = std::map<std::string, std::vector<Version>>;
  using Collectives = std::vector<DerivedCollective>;

  [[nodiscard]] const ShardedTensor& crossing(const std::string& tensor) const { return plan_.activations.at(tensor); }
  [[nodiscard]] Bytes bytes(const ShardedTensor& tensor) const;
  [[nodiscard]] Collectives settled(const ShardedTensor& from, const ShardedTensor& to) const;  ///< of an activation
  static ShardedTensor renamed(ShardedTensor tensor, const std::string& name);
  static ShardedTensor gradient_of(ShardedTensor tensor);

  // derived_block.cpp: weights, the block's edges, and arrays in the sharding that an operation needs
  void refuse_bad_plan() const;
  void write_weights();
  void receive_input();
  void hand_back_input_gradient();
  Version obtain(Pass& pass, std::vector<Version>& list, const ShardedTensor& wanted, const Collectives& collectives,
                 CollectiveRole role, Bytes element);
  Version activation(const std::string& tensor, const ShardedTensor& wanted, const Collectives& collectives);
  Version weight(Pass& pass, Versions& gathered_here, const std::string& name, const ShardedTensor& wanted,
                 const Collectives& collectives);
  Version weight_in_backward(const std::string& name, const ShardedTensor& wanted, const Collectives& collectives,
                             StepIds& saved);
  StepIds activation_in_backward(const std::string& tensor, const ShardedTensor& wanted, const Collectives& collectives,
                                 StepIds& saved);
  Version& finished_gradient(const std::string& tensor);
  Version obtain_gradient(const std::string& tensor, const ShardedTensor& wanted, const Collectives& collectives);
  Version overlapped(Pass& pass, Version result, bool has_collectives) const;
  [[nodiscard]] StepIds start_of(const Version& gathered, const Version& source) const;

  // derived_block_product.cpp: matrix products and look-ups
  void forward_product(const BlockOp& op);
  void backward_input(const BlockOp& op);
  void backward_weight(const BlockOp& op);
  void finish_weight(const std::string& name, int step, Collectives collectives);
  [[nodiscard]] Bytes traffic(const BlockOp& op, const Einsum& local) const;

  // derived_block_attention.cpp
  void forward_attention(const BlockOp& op);
  void backward_attention(const BlockOp& op);
  [[nodiscard]] ShardedTensor attention_keys(const BlockOp& op, const std::string& tensor) const;
  [[nodiscard]] Flops attention_flops(const ShardedTensor& q) const;

  // derived_block_elementwise.cpp: norms, activation functions, sums, the loss
  void forward_elementwise(const BlockOp& op);
  void backward_elementwise(const BlockOp& op);
  void backward_add(const BlockOp& op);
  [[nodiscard]] ShardedTensor scale(const BlockOp& op, const ShardedTensor& local) const;
  void reduce_statistics(Pass& pass, const BlockOp& op, const ShardedTensor& local, StepIds& after) const;

  // derived_block.cpp: one operation
  void forward(const BlockOp& op);
  void backward(const BlockOp& op);
  void finish_forward(const std::string& output, const Version& local, const Collectives& collectives,
                      const StepIds& gathers);

  const Block& block_;
  const Plan& plan_;
  const Sizes& sizes_;
  const ShardedTensor& arrives_;
  const DerivePolicy& policy_;
  DerivedBlock out_;
  Pass forward_, backward_;
  Versions versions_;                            ///< activations by name; the first is the crossing one
  Versions regathered_;                          ///< activations gathered again in the backward
  Versions weights_forward_, weights_backward_;  ///< the first is the stored one
  Versions gradients_;                           ///< contributions to activation gradients
  Versions finished_;                            ///< their sums; the first is the crossing one
};

}  // namespace lockstep
