#pragma once
/// Operations of one pass of a replayed layer, as they stand in the file.
#include <optional>
#include <string>
#include <vector>

#include "sim/core/yaml_view.hpp"
#include "workloads/sharded_layers/sharded_layer.hpp"

namespace lockstep::workloads {

/// A collective that the network times: `bytes` is the larger buffer of one rank, as nccl-tests print it.
struct SimulatedOp {
  CollectiveKind kind = CollectiveKind::all_to_all;
  std::string axis;
  Bytes bytes{0};
};

struct ReplayOp {
  std::string name;
  std::vector<Seconds> times;  ///< one, or one per measured layer; none of an operation that is simulated
  std::optional<SimulatedOp> simulated;
  std::string stream;  ///< empty: the compute stream
  bool communicates = false;
  bool of_weights = false;  ///< makes gradients of weights; only the optimizer waits for it
  bool output = false;      ///< what comes after the pass waits for it
  Bytes holds{0};
  std::vector<int> after;  ///< operations of the same pass, or BlockStep::outside
};

using ReplayOps = Indexed<BlockStepId, ReplayOp>;

enum class ReplayPass { forward, backward };
[[nodiscard]] ReplayOps read_replay_pass(const YamlView& list, ReplayPass pass);

/// The order in which a layer's forward and a layer's backward share the compute stream of an overlapped pair: `list`
/// names all operations of that stream; those of other streams are put in as soon as what they wait for is there.
[[nodiscard]] std::vector<PairTurn> read_replay_pair(const YamlView& list, const ReplayOps& forward,
                                                     const ReplayOps& backward);

}  // namespace lockstep::workloads
