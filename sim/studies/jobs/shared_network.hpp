#pragma once
/// What jobs on one network have in common: its file, its hosts, and the links between its switches.
#include <vector>

#include "sim/core/indexed.hpp"
#include "sim/studies/jobs/job_study.hpp"
#include "topologies/cluster/cluster.hpp"

namespace lockstep::jobs {

/// Jobs whose fabric is generated, on one that is large enough for all (`nodes`: of it; 0: as many as they have
/// together) and written out as a file would describe it, one job after another on its hosts. Others stay as they are.
/// Throws ConfigError where the fabrics or NICs differ, or the fabric cannot be as large.
[[nodiscard]] std::vector<Job> on_written_network(const std::vector<Job>& jobs, std::int32_t nodes);

/// Throws ConfigError with every reason why the jobs cannot be on one network: no network with hosts, another one, a
/// host of two jobs, cables of other rates.
void check_one_network(const std::vector<Job>& jobs);

/// Throws ConfigError where a job has nodes of several kinds, which are those of its own hosts.
void check_hosts_can_change(const std::vector<Job>& jobs);

/// The graph that all jobs have.
[[nodiscard]] const topologies::NetworkGraph& graph_of(const scenario::Scenario& scenario);
/// The hosts of a job, in the order of its ranks.
[[nodiscard]] std::vector<topologies::HostId> hosts_of(const scenario::Scenario& scenario);
[[nodiscard]] std::vector<std::string> host_names(const scenario::Scenario& scenario);

/// The scenarios on other hosts, as many for each as before; `choice` says who chose them.
[[nodiscard]] std::vector<scenario::Scenario> on_hosts(const std::vector<Job>& jobs,
                                                       std::vector<std::vector<topologies::HostId>> hosts,
                                                       HostShares choice);
/// The scenarios with their hosts chosen anew out of all that they have together, packed or interleaved.
[[nodiscard]] std::vector<scenario::Scenario> with_hosts(const std::vector<Job>& jobs, HostShares shares);

/// Links of several clusters under common numbers. Links between switches of the network are those of all; links inside
/// hosts and from hosts to switches are one job's.
struct CommonLinks {
  Indexed<topologies::LinkId, BytesPerSecond> rates;  ///< by common number
  Indexed<topologies::LinkId, std::string> names;     ///< "leaf1>spine2"
  std::vector<Indexed<topologies::LinkId, topologies::LinkId>>
      of_job;  ///< common number of each link of a job's cluster
};

/// `rates`: by job, of each link as its program has it. Throws ConfigError where two jobs have another rate for one
/// link.
[[nodiscard]] CommonLinks common_links(const std::vector<const topologies::Cluster*>& clusters,
                                       const std::vector<const scenario::Scenario*>& scenarios,
                                       const std::vector<const Indexed<topologies::LinkId, BytesPerSecond>*>& rates);

}  // namespace lockstep::jobs
