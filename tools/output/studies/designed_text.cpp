#include "tools/output/studies/designed_text.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "sim/collectives/nccl_size.hpp"
#include "sim/core/quantity_text.hpp"
#include "tools/output/elements/table.hpp"

namespace lockstep::output {
namespace {

using studies::MeasuredCollective;

std::string counted(std::int64_t count, const std::string& what) {
  return with_separators(static_cast<double>(count)) + " " + what + (count == 1 ? "" : "s");
}

/// The fastest of the others at the largest size; null if there is none.
const MeasuredCollective* best_other(const studies::CollectiveStudy& study) {
  const MeasuredCollective* best = nullptr;
  for (const auto& row : study.others) {
    if (row.size == study.chosen.back().size && (best == nullptr || row.time < best->time)) best = &row;
  }
  return best;
}

std::int64_t links_used(const MeasuredCollective& row) {
  std::int64_t links = 0;
  for (const auto& load : row.loads) links += load.alike;
  return links;
}

/// What two algorithms put on their busiest links, and over how many they spread it.
std::string difference(const topologies::Cluster& cluster, const MeasuredCollective& own,
                       const MeasuredCollective& other) {
  const auto& busiest = other.loads.front();
  double most = 0;
  for (const auto& load : own.loads) {
    if (load.bandwidth == busiest.bandwidth) most = std::max(most, load.bytes);
  }
  const auto size = [](double bytes) { return format(Bytes(static_cast<std::int64_t>(bytes))); };
  return " Its busiest link, " + bottleneck(cluster, other) + ", carries " + size(busiest.bytes) +
         ", where the designed one puts " + (most > 0 ? "at most " + size(most) : "nothing") +
         " on a link of that rate. It uses " + counted(links_used(other), "link") + ", the designed one " +
         with_separators(static_cast<double>(links_used(own))) + ".";
}

}  // namespace

std::string why_designed(const topologies::Cluster& cluster, workloads::CollectiveKind kind, int members,
                         const studies::CollectiveStudy& study) {
  const auto& design = *study.designed;
  const auto& own = study.chosen.back();
  const bool both_ways = kind == workloads::CollectiveKind::all_reduce;
  std::string text =
      "The designed " + std::string(name(kind)) + " is " + counted(design.trees, "spanning tree") + " over all " +
      std::to_string(members) + " ranks, " +
      (both_ways ? "each used towards its root and back, a way of at most " : "as many from each, a way of at most ") +
      counted(design.depth, "arc") + ", in " + counted(design.pieces, "piece") +
      " that follow each other: " + counted(design.steps, "step") +
      ", which were executed on symbols and leave every rank with what it must have.";
  if (design.rate < design.best_rate) {
    text += " So few trees reach " + percent(design.rate / design.best_rate) +
            " of the rate that the links allow; more would make a program of more steps.";
  }
  if (study.bound) {
    const auto bound = study.bound->time(collectives::full_size_of(kind, own.size, members));
    text += " No algorithm is faster than its bytes over " + study.bound->links + ": " + format(bound) + " for " +
            format(own.size) + ", of which the designed one takes " + fixed(own.time / bound, 2) + " times.";
  }
  if (const auto* other = best_other(study)) {
    text += " The best built-in algorithm, " + other->algorithm + ", takes " + format(other->time) + ", " +
            fixed(other->time / own.time, 2) + " times as long as the designed one.";
    if (other->time > own.time && !other->loads.empty()) text += difference(cluster, own, *other);
  }
  return text;
}

nlohmann::ordered_json designed_json(const topologies::Cluster& cluster, workloads::CollectiveKind kind, int members,
                                     const studies::CollectiveStudy& study) {
  const auto& design = *study.designed;
  const auto* other = best_other(study);
  return {{"best_rate_bytes_per_s", design.best_rate},
          {"rate_bytes_per_s", design.rate},
          {"trees", design.trees},
          {"depth", design.depth},
          {"pieces", design.pieces},
          {"steps", design.steps},
          {"best_built_in", other == nullptr ? nlohmann::ordered_json() : nlohmann::ordered_json(other->algorithm)},
          {"why", why_designed(cluster, kind, members, study)}};
}

}  // namespace lockstep::output
