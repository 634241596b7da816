#include "workloads/sharded_layers/matrix_owners.hpp"

namespace lockstep::workloads {
namespace {

constexpr auto why = "a matrix has one owner";

void change(std::vector<DerivedCollective>& collectives, CollectiveKind from, CollectiveKind to) {
  for (auto& collective : collectives) {
    if (collective.kind != from) continue;
    collective.kind = to;
    collective.reason = why;
  }
}

}  // namespace

void give_matrices_to_owners(ShardedLayer& derived) {
  for (auto& update : derived.weights) {
    if (update.split_over.empty()) continue;
    change(update.last_microbatch, CollectiveKind::reduce_scatter, CollectiveKind::reduce);
    change(update.publish, CollectiveKind::all_gather, CollectiveKind::broadcast);
  }
}

bool has_owner(const DerivedCollective& collective) { return has_owner(collective.kind); }
bool has_owner(CollectiveKind kind) { return kind == CollectiveKind::reduce || kind == CollectiveKind::broadcast; }

}  // namespace lockstep::workloads
