#pragma once
/// A model known only by how long its operations take: measured steps, replayed. Its layers are blocks
/// whose steps have given times and given streams, instead of FLOPs, bytes and collectives.
#include <cstdint>
#include <vector>

#include "sim/core/yaml_view.hpp"
#include "workloads/sharded_layers/sharded_layer.hpp"

namespace lockstep::workloads {

struct ReplayModel {
  ShardedLayers kinds;  ///< one, or as many as each operation has times: layers that were measured one by one
  Indexed<BlockId, KindId> order;  ///< they take turns
};

/// The map under `model.replay`; problems go to the view's sink.
[[nodiscard]] ReplayModel read_replay(const YamlView& view);

}  // namespace lockstep::workloads
