#pragma once
/// A collective algorithm from a file, as transfers between ranks.
#include <cstdint>
#include <string>
#include <vector>

#include "sim/core/indexed.hpp"
#include "workloads/sharding/collective_kind.hpp"

namespace lockstep::collectives {

using MemberId = std::int32_t;      ///< number of a rank in the file; the place of a member in its group
using ConnectionId = std::int32_t;  ///< number of a connection of a schedule
using TransferId = std::int32_t;    ///< number of a transfer of a schedule

/// A way from one rank to another that carries one transfer at a time. Two ranks may have several.
struct Connection {
  MemberId from, to;
};

struct ChunkTransfer {
  ConnectionId connection;
  std::int32_t chunks;            ///< that it carries, at least 1
  std::vector<TransferId> after;  ///< earlier transfers with an end in common, which have ended before it starts
};

/// A chunk is the larger buffer of one rank divided by `chunks`.
struct ChunkSchedule {
  std::string file, name;
  workloads::CollectiveKind kind = workloads::CollectiveKind::all_gather;
  std::string protocol;  ///< that the file asks for; "" if any will do
  std::int32_t ranks = 0, chunks = 0;
  Indexed<ConnectionId, Connection> connections;
  Indexed<TransferId, ChunkTransfer> transfers;  ///< in an order in which they can run
};

}  // namespace lockstep::collectives
