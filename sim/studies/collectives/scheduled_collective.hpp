#pragma once
/// A collective algorithm from a file on all groups of an axis, as operations of a program: one for each transfer,
/// which waits for what the file says and for nothing else.
#include <string>
#include <vector>

#include "sim/collectives/files/chunk_schedule.hpp"
#include "sim/program/program.hpp"
#include "topologies/cluster/cluster.hpp"
#include "topologies/cluster/cluster_spec.hpp"
#include "topologies/placement/mesh.hpp"

namespace lockstep::studies {

class ScheduledCollective {
 public:
  /// Rank r of the schedule is the member r of every group, in the order of the cluster's devices (node by node). All
  /// must outlive this. Throws ConfigError if the groups
  /// have more or fewer members than the schedule has ranks, or make too many flows.
  ScheduledCollective(const topologies::Cluster& cluster, const topologies::Mesh& mesh, const std::string& axis,
                      const collectives::ChunkSchedule& schedule);

  struct Added {
    program::ProgramOpId first, last;  ///< start and end of all groups, each an operation of all members
    std::string label;                 ///< the schedule's name, with the protocol
    Seconds alone;    ///< no less than the longest way through transfers that share no link, and the busiest link
    Seconds latency;  ///< of the longest way through transfers of no bytes
  };
  /// Adds the collective of this size, as nccl-tests print it, after the program's last operation. Of the protocols
  /// that the file and the cluster leave open, the one with the least `alone`.
  Added add(program::Program& program, Bytes size);

 private:
  /// A connection of the schedule on all groups.
  struct Line {
    std::string name;
    std::vector<collectives::ProgramGroup> groups;
    Seconds latency{0};           ///< of its links, on the group where that is longest
    double seconds_for_byte = 0;  ///< alone, on the group where that is longest
    bool remote = false;          ///< leads from unit to unit in some group
    program::StreamId stream = 0;
  };
  struct Estimate {
    Seconds alone{0}, latency{0};
  };
  void lay_line(collectives::ConnectionId id, const std::vector<topologies::Group>& groups);
  void find_streams();
  void find_busiest_link();
  void open(program::Program& program);
  [[nodiscard]] Seconds launch(const topologies::Protocol& protocol) const;
  [[nodiscard]] Seconds step(collectives::ConnectionId id, const topologies::Protocol& protocol) const;
  [[nodiscard]] Estimate estimate(double chunk_bytes, const topologies::Protocol& protocol) const;
  [[nodiscard]] std::vector<topologies::Protocol> protocols() const;
  program::ProgramOpId add_barrier(program::Program& program, Seconds latency,
                                   const std::vector<program::ProgramOpId>& after) const;

  const topologies::Cluster& cluster_;
  const topologies::Mesh& mesh_;
  const collectives::ChunkSchedule& schedule_;
  std::vector<collectives::ProgramGroup> members_;
  Indexed<collectives::ConnectionId, Line> lines_;
  double busiest_ = 0;  ///< seconds for a chunk of one byte on the link that carries most for its bandwidth
  program::StreamId streams_ = 0;
  // In the program, once it has them.
  program::CommunicatorId barrier_ = -1, first_line_ = -1;
  program::StreamId first_stream_ = 0;
};

}  // namespace lockstep::studies
