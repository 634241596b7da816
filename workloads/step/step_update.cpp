// The update of the weights: once gradients are reduced, each block's optimizer runs on the chip or on its host, and
// the new weights are handed to the ranks that need them.
#include <algorithm>
#include <string>
#include <utility>

#include "workloads/step/step_gradients_private.hpp"

namespace lockstep::workloads {

void StepGradients::update() {
  exchange_copies();
  if (writer_.options.offload.optimizer) send_gradients_down();
  OpIds barrier;
  if (writer_.options.optimizer_barrier) barrier = wait_for_all();
  for (const auto& [stage, blocks] : updated_by_) {
    const OpId first = writer_.graph.size();
    for (const auto& [block, owners] : blocks) update_block(stage, block, owners, barrier);
    if (writer_.options.step_overhead > Seconds(0)) outside_the_step(stage, first);
  }
}

/// After the whole update, which starts with operation `first`.
void StepGradients::outside_the_step(std::int32_t stage, OpId first) {
  OpIds after;
  for (OpId id = first; id < writer_.graph.size(); ++id) after.push_back(id);
  StepWork work;
  work.name = "data loading and logging";
  work.given_time = writer_.options.step_overhead;
  work.given = GivenTime::overhead;
  writer_.add({stage, 0, last_microbatch(), 0}, StepPass::update, std::move(work), after);
}

/// One transfer for each block, as soon as its gradients are reduced; they leave the chip with it.
void StepGradients::send_gradients_down() {
  for (const auto& [stage, blocks] : updated_by_) {
    for (const auto& [block, owners] : blocks) {
      if (owners.empty()) continue;
      OpIds after;
      Bytes size(0);
      for (const auto& owner : owners) {
        merge(after, states_.at({stage, owner}).gradient.ready);
        size += writer_.options.gradient_element * writer_.update_of(owner).optimizer_elements;
      }
      const auto down = writer_.add({stage, block, last_microbatch(), 0}, StepPass::backward,
                                    writer_.transfer(to_host, "gradients", size), after);
      on_host_[{stage, block}] = writer_.hold(MemoryKind::host, size, down, stage);
      for (const auto& owner : owners) {
        auto& gradient = states_.at({stage, owner}).gradient;
        if (gradient.accumulated) writer_.read(*std::exchange(gradient.accumulated, {}), down);
      }
    }
  }
}

/// The update itself, on the chip or on its host.
OpId StepGradients::update_op(const StepPlace& place, const std::vector<Owner>& owners, const OpIds& after) {
  const auto& options = writer_.options;
  Bytes traffic(0), weights(0);
  for (const auto& owner : owners) {
    const auto& update = writer_.update_of(owner);
    traffic += update_traffic(options.optimizer, options.gradient_element, update);
    if (options.gradient_clipping) traffic += options.gradient_element * (2 * update.optimizer_elements);  // scaled
    weights += update.stored_element * update.optimizer_elements;
  }
  const auto title = std::string(name(options.optimizer.kind)) + " update";
  if (!options.offload.optimizer) {
    StepWork work;
    work.name = title;
    work.traffic = traffic;
    return writer_.add(place, StepPass::update, std::move(work), after);
  }
  const auto gradients = on_host_.at({place.stage, place.block});
  OpIds there{writer_.graph.buffers[gradients].producer};
  merge(there, after);
  const auto on_host = writer_.add(
      place, StepPass::update,
      StepWriter::given("host", title + " on the host", traffic / options.offload.host_memory, GivenTime::host_memory),
      there);
  writer_.read(gradients, on_host);
  return writer_.add(place, StepPass::update, writer_.transfer(from_host, "weights", weights), {on_host});
}

void StepGradients::update_block(std::int32_t stage, int block, const std::vector<Owner>& owners,
                                 const OpIds& barrier) {
  if (owners.empty()) return;
  const StepPlace place{stage, block, last_microbatch(), 0};
  OpIds after = barrier;
  if (!writer_.options.optimizer_barrier) {
    for (const auto& owner : owners) merge(after, states_.at({stage, owner}).gradient.ready);
  }
  if (writer_.options.optimizer.kind == OptimizerKind::muon) after = orthogonalize(place, owners, after);
  const auto id = update_op(place, owners, after);
  for (const auto& owner : owners) {
    const auto& buffer = states_.at({stage, owner}).gradient.accumulated;
    if (buffer) writer_.read(*buffer, id);
  }
  if (!writer_.options.publish_ahead) chains_.publish(place, StepPass::update, owners, {id});
}

OpIds StepGradients::published_ahead(const StepPlace& place) {
  const auto node = updated_by_[place.stage].find(place.block);
  if (node == updated_by_[place.stage].end() || !ahead_.insert({place.stage, place.block}).second) return {};
  return chains_.publish(place, StepPass::forward, node->second, {});
}

}  // namespace lockstep::workloads
