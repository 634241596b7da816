#pragma once
/// Published measurements of collectives, and what this simulator says to each. One rule maps a row to a cluster, by
/// what the row says of its machine; nothing is set for a single row:
///
///   node     the node of the catalog that the column chip names; else the first entry of a table whose words the
///            columns chip and inter_net contain ("p5en" before "p5", "A3 Mega"; else by the GPU)
///   fabric   the node's usual one, where the row spans more than one node; RoCE in place of InfiniBand if
///            inter_net says so
///   chips    n_ranks / nodes in each node; fewer than the node has: a smaller node of the same links
///   racks    of 72 GPUs are nodes, of which a job takes 64 GPUs each
///   in-network reduction   as the node, unless the row says that it was off ("NVLS off", "no SHARP")
///   algorithms   as the node's library; over GPUDirect-TCPXO without LL128 unless the row says "LL128 profile"
///   TPU      the catalog's chip of that name. The group is one axis of a slice where the column collective says so
///            ("1 axis of 4x4x4"), else the whole slice: of the shape that it names ("2x2x2"), or the most even one
///            of n_ranks chips
///   bytes    nccl-tests sizes: the whole array V of all-reduce, all-gather and reduce-scatter; of an all-to-all
///            what one rank sends, V/N (with that convention busbw = algbw (N-1)/N there, as printed)
///   time     time_us; without it size / algbw, or from busbw by the factor 2 (N-1)/N or (N-1)/N
///
/// A row whose column left_out says why it is no measurement of these does not count.
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "sim/collectives/collective.hpp"
#include "sim/core/csv_table.hpp"
#include "topologies/cluster/cluster_spec.hpp"

namespace lockstep::validation {

struct MeasuredCollective {
  std::string table, text, chip, inter_net, notes;
  Location where, chip_where, ranks_where;
  workloads::CollectiveKind kind = workloads::CollectiveKind::all_reduce;
  int ranks = 0, nodes = 1;
  double bytes = 0;  ///< as nccl-tests count them
  double seconds = 0;
  [[nodiscard]] Bytes full_size() const;
  [[nodiscard]] bool is_long() const { return bytes >= 64.0 * 1024 * 1024; }
};

struct ValidatedCollective {
  MeasuredCollective row;
  std::string network;  ///< scale-up network of a single node, or fabric between nodes; with the node that a row names
  std::string choice;   ///< "ring (Simple)"
  double predicted_s = 0;
  [[nodiscard]] double error() const { return predicted_s / row.seconds - 1; }
};

/// Errors of one table's rows on one network; the targets are those of long messages or short ones.
struct CollectiveErrors {
  std::string table, network;
  bool is_long = false;
  std::size_t rows = 0;
  double median_abs = 0, p90_abs = 0, bias = 0;  ///< fractions; bias: median with its sign
  const ValidatedCollective* worst = nullptr;
  [[nodiscard]] bool meets() const;
};

/// The largest errors that a network should have: from 64 MiB, and the median of shorter messages.
inline constexpr double long_median_target = 0.08, long_p90_target = 0.2, short_median_target = 0.3;

[[nodiscard]] bool has_collective_columns(const CsvTable& table);
/// Rows that count, in their order; what is wrong with the others goes to the table's problems, which are `problems`.
[[nodiscard]] std::vector<MeasuredCollective> read_measured_collectives(const CsvTable& table, const std::string& name,
                                                                        const Problems& problems);
/// Rows whose machine the catalog does not have, each machine once.
void check_machines(const std::vector<MeasuredCollective>& rows, const std::filesystem::path& catalog,
                    Problems& problems);
/// In the order of the rows. `catalog`: the folder with nodes and fabrics. Throws ConfigError for rows of machines that
/// it does not know. `change`: what is tried out on the networks between units.
[[nodiscard]] std::vector<ValidatedCollective> validate_collectives(
    const std::vector<MeasuredCollective>& rows, const std::filesystem::path& catalog,
    const std::function<void(topologies::FabricSpec&)>& change = [](topologies::FabricSpec&) {});

/// By table in the order of the rows, then by network and length. Points into `collectives`.
[[nodiscard]] std::vector<CollectiveErrors> errors_of(const std::vector<ValidatedCollective>& collectives);
/// The largest ratios of predicted and measured time first; of equal ones the first.
[[nodiscard]] std::vector<const ValidatedCollective*> worst_first(const std::vector<ValidatedCollective>& collectives);
/// Between the two values beside the place q (n - 1) of n > 0 sorted ones.
[[nodiscard]] double quantile(std::vector<double> values, double q);

}  // namespace lockstep::validation
