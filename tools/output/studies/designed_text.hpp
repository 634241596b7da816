#pragma once
/// What a designed collective does, and why it is as fast as it is.
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "sim/studies/collectives/collective_study.hpp"

namespace lockstep::output {

/// Sentences: its trees, which links bound every algorithm, how near it comes, and what it does differently from the
/// fastest of the study's other algorithms at the largest size. The study must have a design.
[[nodiscard]] std::string why_designed(const topologies::Cluster& cluster, workloads::CollectiveKind kind, int members,
                                       const studies::CollectiveStudy& study);

/// The keys of `designed` in the JSON of a collective (docs/json.md).
[[nodiscard]] nlohmann::ordered_json designed_json(const topologies::Cluster& cluster, workloads::CollectiveKind kind,
                                                   int members, const studies::CollectiveStudy& study);

}  // namespace lockstep::output
