// ibnetdiscover, the list of an InfiniBand fabric's switches, adapters and cables.
#include <map>

#include "topologies/graph/ibnetdiscover_private.hpp"
#include "topologies/graph/network_format_private.hpp"
#include "topologies/graph/network_text_private.hpp"

namespace lockstep::topologies {
namespace {

bool recognises(std::string_view head) {
  return any_line(head, [](std::string_view line) {
    LineScan scan(line, 1);
    const std::string_view kind = scan.word();
    if (kind != "Switch" && kind != "Ca" && kind != "Hca" && kind != "SW" && kind != "CA")
      return line.starts_with("sysimgguid=") || line.starts_with("switchguid=");
    scan.skip_space();
    return scan.number().has_value();
  });
}

/// Names of switches: their descriptions, with the GUID where several have the same.
std::vector<std::string> switch_names(const IbDump& dump) {
  std::map<std::string_view, int> uses;
  for (const IbRecord& record : dump.records) ++uses[record.description];
  std::vector<std::string> names;
  for (const IbRecord& record : dump.records) {
    if (record.description.empty())
      names.emplace_back(record.id);
    else if (uses[record.description] > 1)
      names.push_back(std::string(record.description) + " (" + std::string(record.id) + ")");
    else
      names.emplace_back(record.description);
  }
  return names;
}

/// Adds hosts, and returns for each record of an adapter the ends of its ports.
std::map<std::pair<std::size_t, int>, CableEnd> add_ends(const IbDump& dump, NetworkBuilder& builder) {
  std::map<std::pair<std::size_t, int>, CableEnd> ends;
  for (const IbHost& host : group_ib_hosts(dump, builder)) {
    const auto id = builder.add_host(host.name, dump.records[host.adapters.front().record].place);
    if (!id) continue;
    for (const IbHostAdapter& adapter : host.adapters) {
      const auto& ports = dump.records[adapter.record].ports;
      for (const IbPort& port : ports) {
        const std::string of_port = ports.size() > 1 ? "port" + std::to_string(port.number) : "";
        const std::string name = adapter.name + (adapter.name.empty() || of_port.empty() ? "" : "/") + of_port;
        ends.emplace(std::pair(adapter.record, port.number), builder.add_adapter(*id, name));
      }
    }
  }
  return ends;
}

void note_what_is_left_out(const IbDump& dump, NetworkBuilder& builder) {
  std::size_t aggregation = 0;
  bool has_speeds = false;
  for (const IbRecord& record : dump.records) {
    if (record.aggregates) ++aggregation;
    for (const IbPort& port : record.ports) has_speeds = has_speeds || !port.speed.empty();
  }
  if (aggregation > 0) {
    builder.note("Left out: " + counted(aggregation, "aggregation node") +
                 ", by which switches reduce in the network and to which no cable leads.");
  }
  if (!has_speeds) builder.note("The file does not say how fast the cables are.");
}

void read(std::string_view text, NetworkBuilder& builder) {
  const IbDump dump = read_ib_dump(text, builder);
  if (!builder.problems().empty()) return;
  note_what_is_left_out(dump, builder);
  auto ends = add_ends(dump, builder);
  const auto names = switch_names(dump);
  for (std::size_t i = 0; i < dump.records.size(); ++i) {
    if (!dump.records[i].is_switch) continue;
    const auto id = builder.add_switch(names[i], dump.records[i].place);
    if (!id) continue;
    for (const IbPort& port : dump.records[i].ports) ends.emplace(std::pair(i, port.number), SwitchEnd{*id});
  }
  for (std::size_t i = 0; i < dump.records.size(); ++i) {
    for (const IbPort& port : dump.records[i].ports) {
      const std::size_t remote = dump.by_id.at(port.remote);
      if (std::pair(remote, port.remote_port) < std::pair(i, port.number)) continue;  // each cable has two lines
      const auto from = ends.find({i, port.number}), to = ends.find({remote, port.remote_port});
      if (from == ends.end() || to == ends.end()) continue;  // an aggregation node
      builder.connect({from->second, to->second, 1, infiniband_rate(port.speed), std::nullopt, std::string(port.speed)},
                      port.place);
    }
  }
}

}  // namespace

extern const NetworkFormat ibnetdiscover_format;
const NetworkFormat ibnetdiscover_format{"ibnetdiscover", recognises, read};

}  // namespace lockstep::topologies
