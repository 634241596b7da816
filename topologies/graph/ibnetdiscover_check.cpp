#include <algorithm>

#include "topologies/graph/ibnetdiscover_private.hpp"

namespace lockstep::topologies {
namespace {

std::string end_name(const IbRecord& record, int port) {
  return "'" + std::string(record.id) + "' port " + std::to_string(port);
}

/// Whether the other end of a cable says the same of it.
void check_other_end(const IbDump& dump, const IbRecord& record, const IbPort& port, NetworkBuilder& builder) {
  const IbRecord& remote = dump.records[dump.by_id.at(port.remote)];
  const auto back = std::lower_bound(remote.ports.begin(), remote.ports.end(), port.remote_port,
                                     [](const IbPort& one, int number) { return one.number < number; });
  const std::string cable =
      "the cable from " + end_name(record, port.number) + " to " + end_name(remote, port.remote_port);
  if (back == remote.ports.end() || back->number != port.remote_port)
    return builder.problem(port.place, "", cable + " is missing at its other end", "a line for each end of a cable");
  if (back->remote != record.id || back->remote_port != port.number) {
    return builder.problem(port.place, "",
                           cable + " leads elsewhere at its other end, in line " + std::to_string(back->place.line),
                           "two ends that agree");
  }
  if (back->speed != port.speed) {
    builder.problem(port.place, "",
                    cable + " has the speed " + std::string(port.speed) + " here and " + std::string(back->speed) +
                        " in line " + std::to_string(back->place.line),
                    "two ends that agree");
  }
}

}  // namespace

void check_ib_dump(IbDump& dump, NetworkBuilder& builder) {
  std::vector<std::string> missing;
  TextPlace first_missing;
  for (IbRecord& record : dump.records) {
    std::stable_sort(record.ports.begin(), record.ports.end(),
                     [](const IbPort& one, const IbPort& other) { return one.number < other.number; });
    for (std::size_t i = 1; i < record.ports.size(); ++i) {
      if (record.ports[i].number == record.ports[i - 1].number)
        builder.problem(record.ports[i].place, "", end_name(record, record.ports[i].number) + " appears twice",
                        "each port once");
    }
  }
  for (const IbRecord& record : dump.records) {
    for (const IbPort& port : record.ports) {
      if (builder.gives_up()) return;
      if (dump.by_id.contains(port.remote)) {
        check_other_end(dump, record, port, builder);
      } else if (std::find(missing.begin(), missing.end(), port.remote) == missing.end() && missing.size() < 1000) {
        if (missing.empty()) first_missing = port.place;
        missing.emplace_back(port.remote);
      }
      if (!port.speed.empty() && !infiniband_rate(port.speed))
        builder.problem(port.place, "", "'" + std::string(port.speed) + "' is no known speed",
                        "1 to 12 lanes of one of " + infiniband_speeds());
    }
  }
  if (!missing.empty()) {
    builder.problem(first_missing, "", "no record of " + some_of(missing) + ", to which cables lead",
                    "a whole dump; this one seems to be cut off");
  }
}

}  // namespace lockstep::topologies
