// Arrays in the sharding that an operation needs: as they cross, gathered for it, kept from the forward, made again.
#include <algorithm>

#include "workloads/sharded_layers/sharded_layer_private.hpp"

namespace lockstep::workloads {
namespace {

constexpr int outside = BlockStep::outside;

/// The dispatcher of tokens itself gathers slots over the tensor axis and scatters results: nothing runs beside that
/// (explicit_expert_comm of Megatron Core, core/extensions/transformer_engine.py).
bool are_slots(const Version& version) { return version.sharding.find("C") != nullptr; }

ShardedTensor whole(ShardedTensor tensor) {
  tensor.partial.clear();
  return tensor;
}

}  // namespace

BlockDerivation::Collectives BlockDerivation::in_element(Collectives collectives, Bytes element) const {
  for (auto& derived : collectives)
    derived.full_size = derived.full_size * element.value() / policy_.activation_element.value();
  return collectives;
}

/// The version of `list` with that sharding; made from the first by the collectives if there is none.
Version BlockDerivation::obtain(Pass& pass, std::vector<Version>& list, const ShardedTensor& wanted,
                                const Collectives& collectives, CollectiveRole role, Bytes element) {
  for (const auto& known : list) {
    if (known.sharding.same_sharding(wanted)) return known;
  }
  list.push_back(pass.chain(list.front(), collectives, wanted, role, element));
  return list.back();
}

Version BlockDerivation::activation(const std::string& tensor, const ShardedTensor& wanted,
                                    const Collectives& collectives, Reads& reads, bool compact) {
  if (again_) return activation_in_backward(tensor, wanted, collectives, reads, compact);
  return obtain(forward_, versions_.at(tensor), wanted, collectives, CollectiveRole::activation,
                policy_.activation_element);
}

/// The kept version if the forward had it and may keep it, else gathered again from the crossing version, which the
/// backward first computes again if the forward did not keep that either.
Version BlockDerivation::activation_in_backward(const std::string& tensor, const ShardedTensor& wanted,
                                                const Collectives& collectives, Reads& reads, bool compact) {
  const auto format = kept_format(tensor, compact);
  auto& made_here = recomputed_[format ? tensor + " in fewer bytes" : tensor];
  if (dropped(tensor)) {
    compute_again(tensor);
    return obtain(backward_, recomputed_[tensor], wanted, collectives, CollectiveRole::activation,
                  policy_.activation_element);
  }
  // An operation that runs again starts with the block's backward, not before.
  const StepIds start = again_ ? StepIds{outside} : StepIds{};
  const auto& known = versions_.at(tensor);
  const int crossing_buffer = known.front().buffer;
  for (const auto& version : known) {
    const bool kept = policy_.share_activation_gathers || version.buffer == crossing_buffer;
    if (kept && version.sharding.same_sharding(wanted)) {
      const int buffer = format ? compact_copy(tensor, version, *format) : version.buffer;
      merge(reads.saved, buffer);
      return {version.sharding, start, buffer};
    }
  }
  const int buffer = format ? compact_copy(tensor, known.front(), *format) : crossing_buffer;
  if (collectives.empty()) {
    merge(reads.saved, buffer);
    return {wanted, start, buffer};
  }
  if (!made_here.empty())
    return obtain(backward_, made_here, wanted, collectives, CollectiveRole::activation, policy_.activation_element);
  made_here.push_back({known.front().sharding, {outside}, buffer, {buffer}});
  const auto element = format ? format->element() : policy_.activation_element;
  return obtain(backward_, made_here, wanted, in_element(collectives, element), CollectiveRole::activation, element);
}

const Version& BlockDerivation::source(const std::string& tensor) {
  static const Version of_the_forward{{}, {outside}, outside};
  if (!again_) return versions_.at(tensor).front();
  return dropped(tensor) ? recomputed_.at(tensor).front() : of_the_forward;
}

Version BlockDerivation::weight(const std::string& name, const ShardedTensor& wanted, const Collectives& collectives,
                                Reads& reads) {
  if (again_) return weight_in_backward(name, wanted, collectives, reads);
  auto& list = weights_forward_[name];
  if (list.empty()) list.push_back({plan_.weights.at(name), {}, outside});
  const auto result = obtain(forward_, list, wanted, collectives, CollectiveRole::weight, policy_.weight_element);
  merge(reads.after, result.producers);
  return result;
}

/// Gathered again, or the forward's copy (then nothing is to wait for).
Version BlockDerivation::weight_in_backward(const std::string& name, const ShardedTensor& wanted,
                                            const Collectives& collectives, Reads& reads) {
  if (!policy_.regather_weights) {
    for (const auto& known : weights_forward_[name]) {
      if (!known.sharding.same_sharding(wanted)) continue;
      if (known.buffer != outside) merge(reads.saved, known.buffer);
      return {known.sharding, {}, known.buffer};
    }
  }
  auto& list = weights_backward_[name];
  if (list.empty()) list.push_back({plan_.weights.at(name), {}, outside});
  const auto result = obtain(backward_, list, wanted, collectives, CollectiveRole::weight, policy_.weight_element);
  merge(reads.after, result.producers);
  return result;
}

/// Collects the contributions to an activation's gradient, sums those that are sharded alike, and
/// settles the sums to the sharding in which the activation crosses.
Version& BlockDerivation::finished_gradient(const std::string& tensor) {
  auto& finished = finished_[tensor];
  if (!finished.empty()) return finished.front();
  Version result{gradient_of(whole(crossing(tensor))), {}, outside};
  auto rest = gradients_[tensor];
  while (!rest.empty()) {
    Version sum = rest.front();
    for (const auto& other : rest) {
      if (other.sharding.same_sharding(sum.sharding)) merge(sum.producers, other.producers);
    }
    sum.sharding.name = "d" + tensor;
    std::erase_if(rest, [&](const auto& other) { return other.sharding.same_sharding(sum.sharding); });
    const auto element = goes_to_experts(tensor) ? policy_.dispatch_element : policy_.activation_element;
    auto collectives = in_element(settled(sum.sharding, result.sharding), element);
    for (auto& derived : collectives) {
      if (const double share = share_that_comes_back(tensor); share < 1)
        derived.full_size = Bytes(static_cast<std::int64_t>(static_cast<double>(derived.full_size.value()) * share));
    }
    const auto done = backward_.chain(overlapped(backward_, sum, !collectives.empty()), collectives, result.sharding,
                                      CollectiveRole::activation, element);
    merge(result.producers, done.producers);
    if (policy_.collective_matmul && !collectives.empty()) merge(result.producers, sum.producers);
    result.buffer = done.buffer;
    merge(result.saved, done.saved);
  }
  result.producers = backward_.accumulated(result.producers);
  finished.push_back(result);
  return finished.front();
}

/// Also adds to `reads` the arrays of the forward that the gradient's reader needs (for the gradient of a loss). The
/// caller adds the steps to wait for.
Version BlockDerivation::gradient(const std::string& tensor, const ShardedTensor& wanted,
                                  const Collectives& collectives, Reads& reads) {
  finished_gradient(tensor);
  const auto result =
      obtain(backward_, finished_[tensor], wanted, collectives, CollectiveRole::activation, policy_.activation_element);
  merge(reads.saved, result.saved);
  return result;
}

void BlockDerivation::read(const std::string& tensor, const ShardedTensor& wanted, Reads& reads, bool compact) {
  merge(reads.after, activation(tensor, wanted, settled(crossing(tensor), wanted), reads, compact).producers);
}

void BlockDerivation::read_in_backward(const std::string& tensor, const ShardedTensor& wanted, Reads& reads,
                                       bool compact) {
  merge(reads.after,
        activation_in_backward(tensor, wanted, settled(crossing(tensor), wanted), reads, compact).producers);
}

void BlockDerivation::read_gradient(const std::string& tensor, const ShardedTensor& wanted, Reads& reads) {
  const auto from = finished_gradient(tensor).sharding;
  merge(reads.after, gradient(tensor, wanted, settled(from, wanted), reads).producers);
}

/// Collective matmul: a collective on a product's result starts with the product, chunk by chunk, so it waits for the
/// inputs of the product and for the product before it on the compute stream (its consumers wait for both). If several
/// products are summed, the last one counts.
Version BlockDerivation::overlapped(Pass& pass, Version result, bool has_collectives) const {
  if (!policy_.collective_matmul || !has_collectives || are_slots(result)) return result;
  const int last = *std::max_element(result.producers.begin(), result.producers.end());
  if (last == outside || pass[last].kind != BlockStep::Kind::compute) return result;
  StepIds earlier = pass[last].after;
  for (const int id : result.producers) {
    if (id != last) merge(earlier, id);
  }
  for (int before = last - 1; before >= 0; --before) {
    if (pass[before].kind != BlockStep::Kind::compute) continue;
    merge(earlier, before);
    break;
  }
  result.producers = earlier;
  return result;
}

/// Collective matmul on an operand: the product starts with the gather and its consumers wait for both.
void BlockDerivation::wait_for_start_of(const Version& gathered, const Version& source, Reads& reads) const {
  merge(reads.after, policy_.collective_matmul && !are_slots(gathered) ? source.producers : gathered.producers);
}

}  // namespace lockstep::workloads
