#include "workloads/low_precision.hpp"

#include <algorithm>

namespace lockstep {
namespace {

bool is_product(const BlockStep& step) {
  return step.kind == BlockStep::Kind::compute && step.flops.value() > 0 && step.work != ComputeWork::attention;
}

bool is_weight_gather(const BlockStep& step) {
  return step.kind == BlockStep::Kind::collective && step.role == CollectiveRole::weight;
}

/// Whether every step that waits for `id`, at once or behind further gathers, is a product in 8 bits.
bool only_products_read(const std::vector<BlockStep>& pass, int id) {
  return std::all_of(pass.begin(), pass.end(), [&](const BlockStep& step) {
    if (std::find(step.after.begin(), step.after.end(), id) == step.after.end()) return true;
    if (is_weight_gather(step)) return only_products_read(pass, static_cast<int>(&step - pass.data()));
    return is_product(step) && step.work != ComputeWork::head_product;
  });
}

void gather_in_8_bits(std::vector<BlockStep>& pass) {
  std::vector<BlockStep*> chosen;
  for (std::size_t i = 0; i < pass.size(); ++i) {
    if (is_weight_gather(pass[i]) && only_products_read(pass, static_cast<int>(i))) chosen.push_back(&pass[i]);
  }
  for (auto* step : chosen) {
    step->full_size = Bytes(step->full_size.value() / 2);
    step->output = Bytes(step->output.value() / 2);
  }
}

}  // namespace

void keep_unembedding_in_16_bits(DerivedBlock& derived, const Block& block) {
  for (const auto& loss : block.ops) {
    if (loss.kind != BlockOp::Kind::loss) continue;
    const auto unembedding = std::find_if(block.ops.begin(), block.ops.end(), [&](const auto& op) { return op.output == loss.inputs[0]; });
    if (unembedding == block.ops.end()) continue;
    for (auto* pass : {&derived.forward, &derived.backward}) {
      for (auto& step : *pass) {
        if (is_product(step) && step.name.starts_with(unembedding->name)) step.work = ComputeWork::head_product;
      }
    }
  }
}

void gather_weights_in_8_bits(DerivedBlock& block) {
  gather_in_8_bits(block.forward);
  gather_in_8_bits(block.backward);
}

}  // namespace lockstep
