#include "sim/studies/validation/measured_collectives.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <map>
#include <memory>
#include <optional>
#include <regex>
#include <sstream>
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
constexpr double shortest = 1e-9, longest = 1e6;  // seconds

bool contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

std::string lower_case(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

constexpr const char* known_kinds = "one of all_reduce, all_gather, reduce_scatter, reduce, all_to_all";

/// By the first word, "all_to_all", "alltoall" and "alltoall_perf" alike; remarks such as "(1 axis of 4x4x4)" may
/// follow.
std::optional<workloads::CollectiveKind> kind_of(const std::string& text) {
  auto word = lower_case(text.substr(0, text.find_first_of(" (")));
  if (word.ends_with("_perf")) word.resize(word.size() - 5);
  std::erase_if(word, [](char c) { return c == '_' || c == '-'; });
  constexpr std::pair<std::string_view, workloads::CollectiveKind> kinds[] = {
      {"allreduce", workloads::CollectiveKind::all_reduce},
      {"allgather", workloads::CollectiveKind::all_gather},
      {"reducescatter", workloads::CollectiveKind::reduce_scatter},
      {"reduce", workloads::CollectiveKind::reduce},
      {"alltoall", workloads::CollectiveKind::all_to_all}};
  const auto* found =
      std::find_if(std::begin(kinds), std::end(kinds), [&](const auto& known) { return known.first == word; });
  return found == std::end(kinds) ? std::nullopt : std::optional(found->second);
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

bool is_tpu(const MeasuredCollective& row) { return lower_case(row.chip).starts_with("tpu"); }

/// "tpu-v5e" of "TPU v5e", "tpu-v7x" of "TPU7x" and "TPU v6e-256"; "" if the catalog has no such TPU.
std::string tpu_of(const MeasuredCollective& row, const std::filesystem::path& catalog) {
  const auto words = lower_case(row.chip);
  for (const auto& name : topologies::chip_names(catalog)) {
    if (!name.starts_with("tpu-v")) continue;
    const auto generation = name.substr(std::string_view("tpu-v").size());
    const auto at = words.find(generation);
    if (at == std::string::npos || at == 0 || !(words[at - 1] == 'v' || words[at - 1] == 'u')) continue;
    const auto after = at + generation.size();
    if (after == words.size() || std::isalnum(static_cast<unsigned char>(words[after])) == 0) return name;
  }
  return "";
}

/// The numbers of "4x4x4" in a remark; none without such a word.
std::vector<int> shape_in(const std::string& text) {
  static const std::regex shape(R"(\b(\d{1,4}(?:x\d{1,4}){1,2})\b)");
  std::smatch match;
  if (!std::regex_search(text, match, shape)) return {};
  std::vector<int> sizes;
  std::istringstream in(match[1].str());
  for (std::string part; std::getline(in, part, 'x');) sizes.push_back(std::stoi(part));
  return sizes;
}

/// The slice of so many chips whose axes have the least sum, one that its vendor offers where there is one. Empty:
/// none.
std::vector<int> slice_of(const topologies::Chip& chip, int chips) {
  std::vector<int> best;
  std::pair<bool, int> cost;
  const auto consider = [&](std::vector<int> shape) {
    const topologies::TorusSpec spec{chip, shape, {}};
    if (!topologies::why_not_a_slice(spec).empty()) return;
    int sum = 0;
    for (const int size : shape) sum += size;
    const std::pair its{!topologies::slice_note(spec).empty(), sum};
    if (best.empty() || its < cost) {
      best = std::move(shape);
      cost = its;
    }
  };
  const bool is_flat = chip.torus->pod.size() == 2;
  for (int x = 1; x <= chips; ++x) {
    if (chips % x != 0) continue;
    if (is_flat) consider({x, chips / x});
    for (int y = 1; !is_flat && y <= chips / x; ++y) {
      if (chips / x % y == 0) consider({x, y, chips / x / y});
    }
  }
  return best;
}

using Change = std::function<void(topologies::FabricSpec&)>;

void refuse(const MeasuredCollective& row, std::string_view column, std::string what, std::string expected,
            Problems& problems) {
  problems.add({column == "chip" ? row.chip_where : row.ranks_where, std::string(column),
                row.chip + " with " + std::to_string(row.ranks) + " ranks: " + std::move(what), std::move(expected)});
}

/// A cluster, and on which of its axes the group lies.
struct Place {
  topologies::ClusterSpec nodes;
  std::optional<topologies::TorusSpec> torus;  ///< in place of nodes
  int ring = -1;                               ///< the one axis of the torus that the group is; -1: the whole cluster
  std::string network;
};

/// One axis of a slice where the row says so ("1 axis of 4x4x4"), else a whole slice.
std::optional<Place> tpu(const MeasuredCollective& row, const std::filesystem::path& catalog, Problems& problems) {
  const auto name = tpu_of(row, catalog);
  if (name.empty()) {
    refuse(row, "chip", "no TPU of the catalog has this name", "tpu-v4, tpu-v5e, tpu-v5p, tpu-v6e or tpu-v7x",
           problems);
    return std::nullopt;
  }
  const auto chip = topologies::load_chip(catalog, name, problems);
  auto shape = shape_in(row.text);
  Place place;
  place.network = "ICI of " + name;
  if (contains(row.text, "axis of")) {
    const auto at = std::find(shape.rbegin(), shape.rend(), row.ranks);
    if (at == shape.rend()) {
      refuse(row, "n_ranks", "no axis of the slice has so many chips", "the chips of one of its axes", problems);
      return std::nullopt;
    }
    place.ring = static_cast<int>(shape.rend() - at) - 1;
  } else if (shape.empty()) {
    shape = slice_of(chip, row.ranks);
  } else {
    std::int64_t chips = 1;
    for (const int size : shape) chips *= size;
    if (chips != row.ranks) {
      refuse(row, "n_ranks", "the slice has " + std::to_string(chips) + " chips", "as many ranks", problems);
      return std::nullopt;
    }
  }
  place.torus = topologies::TorusSpec{chip, shape, {}};
  const auto why = shape.empty() ? "no slice has so many chips" : topologies::why_not_a_slice(*place.torus);
  if (why.empty()) return place;
  refuse(row, "n_ranks", why, "the chips of a slice of " + name, problems);
  return std::nullopt;
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

std::optional<Place> nodes(const MeasuredCollective& row, const std::filesystem::path& catalog, Problems& problems) {
  const auto named = machine_of(row, catalog);
  if (!named) {
    refuse(row, "chip", "no machine of this name has a node in the catalog", "a node such as dgx-h100", problems);
    return std::nullopt;
  }
  topologies::NodeSpec node = topologies::load_node(catalog, named->node, problems);
  const auto fabric = fabric_of(row, node);
  Place place;
  auto& spec = place.nodes;
  spec.units = node.chips > gpus_of_a_rack ? std::max(1, row.ranks / gpus_of_a_rack) : row.nodes;
  const int used = row.ranks / spec.units;
  if (used * spec.units != row.ranks || used > node.chips) {
    refuse(row, "n_ranks", "they do not fill the nodes evenly",
           "ranks in equal parts on nodes of up to " + std::to_string(node.chips), problems);
    return std::nullopt;
  }
  if (used < node.chips) node.chips = node.nics = used;
  const std::string text = row.chip + row.notes;
  if (contains(text, "NVLS off") || contains(text, "NVLS_ENABLE=0") || contains(text, "no SHARP"))
    node.in_network_reduction = false;
  // Google's plugin runs without LL128 unless its profile for LL128 is set.
  if (fabric == "gpudirect-tcpxo" && !contains(row.notes, "LL128 profile"))
    std::erase_if(node.protocols, [](const auto& protocol) { return protocol.name == "LL128"; });
  if (spec.units > 1) spec.fabric = topologies::load_fabric(catalog, fabric, problems);
  place.network = spec.units > 1 ? fabric : std::string(named->scale_up);
  if (spec.units > 1 && named->chip.empty())
    place.network += " of " + std::string(named->node);  // a fabric joins many nodes
  spec.unit = std::move(node);
  if (const auto why = topologies::why_not_a_cluster(spec); !why.empty()) {
    refuse(row, "n_ranks", why.front().what, why.front().expected, problems);
    return std::nullopt;
  }
  return place;
}

std::optional<Place> place_of(const MeasuredCollective& row, const std::filesystem::path& catalog, Problems& problems) {
  return is_tpu(row) ? tpu(row, catalog, problems) : nodes(row, catalog, problems);
}

Machine built(const Place& place) {
  Machine machine{place.network, nullptr, nullptr, nullptr};
  machine.cluster = std::make_unique<topologies::Cluster>(place.torus ? topologies::build_torus(*place.torus)
                                                                      : build_cluster(place.nodes));
  topologies::MeshAxis group{"group", {}}, rest{"rest", {}};
  for (int i = 0; i < static_cast<int>(machine.cluster->axes().size()); ++i) {
    auto& axis = place.ring < 0 || i == place.ring ? group : rest;
    axis.factors.push_back({i, machine.cluster->axes()[static_cast<std::size_t>(i)].size, 1});
  }
  std::vector axes{group};
  if (!rest.factors.empty()) axes.insert(axes.begin(), rest);
  machine.group("group", std::move(axes));
  return machine;
}

/// Of a row everything that its machine depends on.
auto machine_key(const MeasuredCollective& row) {
  return std::tuple(row.chip, row.inter_net, row.notes, row.ranks, row.nodes, is_tpu(row) ? row.text : std::string());
}

/// None for an empty cell, or a bandwidth that is rounded to zero as those of short messages are.
std::optional<double> bandwidth(const CsvRow& cells, std::string_view column) {
  if (cells.text(column).find_first_not_of("0.") == std::string::npos) return std::nullopt;
  return cells.number(column);
}

/// The measured time; without it from size and bandwidth. Cells that say none are told.
std::optional<double> seconds_of(const MeasuredCollective& row, const CsvRow& cells, std::size_t told,
                                 const Problems& problems) {
  const auto time = cells.number("time_us"), whole = bandwidth(cells, "algbw_gbs"),
             wire = bandwidth(cells, "busbw_gbs");
  if (problems.size() > told) return std::nullopt;
  std::string_view column = "time_us";
  double seconds = 0;
  if (time) {
    seconds = *time * 1e-6;
  } else if (whole) {
    column = "algbw_gbs";
    seconds = row.bytes / (*whole * 1e9);
  } else if (wire) {
    column = "busbw_gbs";
    seconds = row.bytes * collectives::bus_factor(row.kind, row.ranks) / (*wire * 1e9);
  } else {
    cells.problem(column, "the row has no time", "a time, or a bandwidth above 0 in algbw_gbs or busbw_gbs");
    return std::nullopt;
  }
  if (seconds >= shortest && seconds <= longest) return seconds;
  cells.problem(column, "'" + cells.text(column) + "' is not that of a collective", "a time from 1 ns to 1e6 s");
  return std::nullopt;
}

/// A count of at most most_ranks.
int count(const CsvRow& cells, std::string_view column, std::optional<std::int64_t> fallback = std::nullopt) {
  const auto value = cells.integer(column, fallback);
  if (value <= most_ranks) return static_cast<int>(value);
  cells.problem(column, "'" + cells.text(column) + "' is more than is simulated",
                "at most " + std::to_string(most_ranks));
  return static_cast<int>(most_ranks);
}

/// The row as the table has it; none where something is wrong with it, which is told.
std::optional<MeasuredCollective> read_row(const CsvRow& cells, const std::string& table, const Problems& problems) {
  const auto told = problems.size();
  const auto kind = kind_of(cells.text("collective"));
  if (!kind) cells.problem("collective", "'" + cells.text("collective") + "' is not known", known_kinds);
  if (cells.text("chip").empty()) cells.problem("chip", "is empty", "the machine, such as dgx-h100");
  const auto bytes = cells.number("size_bytes");
  const double most = static_cast<double>(collectives::most_full_size.value()) / static_cast<double>(most_ranks);
  if (cells.text("size_bytes").empty()) cells.problem("size_bytes", "is empty", "a number of bytes");
  if (bytes && *bytes > most) cells.problem("size_bytes", "more bytes than are simulated", "at most 15 TB");
  if (bytes && *bytes < 1) cells.problem("size_bytes", "'" + cells.text("size_bytes") + "' is no byte", "at least 1");
  MeasuredCollective row{table,
                         cells.text("collective"),
                         cells.text("chip"),
                         cells.text("inter_net"),
                         cells.text("notes") + "; " + cells.text("verified"),
                         cells.where(),
                         cells.where("chip"),
                         cells.where("n_ranks"),
                         kind.value_or(workloads::CollectiveKind::all_reduce),
                         count(cells, "n_ranks"),
                         count(cells, "nodes", 1),
                         bytes.value_or(1)};
  if (row.ranks < 2 && problems.size() == told) cells.problem("n_ranks", "there is nobody to send to", "at least 2");
  const auto seconds = seconds_of(row, cells, told, problems);
  if (!seconds) return std::nullopt;
  row.seconds = *seconds;
  return row;
}

constexpr const char* needed[] = {"collective", "chip", "n_ranks", "size_bytes"};

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

std::vector<MeasuredCollective> read_measured_collectives(const CsvTable& table, const std::string& name,
                                                          const Problems& problems) {
  std::vector<MeasuredCollective> rows;
  if (!table.has("time_us") && !table.has("algbw_gbs") && !table.has("busbw_gbs")) {
    table.problem("time_us", "the column is missing", "a column of times, or of bandwidths: algbw_gbs or busbw_gbs");
    return rows;
  }
  for (const auto& cells : table.rows()) {
    if (!cells.text("left_out").empty()) continue;
    if (auto row = read_row(cells, name, problems)) rows.push_back(std::move(*row));
  }
  return rows;
}

void check_machines(const std::vector<MeasuredCollective>& rows, const std::filesystem::path& catalog,
                    Problems& problems) {
  std::map<decltype(machine_key(rows.front())), bool> is_known;
  for (const auto& row : rows) {
    if (is_known.emplace(machine_key(row), true).second) (void)place_of(row, catalog, problems);
  }
}

std::vector<ValidatedCollective> validate_collectives(const std::vector<MeasuredCollective>& rows,
                                                      const std::filesystem::path& catalog, const Change& change) {
  Problems problems;
  check_machines(rows, catalog, problems);
  problems.throw_if_any();
  std::map<decltype(machine_key(rows.front())), Machine> known;
  std::vector<ValidatedCollective> validated;
  for (const auto& row : rows) {
    auto& machine = known[machine_key(row)];
    if (!machine.groups) {
      auto place = place_of(row, catalog, problems);
      if (place->nodes.units > 1) change(place->nodes.fabric);
      machine = built(*place);
    }
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
