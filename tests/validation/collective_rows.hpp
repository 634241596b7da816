#pragma once
/// Published measurements of collectives (tests/data/collectives.csv), and what this simulator says to each. One rule
/// maps a row to a cluster, by what the row says of its machine; nothing is set for a single row:
///
///   node     the first entry of a table whose words the chip and inter_net columns contain ("p5en" before "p5", "A3
///            Mega"; else by the GPU)
///   fabric   the node's usual one, where the row spans more than one node; RoCE between racks if inter_net says so
///   chips    n_ranks / nodes in each node; fewer than the node has: a smaller node of the same links
///   racks    of 72 GPUs are nodes, of which a job takes 64 GPUs each
///   in-network reduction   as the node, unless the row says that it was off ("NVLS off", "no SHARP")
///   algorithms   as the node's library
///   bytes    nccl-tests sizes: the whole array V of all-reduce, all-gather and reduce-scatter; of an all-to-all what
///   one
///            rank sends, V/N (with that convention busbw = algbw (N-1)/N there, as printed)
///   time     time_us; without it size / algbw, or from busbw by the factor 2 (N-1)/N or (N-1)/N
///
/// Rows without any of these, psum rows (one log line each, definition of their bandwidth unknown) and TPU7x's (what
/// its sizes count is not clear) do not count.
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "sim/collectives/collective.hpp"
#include "sim/core/units.hpp"
#include "topologies/cluster/cluster_spec.hpp"

namespace lockstep::test {

struct MeasuredCollective {
  std::string text, chip, source, notes, inter_net;
  workloads::CollectiveKind kind = workloads::CollectiveKind::all_reduce;
  int ranks = 0, nodes = 1;
  double size = 0;  ///< as nccl-tests count it
  double seconds = 0;
  [[nodiscard]] Bytes full_size() const;
};

struct PredictedCollective {
  std::string network;  ///< scale-up network of a single node, or fabric between nodes
  std::string choice;   ///< "ring (Simple)"
  double seconds = 0;
};

[[nodiscard]] std::vector<std::vector<std::string>> read_csv(const std::filesystem::path& file);
[[nodiscard]] std::vector<MeasuredCollective> read_measured_collectives(const std::filesystem::path& file);
/// In the order of the rows. Throws if the catalog lacks a node or fabric.
/// `change`: what is tried out on the networks between units.
[[nodiscard]] std::vector<PredictedCollective> predict(
    const std::vector<MeasuredCollective>& rows, const std::filesystem::path& catalog,
    const std::function<void(topologies::FabricSpec&)>& change = [](topologies::FabricSpec&) {});

}  // namespace lockstep::test
