#include "topologies/graph/read_network.hpp"

#include <algorithm>
#include <fstream>
#include <map>
#include <sstream>

#include "sim/core/csv_table.hpp"
#include "sim/core/quantity_text.hpp"

namespace lockstep::topologies {
namespace {

/// A list of cables: `source,source_kind,target,target_kind,count,rate,latency`. A host's end may name its adapter
/// behind a slash; each cable to a host without one has an adapter of its own.
class EdgeList {
 public:
  explicit EdgeList(const CsvTable& table) : table_(table) {}

  NetworkGraph read() {
    if (!table_.require({"source", "source_kind", "target", "target_kind"})) return {};
    for (const CsvRow& row : table_.rows()) {
      Cable cable;
      cable.count = static_cast<int>(std::min<std::int64_t>(row.integer("count", 1), 4096));
      quantity(row, "rate", parse_bytes_per_second, cable.rate);
      quantity(row, "latency", parse_seconds, cable.latency);
      cable.from = end(row, "source");
      cable.to = end(row, "target");
      graph_.cables.push_back(std::move(cable));
    }
    return std::move(graph_);
  }

 private:
  template <class Parse, class Value>
  static void quantity(const CsvRow& row, std::string_view column, Parse parse, Value& value) {
    const std::string text = row.text(column);
    if (text.empty()) return;
    const auto parsed = parse(text);
    if (const auto* error = std::get_if<QuantityError>(&parsed))
      return row.problem(column, error->what, error->expected);
    value = std::get<0>(parsed);
  }

  CableEnd end(const CsvRow& row, const std::string& column) {
    const std::string name = row.text(column), kind = row.text(column + "_kind");
    if (kind == "switch") {
      const auto [known, is_new] = switches_.try_emplace(name, graph_.switches.count());
      if (is_new) graph_.switches.push_back({name});
      return SwitchEnd{known->second};
    }
    if (kind != "host") row.problem(column + "_kind", "'" + kind + "' is no kind", "host or switch");
    const auto slash = name.find('/');
    const auto [known, is_new] = hosts_.try_emplace(name.substr(0, slash), graph_.hosts.count());
    if (is_new) graph_.hosts.push_back({known->first, {}});
    auto& adapters = graph_.hosts[known->second].adapters;
    const std::string adapter =
        slash == std::string::npos ? "nic" + std::to_string(adapters.size()) : name.substr(slash + 1);
    const auto place = std::find(adapters.begin(), adapters.end(), adapter);
    const int number = static_cast<int>(place - adapters.begin());
    if (place == adapters.end()) adapters.push_back(adapter);
    return AdapterEnd{known->second, number};
  }

  const CsvTable& table_;
  NetworkGraph graph_;
  std::map<std::string, HostId> hosts_;
  std::map<std::string, SwitchId> switches_;
};

}  // namespace

NetworkImport read_network(const std::filesystem::path& file, Problems& problems) {
  const CsvTable table(file, problems);
  NetworkImport import{EdgeList(table).read(), "edge list", {}};
  import.graph.name = file.stem().string();
  return import;
}

NetworkImport read_network_text(std::string_view text, const std::string& file, Problems& problems) {
  const CsvTable table(text, file, problems);
  return {EdgeList(table).read(), "edge list", {}};
}

}  // namespace lockstep::topologies
