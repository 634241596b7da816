#include "tools/commands/collective_arguments.hpp"

#include <algorithm>

#include "sim/core/quantity_text.hpp"
#include "sim/scenario/scenario.hpp"
#include "sim/simulate.hpp"
#include "tools/commands/refuse.hpp"

namespace lockstep::commands {
namespace {

constexpr Bytes most_bytes(1'000'000'000'000'000);  // doublings and sums stay far inside 64 bits

Bytes size_named(const std::string& text) {
  const auto parsed = parse_bytes(text);
  if (const auto* error = std::get_if<QuantityError>(&parsed)) refuse("--bytes", error->what, error->expected);
  const auto size = std::get<Bytes>(parsed);
  if (size < Bytes(1) || size > most_bytes) {
    refuse("--bytes", "'" + text + "' is " + (size < Bytes(1) ? "zero" : "too large"), "a size from 1 B to 1 PB");
  }
  return size;
}

std::vector<std::string> parts_of(const std::string& text) {
  std::vector<std::string> parts(1);
  for (const char c : text) {
    if (c == ',' || c == '+') {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

/// Whole axes from the innermost on, and a part of the last.
std::vector<std::string> innermost(const topologies::Cluster& cluster, int count) {
  std::vector<std::string> parts;
  int left = count;
  for (auto axis = cluster.axes().rbegin(); axis != cluster.axes().rend() && left > 1; ++axis) {
    const int taken = left % axis->size == 0 ? axis->size : axis->size % left == 0 ? left : 0;
    if (taken == 0) {
      refuse("--group",
             "groups of " + std::to_string(count) + " do not lie evenly on the " + std::to_string(axis->size) +
                 " positions of " + axis->name,
             "a number that fills whole axes from the innermost on, or divides the next");
    }
    parts.push_back(axis->name + "/" + std::to_string(taken));
    left /= taken;
  }
  return parts;
}

std::variant<std::vector<topologies::MeshAxis>, topologies::PlacementError> place(
    const topologies::Cluster& cluster, const std::vector<std::string>& parts) {
  return place_as_requested(cluster, {{"group", 0, parts}, {"others", 0, std::vector<std::string>{"rest"}}});
}

}  // namespace

workloads::CollectiveKind kind_named(const std::string& word) {
  std::vector<std::string> names;
  for (const auto kind : workloads::all_collective_kinds) {
    if (name(kind) == word) return kind;
    names.emplace_back(name(kind));
  }
  std::string list;
  for (const auto& known : names) list += (list.empty() ? "" : ", ") + known;
  const auto hint = did_you_mean(word, names);
  refuse("KIND", "'" + word + "' is not a collective", "one of " + list + (hint.empty() ? "" : "; " + hint));
}

std::vector<Bytes> sizes_named(const std::string& text) {
  const auto dots = text.find("..");
  if (dots == std::string::npos) return {size_named(text)};
  const auto first = size_named(text.substr(0, dots));
  const auto last = size_named(text.substr(dots + 2));
  if (last < first) refuse("--bytes", "'" + text + "' ends before it starts", "a range such as 1MiB..1GiB");
  std::vector<Bytes> sizes;
  for (auto size = first; size < last; size = size * 2) sizes.push_back(size);
  sizes.push_back(last);
  return sizes;
}

CollectiveMachine machine_named(const std::string& text) {
  if (text.ends_with(".yaml") || text.ends_with(".yml") || text.ends_with(".json")) {
    const auto scenario = scenario::load_scenario(text);
    const std::string key = scenario.perturbations.empty() ? "cluster" : "perturbations";
    return {preparation::cluster_of(scenario),
            scenario.collectives,
            scenario.perturbations,
            scenario.where(key),
            key,
            true};
  }
  Problems problems;
  auto spec = scenario::parse_cluster(text, {"--cluster", 0, 0}, "", problems);
  problems.throw_if_any();
  return {build_cluster(spec), {}, {}, {"--cluster", 0, 0}, ""};
}

topologies::Mesh mesh_of_groups(const topologies::Cluster& cluster, const std::string& text,
                                workloads::CollectiveKind kind) {
  std::variant<std::vector<topologies::MeshAxis>, topologies::PlacementError> placed;
  std::string why = "as asked for";
  const bool number =
      !text.empty() && std::all_of(text.begin(), text.end(), [](unsigned char c) { return std::isdigit(c) != 0; });
  if (!number) {
    placed = place(cluster, parts_of(text));
  } else {
    const auto count = text.size() > 7 ? 0 : std::stoi(text);
    if (count < 2 || cluster.devices() % count != 0) {
      const bool larger = count > cluster.devices() || text.size() > 7;
      refuse("--group",
             "groups of " + text + (larger ? " are larger than the cluster of " : " do not make up ") +
                 std::to_string(cluster.devices()) + " chips",
             "a number of ranks, at least 2, that divides them");
    }
    if (cluster.axes().front().kind == topologies::PhysicalAxis::Kind::torus) {
      int tried = 0;
      placed = place_by_cost(
          cluster, {{"group", count, std::nullopt}, {"others", cluster.devices() / count, std::nullopt}},
          [&](const topologies::Mesh& mesh) {
            return collectives::CollectiveModel(cluster, mesh).cost(kind, {"group"}, Bytes(1 << 30));
          },
          tried);
      why = "fastest of " + std::to_string(tried) + " placements";
    } else {
      placed = place(cluster, innermost(cluster, count));
      why = "packed";
    }
  }
  if (const auto* error = std::get_if<topologies::PlacementError>(&placed))
    refuse("--group", error->what, error->expected);
  return {cluster, std::get<0>(std::move(placed)), why};
}

}  // namespace lockstep::commands
