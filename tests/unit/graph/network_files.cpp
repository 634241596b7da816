#include "tests/unit/graph/network_files.hpp"

#include <algorithm>
#include <array>
#include <cstdio>

#include "sim/core/quantity_text.hpp"
#include "tests/source_dir.hpp"

namespace lockstep::test {
namespace {

std::string end_name(const topologies::NetworkGraph& graph, const topologies::CableEnd& end) {
  if (const auto* adapter = std::get_if<topologies::AdapterEnd>(&end)) {
    const topologies::NetworkHost& host = graph.hosts[adapter->host];
    return host.name + ":" + host.adapters[position_of(adapter->adapter)];
  }
  return graph.switches[std::get<topologies::SwitchEnd>(end).network_switch].name;
}

/// "S-00000000000000a1" for the switch 161.
std::string id_of(char kind, int number) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%c-%016x", kind, static_cast<unsigned>(number));
  return text.data();
}

/// The records of a dump as they are made: lines of ports under the head of each.
class Dump {
 public:
  void record(const std::string& id, const std::string& description) {
    const bool is_switch = id.starts_with('S');
    ids_.push_back(id);
    texts_.push_back("sysimgguid=0x" + id.substr(2) + "\n" + (is_switch ? "Switch\t65 \"" : "Ca\t1 \"") + id +
                     "\"\t# \"" + description + "\"\n");
    ports_.push_back(0);
  }
  void cable(const std::string& from, const std::string& to) {
    const std::size_t a = at(from), b = at(to);
    const int port = ++ports_[a], other = ++ports_[b];
    line(a, port, to, other);
    line(b, other, from, port);
  }
  [[nodiscard]] std::string text() const {
    std::string all = "# Topology file\n";
    for (const std::string& record : texts_) all += record + "\n";
    return all;
  }

 private:
  std::size_t at(const std::string& id) const {
    return static_cast<std::size_t>(std::find(ids_.begin(), ids_.end(), id) - ids_.begin());
  }
  void line(std::size_t record, int port, const std::string& to, int other) {
    texts_[record] +=
        "[" + std::to_string(port) + "]\t\"" + to + "\"[" + std::to_string(other) + "]\t# \"x\" lid 1 4xNDR\n";
  }

  std::vector<std::string> ids_, texts_;
  std::vector<int> ports_;
};

}  // namespace

std::string network_file(const std::string& name) { return std::string(source_dir) + "/tests/data/networks/" + name; }

topologies::NetworkImport import_file(const std::string& name) {
  Problems problems;
  auto import = topologies::read_network(network_file(name), problems);
  problems.throw_if_any();
  return import;
}

topologies::NetworkImport import_text(std::string_view text) {
  Problems problems;
  auto import = topologies::read_network_text(text, "net", problems);
  problems.throw_if_any();
  return import;
}

std::vector<std::string> refusals(std::string_view text) {
  Problems problems;
  (void)topologies::read_network_text(text, "net", problems);
  std::vector<std::string> lines;
  for (const Problem& problem : problems.list()) lines.push_back(problem.to_string());
  return lines;
}

std::vector<std::string> cables_of(const topologies::NetworkGraph& graph) {
  std::vector<std::string> lines;
  for (const topologies::Cable& cable : graph.cables) {
    std::string line =
        end_name(graph, cable.from) + " " + std::to_string(cable.count) + "x " + end_name(graph, cable.to);
    if (cable.rate) line += " " + exact(cable.rate->value() * 8 / 1e9) + " Gb/s";
    if (cable.latency) line += " " + format(*cable.latency);
    if (!cable.label.empty()) line += " " + cable.label;
    lines.push_back(line);
  }
  return lines;
}

std::string leaf_spine_dump(int leaves, int hosts, int spines, int cables) {
  Dump dump;
  for (int leaf = 0; leaf < leaves; ++leaf) dump.record(id_of('S', leaf), "leaf-" + std::to_string(leaf));
  for (int spine = 0; spine < spines; ++spine)
    dump.record(id_of('S', leaves + spine), "spine-" + std::to_string(spine));
  for (int leaf = 0; leaf < leaves; ++leaf) {
    for (int host = leaf * hosts; host < (leaf + 1) * hosts; ++host) {
      dump.record(id_of('H', host), "gpu-" + std::to_string(host) + " mlx5_0");
      dump.cable(id_of('H', host), id_of('S', leaf));
    }
    for (int cable = 0; cable < spines * cables; ++cable)
      dump.cable(id_of('S', leaf), id_of('S', leaves + cable / cables));
  }
  for (int one = 0; one < leaves + spines; ++one) {
    dump.record(id_of('H', leaves * hosts + one), "Mellanox Technologies Aggregation Node");
    dump.cable(id_of('H', leaves * hosts + one), id_of('S', one));
  }
  return dump.text();
}

}  // namespace lockstep::test
