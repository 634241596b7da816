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

std::string named(workloads::CollectiveKind kind) { return "The designed " + std::string(name(kind)); }

std::int64_t links_used(const MeasuredCollective& row) {
  std::int64_t links = 0;
  for (const auto& load : row.loads) links += load.alike;
  return links;
}

/// How long the busiest link takes for its bytes.
Seconds longest(const MeasuredCollective& row) {
  Seconds longest(0);
  for (const auto& load : row.loads) longest = std::max(longest, Seconds(load.bytes / load.bandwidth.value()));
  return longest;
}

/// What two algorithms ask of their busiest links, and over how many they spread it.
std::string difference(const topologies::Cluster& cluster, const MeasuredCollective& own,
                       const MeasuredCollective& other) {
  std::string text = "Its busiest link, " + bottleneck(cluster, other) + ", needs " + format(longest(other)) +
                     " for the bytes that it carries; no link of the designed one needs more than " +
                     format(longest(own));
  const auto here = links_used(own), there = links_used(other);
  if (here == there) return text + ". Both use " + counted(here, "link") + ".";
  if (here < there || longest(own) >= longest(other))
    return text + ". It uses " + counted(here, "link") + ", the built-in one " +
           with_separators(static_cast<double>(there)) + ".";
  return text + ", since it spreads them over " + counted(here, "link") + " instead of " +
         with_separators(static_cast<double>(there)) + ".";
}

std::optional<Seconds> bound_of(const DesignedOn& on, const studies::CollectiveStudy& study) {
  if (!study.bound) return std::nullopt;
  return study.bound->time(collectives::full_size_of(on.kind, study.chosen.back().size, on.members));
}

std::string answer(const DesignedOn& on, const studies::CollectiveStudy& study) {
  const auto& own = study.chosen.back();
  std::string text = named(on.kind) + " takes " + format(own.time) + " for " + format(own.size);
  if (const auto bound = bound_of(on, study))
    text += ", " + fixed(own.time / *bound, 2) + " times the least that any algorithm takes";
  if (const auto* other = best_other(study))
    text += "; the best built-in algorithm, " + other->algorithm + ", takes " + format(other->time);
  return text + ".";
}

std::vector<std::string> why(const DesignedOn& on, const studies::CollectiveStudy& study) {
  const auto& design = *study.designed;
  const auto& own = study.chosen.back();
  const bool both_ways = on.kind == workloads::CollectiveKind::all_reduce;
  std::vector<std::string> text{
      named(on.kind) + " is " + counted(design.trees, "spanning tree") + " over all " + std::to_string(on.members) +
      " ranks, " +
      (both_ways ? "each used towards its root and back, a way of at most " : "as many from each, a way of at most ") +
      counted(design.depth, "arc") + ", in " + counted(design.pieces, "piece") + " that follow each other: " +
      counted(design.steps, "step") + ", which were executed on symbols and leave every rank with what it must have."};
  if (design.rate < design.best_rate) {
    text.push_back("So few trees reach " + percent(design.rate / design.best_rate) +
                   " of the rate that the links allow; more would make a program of more steps.");
  }
  if (const auto bound = bound_of(on, study)) {
    text.push_back("No algorithm is faster than its bytes over " + study.bound->links + ": " + format(*bound) +
                   " for " + format(own.size) + ", of which the designed one takes " + fixed(own.time / *bound, 2) +
                   " times.");
  }
  const auto* other = best_other(study);
  if (other == nullptr) return text;
  text.push_back("The best built-in algorithm, " + other->algorithm + ", takes " + format(other->time) + ", " +
                 fixed(other->time / own.time, 2) + " times as long as the designed one.");
  if (other->time > own.time && !other->loads.empty()) text.push_back(difference(on.cluster, own, *other));
  return text;
}

std::string wider_cuts(const DesignedOn& on, const studies::CollectiveStudy& study) {
  const auto now = *bound_of(on, study);
  const auto then = study.wider->bound.time(collectives::full_size_of(on.kind, study.chosen.back().size, on.members));
  std::string text = "With 10 % more bandwidth on the " + counted(study.wider->links, "link") +
                     " of the cuts that bind, the least that any algorithm takes would ";
  if (then >= now * (1 - 1e-9))
    return text + "stay at " + format(now) + ", since others bind as much: " + study.wider->bound.links + ".";
  text += "fall from " + format(now) + " to " + format(then) + ", " + percent(1 - then / now) + " less";
  if (then > now / 1.1 * (1 + 1e-9)) text += "; then " + study.wider->bound.links + " would bind";
  return text + ".";
}

}  // namespace

const MeasuredCollective* best_other(const studies::CollectiveStudy& study) {
  const MeasuredCollective* best = nullptr;
  for (const auto& row : study.others) {
    if (row.size == study.chosen.back().size && (best == nullptr || row.time < best->time)) best = &row;
  }
  return best;
}

DesignReasons designed_reasons(const DesignedOn& on, const studies::CollectiveStudy& study) {
  DesignReasons reasons{answer(on, study), why(on, study), {}};
  if (study.bound && study.wider) reasons.what_if.push_back(wider_cuts(on, study));
  return reasons;
}

nlohmann::ordered_json designed_json(const DesignedOn& on, const studies::CollectiveStudy& study) {
  using Json = nlohmann::ordered_json;
  const auto& design = *study.designed;
  const auto* other = best_other(study);
  const auto reasons = designed_reasons(on, study);
  Json json = {{"best_rate_bytes_per_s", design.best_rate},
               {"rate_bytes_per_s", design.rate},
               {"trees", design.trees},
               {"depth", design.depth},
               {"pieces", design.pieces},
               {"steps", design.steps},
               {"best_built_in", other == nullptr ? Json() : Json(other->algorithm)},
               {"answer", reasons.answer},
               {"why", reasons.why},
               {"what_if", reasons.what_if},
               {"with_wider_cuts", Json()}};
  if (const auto& wider = study.wider)
    json["with_wider_cuts"] = {
        {"links", wider->links},
        {"bound_s",
         wider->bound.time(collectives::full_size_of(on.kind, study.chosen.back().size, on.members)).value()},
        {"bound_links", wider->bound.links}};
  return json;
}

}  // namespace lockstep::output
