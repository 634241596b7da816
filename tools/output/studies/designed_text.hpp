#pragma once
/// What a designed collective does, and why it is as fast as it is.
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "sim/studies/collectives/collective_study.hpp"
#include "tools/output/elements/design_reasons.hpp"

namespace lockstep::output {

/// What was designed, beside its study, which must have a design.
struct DesignedOn {
  const topologies::Cluster& cluster;
  workloads::CollectiveKind kind;
  int members = 0;  ///< ranks of a group
};

/// Its trees, which links bound every algorithm, how near it comes, and what it does differently from the fastest of
/// the study's other algorithms, all at the largest size. What if: the cuts that bind carry a tenth more.
[[nodiscard]] DesignReasons designed_reasons(const DesignedOn& on, const studies::CollectiveStudy& study);

/// The keys of `designed` in the JSON of a collective (docs/json.md).
[[nodiscard]] nlohmann::ordered_json designed_json(const DesignedOn& on, const studies::CollectiveStudy& study);

/// The fastest of the others at the largest size; null if there is none.
[[nodiscard]] const studies::MeasuredCollective* best_other(const studies::CollectiveStudy& study);

/// How long links need for the bytes that they carry, the busiest first, of the design and of the fastest other
/// algorithm, beside the bound; SVG.
[[nodiscard]] std::string designed_picture(const DesignedOn& on, const studies::CollectiveStudy& study);

}  // namespace lockstep::output
