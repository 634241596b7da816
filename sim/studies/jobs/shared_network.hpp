#pragma once
/// What jobs on one network have in common: its file, its hosts, and the links between its switches.
#include <vector>

#include "sim/core/indexed.hpp"
#include "sim/studies/jobs/job_study.hpp"
#include "topologies/cluster/cluster.hpp"

namespace lockstep::jobs {

/// Throws ConfigError with every reason why the jobs cannot be on one network: no network of a file, another one, a
/// host of two jobs, cables of other rates.
void check_one_network(const std::vector<Job>& jobs);

/// The scenarios with their hosts chosen anew out of all that they have together; as many for each as before.
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
