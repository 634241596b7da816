#include "tests/validation/collective_rows.hpp"

#include <algorithm>
#include <array>
#include <fstream>
#include <map>
#include <memory>
#include <stdexcept>
#include <string_view>
#include <tuple>

#include "sim/collectives/group_network.hpp"
#include "sim/collectives/nccl_size.hpp"
#include "topologies/fabrics/fabric.hpp"
#include "topologies/torus/torus.hpp"

namespace lockstep::test {
namespace {

/// What the columns chip and inter_net contain, node of the catalog, scale-up network. The first that fits.
struct NamedMachine {
  std::string_view chip, inter_net, node, scale_up;
};
constexpr std::array<NamedMachine, 17> machines{{{"p4de", "", "p4de-a100", "NVLink 3"},
                                                 {"p5en", "", "p5en-h200", "NVLink 4"},
                                                 {"EFA", "", "p5en-h200", "NVLink 4"},
                                                 {"p5", "", "p5-h100", "NVLink 4"},
                                                 {"A3 Mega", "", "a3-mega-h100", "NVLink 4"},
                                                 {"A3 High", "", "a3-high-h100", "NVLink 4"},
                                                 {"GCP A4", "", "a4-b200", "NVLink 5"},
                                                 {"GB200", "", "gb200-nvl72", "NVLink 5, rack"},
                                                 {"GB300", "", "gb300-nvl72", "NVLink 5, rack"},
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

bool contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

double number(const std::string& text) { return text.empty() ? 0 : std::stod(text); }

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

Machine tpu(const MeasuredCollective& row, const std::filesystem::path& catalog, Problems& problems) {
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

/// The network between units: the node's usual one, unless the row says that racks are joined by RoCE.
std::string fabric_of(const MeasuredCollective& row, const topologies::NodeSpec& node) {
  return node.chips > gpus_of_a_rack && contains(row.inter_net, "RoCE") ? "roce-400g" : node.fabric;
}

Machine nodes(const MeasuredCollective& row, const std::filesystem::path& catalog, Problems& problems,
              const std::function<void(topologies::FabricSpec&)>& change) {
  for (const auto& named : machines) {
    if (!contains(row.chip, named.chip) || !contains(row.inter_net, named.inter_net)) continue;
    topologies::NodeSpec node = topologies::load_node(catalog, named.node, problems);
    const auto fabric = fabric_of(row, node);
    topologies::ClusterSpec spec;
    spec.units = node.chips > gpus_of_a_rack ? std::max(1, row.ranks / gpus_of_a_rack) : row.nodes;
    if (const int used = row.ranks / spec.units; used < node.chips) node.chips = node.nics = used;
    const std::string text = row.chip + row.notes;
    if (contains(text, "NVLS off") || contains(text, "NVLS_ENABLE=0") || contains(text, "no SHARP"))
      node.in_network_reduction = false;
    if (spec.units > 1) spec.fabric = topologies::load_fabric(catalog, fabric, problems);
    if (!problems.empty()) throw std::runtime_error(problems.list().front().what);
    change(spec.fabric);
    Machine machine{spec.units > 1 ? fabric : std::string(named.scale_up), nullptr, nullptr, nullptr};
    spec.unit = std::move(node);
    machine.cluster = std::make_unique<topologies::Cluster>(build_cluster(spec));
    topologies::MeshAxis all{"all", {}};
    for (std::size_t i = 0; i < machine.cluster->axes().size(); ++i)
      all.factors.push_back({static_cast<int>(i), machine.cluster->axes()[i].size, 1});
    machine.group("all", {all});
    return machine;
  }
  throw std::runtime_error("no machine for " + row.chip);
}

}  // namespace

Bytes MeasuredCollective::full_size() const {
  return collectives::full_size_of(kind, Bytes(static_cast<std::int64_t>(size)), ranks);
}

std::vector<std::vector<std::string>> read_csv(const std::filesystem::path& file) {
  std::ifstream in(file);
  std::vector<std::vector<std::string>> rows;
  for (std::string line; std::getline(in, line);) {
    auto& cells = rows.emplace_back(1);
    bool quoted = false;
    for (const char c : line) {
      if (c == '"')
        quoted = !quoted;
      else if (c == ',' && !quoted)
        cells.emplace_back();
      else if (c != '\r')
        cells.back() += c;
    }
  }
  return rows;
}

std::vector<MeasuredCollective> read_measured_collectives(const std::filesystem::path& file) {
  enum Column : std::size_t {
    collective,
    chip,
    n_ranks,
    node_count,
    intra,
    inter,
    bytes,
    time,
    algbw,
    busbw,
    source,
    verified,
    notes,
    columns
  };
  std::vector<MeasuredCollective> rows;
  for (const auto& cells : read_csv(file)) {
    if (cells.size() != columns) throw std::runtime_error(file.string() + ": a row with other columns");
    const auto kind = kind_of(cells[collective]);
    if (!kind) continue;  // the header, psum
    MeasuredCollective row{cells[collective], cells[chip], cells[source], cells[notes] + "; " + cells[verified],
                           cells[inter]};
    row.kind = *kind;
    row.ranks = static_cast<int>(number(cells[n_ranks]));
    row.nodes = cells[node_count].empty() ? 1 : static_cast<int>(number(cells[node_count]));
    row.size = number(cells[bytes]);
    row.seconds = number(cells[time]) * 1e-6;
    if (contains(row.chip, "TPU")) {
      if (const double link = number(cells[busbw]); link > 0 && *kind == workloads::CollectiveKind::all_reduce)
        row.seconds = row.size / (number(cells[algbw]) * 1e9);
      else if (link > 0)
        row.seconds = row.size * (row.ranks - 1) / (2 * row.ranks * link * 1e9);
    } else if (row.seconds == 0 && number(cells[algbw]) > 0) {
      row.seconds = row.size / (number(cells[algbw]) * 1e9);
    } else if (row.seconds == 0 && number(cells[busbw]) > 0) {
      row.seconds = row.size * collectives::bus_factor(*kind, row.ranks) / (number(cells[busbw]) * 1e9);
    }
    if (row.size > 0 && row.seconds > 0) rows.push_back(std::move(row));
  }
  return rows;
}

std::vector<PredictedCollective> predict(const std::vector<MeasuredCollective>& rows,
                                         const std::filesystem::path& catalog,
                                         const std::function<void(topologies::FabricSpec&)>& change) {
  std::map<std::tuple<std::string, std::string, int, int>, Machine> known;
  std::vector<PredictedCollective> predicted;
  for (const auto& row : rows) {
    auto& machine = known[{row.chip, row.notes, row.ranks, row.nodes}];
    Problems problems;
    if (!machine.groups)
      machine = contains(row.chip, "TPU") ? tpu(row, catalog, problems) : nodes(row, catalog, problems, change);
    const auto choice = machine.groups->choose(row.kind, row.full_size());
    predicted.push_back({machine.network, choice.label, choice.cost.value()});
  }
  return predicted;
}

}  // namespace lockstep::test
