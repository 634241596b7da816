#include "sim/studies/validation/measured_collectives.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <memory>
#include <optional>
#include <string_view>
#include <tuple>

#include "sim/collectives/group_network.hpp"
#include "sim/collectives/nccl_size.hpp"
#include "topologies/fabrics/fabric.hpp"
#include "topologies/torus/torus.hpp"

namespace lockstep::validation {
namespace {

/// A node of the catalog with its scale-up network. It stands for rows whose columns chip and inter_net contain these
/// two words, unless an entry before it does.
struct NamedMachine {
  std::string_view chip, inter_net, node, scale_up;
};
constexpr std::array<NamedMachine, 18> machines{{{"p4de", "", "p4de-a100", "NVLink 3"},
                                                 {"p5en", "", "p5en-h200", "NVLink 4"},
                                                 {"EFA", "", "p5en-h200", "NVLink 4"},
                                                 {"p5", "", "p5-h100", "NVLink 4"},
                                                 {"A3 Mega", "", "a3-mega-h100", "NVLink 4"},
                                                 {"A3 High", "", "a3-high-h100", "NVLink 4"},
                                                 {"GCP A4", "", "a4-b200", "NVLink 5"},
                                                 {"GB200", "", "gb200-nvl72", "NVLink 5, rack"},
                                                 {"GB300", "", "gb300-nvl72", "NVLink 5, rack"},
                                                 {"B300", "", "dgx-b300", "NVLink 5"},
                                                 {"B200", "EFA", "p6-b200", "NVLink 5"},
                                                 {"B200", "", "dgx-b200", "NVLink 5"},
                                                 {"H100", "", "dgx-h100", "NVLink 4"},
                                                 {"H200", "p5en", "p5en-h200", "NVLink 4"},
                                                 {"H200", "", "dgx-h200", "NVLink 4"},
                                                 {"A100", "", "dgx-a100", "NVLink 3"},
                                                 {"MI300X", "", "mi300x", "xGMI"},
                                                 {"MI355X", "", "mi355x", "xGMI"}}};

/// OCI's jobs take 64 GPUs of each rack of 72.
constexpr int gpus_of_a_rack = 64;
constexpr std::int64_t most_ranks = 1 << 16;

bool contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

std::optional<workloads::CollectiveKind> kind_of(std::string_view text) {
  if (text.starts_with("all_reduce")) return workloads::CollectiveKind::all_reduce;
  if (text.starts_with("all_gather")) return workloads::CollectiveKind::all_gather;
  if (text.starts_with("reduce_scatter")) return workloads::CollectiveKind::reduce_scatter;
  if (text == "reduce") return workloads::CollectiveKind::reduce;
  if (text.starts_with("alltoall")) return workloads::CollectiveKind::all_to_all;
  return std::nullopt;
}

/// Groups on a cluster of their own.
struct Machine {
  std::string network;
  std::unique_ptr<topologies::Cluster> cluster;
  std::unique_ptr<topologies::Mesh> mesh;
  std::unique_ptr<collectives::GroupNetwork> groups;

  void group(const std::string& axis, std::vector<topologies::MeshAxis> axes) {
    mesh = std::make_unique<topologies::Mesh>(*cluster, std::move(axes), "");
    groups = std::make_unique<collectives::GroupNetwork>(*cluster, *mesh, std::vector{axis});
  }
};

Machine tpu(const MeasuredCollective& row, const std::filesystem::path& catalog) {
  Problems problems;
  Machine machine{"ICI", nullptr, nullptr, nullptr};
  const bool cube = contains(row.chip, "v5p");
  machine.cluster = std::make_unique<topologies::Cluster>(
      topologies::build_torus({topologies::load_chip(catalog, cube ? "tpu-v5p" : "tpu-v5e", problems),
                               cube ? std::vector{4, 4, 4} : std::vector{8, 16},
                               {}}));
  if (cube)
    machine.group("ring", {{"rest", {{0, 4, 1}, {1, 4, 1}}}, {"ring", {{2, 4, 1}}}});
  else
    machine.group("ring", {{"rest", {{0, 8, 1}}}, {"ring", {{1, 16, 1}}}});
  return machine;
}

/// The catalog's node of that name, else the first entry that fits.
std::optional<NamedMachine> machine_of(const MeasuredCollective& row, const std::filesystem::path& catalog) {
  const auto names = topologies::node_names(catalog);
  if (std::find(names.begin(), names.end(), row.chip) != names.end()) return NamedMachine{"", "", row.chip, row.chip};
  const auto* fits = std::find_if(machines.begin(), machines.end(), [&](const auto& named) {
    return contains(row.chip, named.chip) && contains(row.inter_net, named.inter_net);
  });
  return fits == machines.end() ? std::nullopt : std::optional(*fits);
}

/// The network between units: the node's usual one, unless the row says that they are joined by RoCE.
std::string fabric_of(const MeasuredCollective& row, const topologies::NodeSpec& node) {
  if (!contains(node.fabric, "infiniband") || !contains(row.inter_net, "RoCE")) return node.fabric;
  return contains(row.chip, "GB300") ? "oci-gb300-roce" : "roce-400g";
}

Machine nodes(const MeasuredCollective& row, const std::filesystem::path& catalog,
              const std::function<void(topologies::FabricSpec&)>& change) {
  Problems problems;
  const auto refuse = [&](const char* what, const std::string& expected) {
    throw ConfigError({{row.where, "", row.chip + " with " + std::to_string(row.ranks) + " ranks: " + what, expected}});
  };
  const auto named = machine_of(row, catalog);
  if (!named) refuse("no machine of this name has a node in the catalog", "a node such as dgx-h100 as chip");
  topologies::NodeSpec node = topologies::load_node(catalog, named->node, problems);
  const auto fabric = fabric_of(row, node);
  topologies::ClusterSpec spec;
  spec.units = node.chips > gpus_of_a_rack ? std::max(1, row.ranks / gpus_of_a_rack) : row.nodes;
  const int used = row.ranks / spec.units;
  if (used * spec.units != row.ranks || used > node.chips)
    refuse("they do not fill the nodes evenly", "ranks in equal parts on nodes of up to " + std::to_string(node.chips));
  if (used < node.chips) node.chips = node.nics = used;
  const std::string text = row.chip + row.notes;
  if (contains(text, "NVLS off") || contains(text, "NVLS_ENABLE=0") || contains(text, "no SHARP"))
    node.in_network_reduction = false;
  // Google's plugin runs without LL128 unless its profile for LL128 is set.
  if (fabric == "gpudirect-tcpxo" && !contains(row.notes, "LL128 profile"))
    std::erase_if(node.protocols, [](const auto& protocol) { return protocol.name == "LL128"; });
  if (spec.units > 1) spec.fabric = topologies::load_fabric(catalog, fabric, problems);
  problems.throw_if_any();
  change(spec.fabric);
  Machine machine{spec.units > 1 ? fabric : std::string(named->scale_up), nullptr, nullptr, nullptr};
  spec.unit = std::move(node);
  if (const auto why = topologies::why_not_a_cluster(spec); !why.empty())
    refuse(why.front().what.c_str(), why.front().expected);
  machine.cluster = std::make_unique<topologies::Cluster>(build_cluster(spec));
  topologies::MeshAxis all{"all", {}};
  for (std::size_t i = 0; i < machine.cluster->axes().size(); ++i)
    all.factors.push_back({static_cast<int>(i), machine.cluster->axes()[i].size, 1});
  machine.group("all", {all});
  return machine;
}

/// None for an empty cell, or one that is rounded to zero as short messages' bandwidths are.
std::optional<double> measured(const CsvRow& cells, std::string_view column) {
  if (cells.text(column).find_first_not_of("0.") == std::string::npos) return std::nullopt;
  return cells.number(column);
}

/// Without a measured time: from size and bandwidth. 0: neither.
double seconds_of(const MeasuredCollective& row, const CsvRow& cells) {
  const auto time = measured(cells, "time_us"), whole = measured(cells, "algbw_gbs"),
             wire = measured(cells, "busbw_gbs");
  if (contains(row.chip, "TPU")) {
    if (!wire) return 0;
    if (row.kind == workloads::CollectiveKind::all_reduce) return whole ? row.bytes / (*whole * 1e9) : 0;
    return row.bytes * (row.ranks - 1) / (2 * row.ranks * *wire * 1e9);
  }
  if (time) return *time * 1e-6;
  if (whole) return row.bytes / (*whole * 1e9);
  return wire ? row.bytes * collectives::bus_factor(row.kind, row.ranks) / (*wire * 1e9) : 0;
}

constexpr const char* needed[] = {"collective", "chip", "n_ranks", "nodes", "inter_net", "size_bytes"};

}  // namespace

Bytes MeasuredCollective::full_size() const {
  return collectives::full_size_of(kind, Bytes(static_cast<std::int64_t>(bytes)), ranks);
}

bool CollectiveErrors::meets() const {
  return is_long ? median_abs <= long_median_target && p90_abs <= long_p90_target : median_abs <= short_median_target;
}

bool has_collective_columns(const CsvTable& table) {
  return std::all_of(std::begin(needed), std::end(needed), [&](const char* column) { return table.has(column); });
}

std::vector<MeasuredCollective> read_measured_collectives(const CsvTable& table, const std::string& name) {
  std::vector<MeasuredCollective> rows;
  for (const auto& cells : table.rows()) {
    const auto kind = kind_of(cells.text("collective"));
    const auto bytes = cells.number("size_bytes");
    if (!kind || !bytes) continue;
    if (*bytes > static_cast<double>(collectives::most_full_size.value()) / most_ranks) {
      cells.problem("size_bytes", "more bytes than are simulated", "at most 15 TB");
      continue;
    }
    MeasuredCollective row{name,
                           cells.text("collective"),
                           cells.text("chip"),
                           cells.text("inter_net"),
                           cells.text("notes") + "; " + cells.text("verified"),
                           cells.where(),
                           *kind,
                           static_cast<int>(std::min<std::int64_t>(cells.integer("n_ranks"), most_ranks)),
                           static_cast<int>(std::min<std::int64_t>(cells.integer("nodes", 1), most_ranks)),
                           *bytes};
    if (row.ranks < 2) {
      cells.problem("n_ranks", "there is nobody to send to", "at least 2");
      continue;
    }
    row.seconds = seconds_of(row, cells);
    if (row.seconds > 0) rows.push_back(std::move(row));
  }
  return rows;
}

std::vector<ValidatedCollective> validate_collectives(const std::vector<MeasuredCollective>& rows,
                                                      const std::filesystem::path& catalog,
                                                      const std::function<void(topologies::FabricSpec&)>& change) {
  std::map<std::tuple<std::string, std::string, std::string, int, int>, Machine> known;
  std::vector<ValidatedCollective> validated;
  for (const auto& row : rows) {
    auto& machine = known[{row.chip, row.inter_net, row.notes, row.ranks, row.nodes}];
    if (!machine.groups) machine = contains(row.chip, "TPU") ? tpu(row, catalog) : nodes(row, catalog, change);
    const auto choice = machine.groups->choose(row.kind, row.full_size());
    validated.push_back({row, machine.network, choice.label, choice.cost.value()});
  }
  return validated;
}

double quantile(std::vector<double> values, double q) {
  std::sort(values.begin(), values.end());
  const double place = q * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const auto above = std::min(below + 1, values.size() - 1);
  return values[below] + (values[above] - values[below]) * (place - static_cast<double>(below));
}

std::vector<const ValidatedCollective*> worst_first(const std::vector<ValidatedCollective>& collectives) {
  std::vector<const ValidatedCollective*> rows;
  for (const auto& collective : collectives) rows.push_back(&collective);
  std::stable_sort(rows.begin(), rows.end(), [](const auto* a, const auto* b) {
    return std::abs(std::log1p(a->error())) > std::abs(std::log1p(b->error()));
  });
  return rows;
}

std::vector<CollectiveErrors> errors_of(const std::vector<ValidatedCollective>& collectives) {
  std::vector<std::string> tables;
  for (const auto& collective : collectives) {
    if (std::find(tables.begin(), tables.end(), collective.row.table) == tables.end())
      tables.push_back(collective.row.table);
  }
  std::vector<CollectiveErrors> made;
  for (const auto& table : tables) {
    std::map<std::pair<std::string, bool>, std::vector<const ValidatedCollective*>> groups;
    for (const auto& collective : collectives) {
      if (collective.row.table == table) groups[{collective.network, collective.row.is_long()}].push_back(&collective);
    }
    for (const auto& [key, group] : groups) {
      std::vector<double> errors, sizes;
      CollectiveErrors of{table, key.first, key.second, group.size(), 0, 0, 0, group.front()};
      for (const auto* collective : group) {
        errors.push_back(collective->error());
        sizes.push_back(std::abs(collective->error()));
        if (sizes.back() > std::abs(of.worst->error())) of.worst = collective;
      }
      of.median_abs = quantile(sizes, 0.5);
      of.p90_abs = quantile(sizes, 0.9);
      of.bias = quantile(errors, 0.5);
      made.push_back(of);
    }
  }
  return made;
}

}  // namespace lockstep::validation
