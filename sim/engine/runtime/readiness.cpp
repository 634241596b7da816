#include "sim/engine/runtime/readiness.hpp"

#include <utility>

namespace lockstep::engine {

Readiness::Readiness(std::shared_ptr<const Dependences> dependences)
    : dependences_(std::move(dependences)), predecessors_left_(dependences_->counts(), 0) {
  const auto& on = *dependences_;
  for (ChainId before = 0; before < on.chains(); ++before) {
    const auto& earlier = on.node(before);
    for (const ChainId chain : on.successors(before)) {
      const auto& node = on.node(chain);
      const bool same_ranks = earlier.set == node.set;
      std::int32_t place = 0;
      for (const std::int32_t rank : on.rank_sets()->members(node.set)) {
        if (same_ranks || on.rank_sets()->place_in(earlier.set, rank) >= 0)
          ++predecessors_left_[on.count_of(node, place)];
        ++place;
      }
    }
  }
  members_left_ = on.members_of_groups();
}

std::vector<Instance> Readiness::at_outset() {
  const auto& on = *dependences_;
  std::vector<Instance> ready;
  for (ChainId chain = 0; chain < on.chains(); ++chain) {
    const auto& node = on.node(chain);
    std::int32_t place = 0;
    for ([[maybe_unused]] const std::int32_t rank : on.rank_sets()->members(node.set)) {
      if (predecessors_left_[on.count_of(node, place)] == 0) became_ready(chain, rank, place, ready);
      ++place;
    }
  }
  return ready;
}

void Readiness::ended(ChainId chain, std::int32_t rank, std::vector<Instance>& ready) {
  const auto& on = *dependences_;
  const auto set = on.node(chain).set;
  const auto& sets = *on.rank_sets();
  const std::int32_t own_place = sets.place_in(set, rank);
  for (const ChainId successor : on.successors(chain)) {
    const auto& later = on.node(successor);
    const std::int32_t place = later.set == set ? own_place : sets.place_in(later.set, rank);
    if (place < 0) continue;
    if (--predecessors_left_[on.count_of(later, place)] == 0) became_ready(successor, rank, place, ready);
  }
}

void Readiness::became_ready(ChainId chain, std::int32_t rank, std::int32_t place, std::vector<Instance>& ready) {
  const auto& on = *dependences_;
  const auto& node = on.node(chain);
  if (node.communicator == Dependences::no_communicator) {
    ready.push_back({chain, rank});
    return;
  }
  const std::int32_t group = on.group_of(node, place);
  if (--members_left_[on.count_of_group(node, group)] == 0) ready.push_back({chain, group});
}

}  // namespace lockstep::engine
