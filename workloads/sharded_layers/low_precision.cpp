#include "workloads/sharded_layers/low_precision.hpp"

#include <algorithm>
#include <cmath>
#include <set>

namespace lockstep::workloads {
namespace {

bool is_product(const BlockStep& step) {
  return step.kind == BlockStep::Kind::compute && step.flops.value() > 0 && step.work != ComputeWork::attention;
}

bool is_weight_gather(const BlockStep& step) {
  return step.kind == BlockStep::Kind::collective && step.role == CollectiveRole::weight;
}

/// Whether every step that waits for `id`, at once or behind further gathers, is a product in 8 bits.
bool only_products_read(const BlockSteps& pass, int id) {
  return std::all_of(pass.begin(), pass.end(), [&](const BlockStep& step) {
    if (std::find(step.after.begin(), step.after.end(), id) == step.after.end()) return true;
    if (is_weight_gather(step)) return only_products_read(pass, static_cast<int>(&step - pass.data()));
    return is_product(step) && step.work != ComputeWork::head_product;
  });
}

/// The steps of a pass that wait for a step of it, but for those that only say in what format it is kept.
std::vector<const BlockStep*> readers_of(const BlockSteps& pass, int id) {
  std::vector<const BlockStep*> readers;
  for (const auto& step : pass) {
    if (step.kind == BlockStep::Kind::compute && step.flops == Flops(0) && step.traffic == Bytes(0)) continue;
    if (std::find(step.after.begin(), step.after.end(), id) != step.after.end()) readers.push_back(&step);
  }
  return readers;
}

bool is_of_product(const WeightUpdate& update, const Block& block) {
  return std::any_of(block.ops.begin(), block.ops.end(),
                     [&](const auto& op) { return op.kind == BlockOp::Kind::matmul && op.weight == update.weight; });
}

/// An array of 16 bits in `stored` bytes a value.
Bytes narrowed(Bytes size, double stored) {
  return Bytes(std::llround(static_cast<double>(size.value()) / 2 * stored));
}

void gather_narrow(BlockSteps& pass, double stored) {
  std::vector<BlockStep*> chosen;
  for (std::size_t i = 0; i < pass.size(); ++i) {
    if (is_weight_gather(pass[i]) && only_products_read(pass, static_cast<int>(i))) chosen.push_back(&pass[i]);
  }
  for (auto* step : chosen) {
    step->full_size = narrowed(step->full_size, stored);
    step->output = narrowed(step->output, stored);
  }
}

}  // namespace

void keep_unembedding_in_16_bits(ShardedLayer& derived, const Block& block) {
  for (const auto& loss : block.ops) {
    if (loss.kind != BlockOp::Kind::loss) continue;
    const auto unembedding =
        std::find_if(block.ops.begin(), block.ops.end(), [&](const auto& op) { return op.output == loss.inputs[0]; });
    if (unembedding == block.ops.end()) continue;
    for (auto* pass : {&derived.forward, &derived.backward}) {
      for (auto& step : *pass) {
        if (is_product(step) && step.name.starts_with(unembedding->name)) step.work = ComputeWork::head_product;
      }
    }
  }
}

void cast_operands(ShardedLayer& derived, const Block& block, double bytes_per_value, double of_norms) {
  const auto cast_for = [&](const std::string& product, double bytes) {
    for (auto* pass : {&derived.forward, &derived.backward}) {
      for (auto& step : *pass) {
        if (step.name == product && step.work == ComputeWork::product)
          step.casts = Bytes(std::llround(bytes * static_cast<double>(step.shape.batch * step.shape.m) *
                                          static_cast<double>(step.shape.k)));
      }
    }
  };
  std::set<std::string> ready, normed;
  for (const auto& op : block.ops) {
    if (op.kind == BlockOp::Kind::elementwise && op.part == OpPart::norm) normed.insert(op.output);
    if (op.kind != BlockOp::Kind::matmul) continue;
    const auto& operand = op.inputs[0];
    if (ready.insert(operand).second) cast_for(op.name, normed.contains(operand) ? of_norms : bytes_per_value);
    cast_for(op.name + " input gradient", bytes_per_value);
  }
}

void narrow_activation_gathers(ShardedLayer& derived, double stored, bool kept_narrow) {
  for (auto* pass : {&derived.forward, &derived.backward}) {
    for (auto& step : *pass) {
      if (step.kind != BlockStep::Kind::collective || step.role != CollectiveRole::activation ||
          step.collective != CollectiveKind::all_gather)
        continue;
      const auto readers = readers_of(*pass, static_cast<int>(&step - pass->data()));
      const auto is_narrow = [](const BlockStep* reader) {
        return is_product(*reader) && reader->work != ComputeWork::head_product;
      };
      if (readers.empty() || !std::all_of(readers.begin(), readers.end(), is_narrow)) continue;
      const bool is_gradient = std::any_of(readers.begin(), readers.end(), [](const BlockStep* reader) {
        return reader->name.ends_with(" input gradient");
      });
      if (pass == &derived.backward && !is_gradient && !kept_narrow) continue;
      const double bytes = is_gradient ? 2 * stored : stored;
      step.full_size = Bytes(std::llround(static_cast<double>(step.full_size.value()) * bytes));
    }
  }
}

void gather_quantised_weights(ShardedLayer& derived, const Block& block, double stored, bool one_cast) {
  const bool again = std::any_of(derived.backward.begin(), derived.backward.end(), is_weight_gather);
  if (one_cast || again) gather_narrow(derived.forward, stored);
  gather_narrow(derived.backward, stored);
  if (!block.is_layer || !one_cast) return;
  for (auto& update : derived.weights) {
    if (!is_of_product(update, block)) continue;
    for (auto& gather : update.publish) {
      const Bytes in_16_bits(gather.full_size.value() / update.stored_element.value() * 2);
      gather.full_size = narrowed(in_16_bits, stored);
    }
  }
}

void keep_quantised_weights(ShardedLayer& derived, const Block& block, int copies, double stored) {
  if (!block.is_layer) return;
  for (auto& update : derived.weights) {
    if (!is_of_product(update, block)) continue;
    const Bytes in_16_bits(update.stored.value() / update.stored_element.value() * 2);
    update.stored += narrowed(in_16_bits, stored) * copies;
  }
}

}  // namespace lockstep::workloads
