#pragma once
/// A dump of ibnetdiscover: a record for each switch and each channel adapter, with a line for each port that has a
/// cable. The same layout, with names in place of GUIDs and without descriptions, is that of ibsim's nets.
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "topologies/graph/network_builder_private.hpp"

namespace lockstep::topologies {

struct IbPort {
  int number = 0;
  std::string_view remote;  ///< id of the record at the other end
  int remote_port = 0;
  std::string_view speed;  ///< "4xNDR"; empty where the line has none
  TextPlace place;
};

struct IbRecord {
  bool is_switch = false;
  bool aggregates = false;  ///< a switch's own adapter, for reductions in the network: no place for a cable
  std::string_view id, description, system_guid;
  TextPlace place;
  std::vector<IbPort> ports;
};

struct IbDump {
  std::vector<IbRecord> records;
  std::unordered_map<std::string_view, std::size_t> by_id;  ///< for looking up, never walked
  int cut_line = 0;                                         ///< the last line, where it has no end; 0: it has
};

/// The records of a dump. Lines that cannot be read, records that are missing and cables whose two ends disagree are
/// problems.
[[nodiscard]] IbDump read_ib_dump(std::string_view text, NetworkBuilder& builder);

/// Sorts the ports of each record, and reports what contradicts itself or is missing.
void check_ib_dump(IbDump& dump, NetworkBuilder& builder);

/// An adapter of a dump, by the host that it sits in.
struct IbHostAdapter {
  std::size_t record = 0;
  std::string name;  ///< "mlx5_0"; may be empty
};
struct IbHost {
  std::string name;
  std::vector<IbHostAdapter> adapters;
};
/// Adapters grouped into hosts: by the host's name in their description, "gpu-017 mlx5_0", and otherwise by the GUID of
/// the system that they belong to. Hosts and their adapters come in the order of their names.
[[nodiscard]] std::vector<IbHost> group_ib_hosts(const IbDump& dump, NetworkBuilder& builder);

/// The rate of a cable of so many lanes, "4xNDR"; none for a text of another form or a speed without a known rate.
[[nodiscard]] std::optional<BytesPerSecond> infiniband_rate(std::string_view speed);
/// "SDR, DDR, ...".
[[nodiscard]] std::string infiniband_speeds();

}  // namespace lockstep::topologies
