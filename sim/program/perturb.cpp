#include "sim/program/perturb.hpp"

#include <algorithm>
#include <cmath>
#include <deque>
#include <map>
#include <numbers>
#include <random>
#include <utility>

#include "sim/core/errors.hpp"

namespace lockstep::program {
namespace {

bool on_cluster(const topologies::Cluster& cluster, const Coordinates& place) {
  const auto& axes = cluster.axes();
  if (place.size() != axes.size()) return false;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (place[i] < 0 || place[i] >= axes[i].size) return false;
  }
  return true;
}

/// -1: none of that name.
topologies::NodeId node_named(const topologies::Cluster& cluster, const std::string& name) {
  for (topologies::NodeId node = 0; node < cluster.nodes(); ++node) {
    if (cluster.node(node).name == name) return node;
  }
  return -1;
}

/// The first of several; -1: none.
topologies::LinkId link_between(const topologies::Cluster& cluster, const std::string& from, const std::string& to) {
  const auto start = node_named(cluster, from);
  const auto end = node_named(cluster, to);
  for (topologies::LinkId link = 0; link < cluster.links(); ++link) {
    if (cluster.link(link).from == start && cluster.link(link).to == end) return link;
  }
  return -1;
}

std::vector<topologies::LinkId> links_of(const topologies::Cluster& cluster, const std::string& name) {
  const auto node = node_named(cluster, name);
  std::vector<topologies::LinkId> links;
  for (topologies::LinkId link = 0; link < cluster.links(); ++link) {
    if (cluster.link(link).from == node || cluster.link(link).to == node) links.push_back(link);
  }
  return links;
}

/// The links from which random links are drawn: a torus' links between chips, otherwise the scale-up links and the
/// cables of networks.
std::vector<topologies::LinkId> drawable_links(const topologies::Cluster& cluster) {
  const bool torus = cluster.unit_is_torus();
  std::vector<topologies::LinkId> links;
  for (topologies::LinkId link = 0; link < cluster.links(); ++link) {
    const auto kind = cluster.link(link).kind;
    if (torus ? kind == topologies::LinkKind::ici
              : kind == topologies::LinkKind::scale_up || kind == topologies::LinkKind::network)
      links.push_back(link);
  }
  return links;
}

/// `count` of `all`, without repetition. The standard's distributions differ between libraries; this does not.
template <class T>
std::vector<T> draw(std::vector<T> all, std::int64_t count, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const std::size_t drawn = position_of(count);
  for (std::size_t i = 0; i < drawn; ++i) std::swap(all[i], all[i + random() % (all.size() - i)]);
  all.resize(drawn);
  return all;
}

double unit(std::mt19937_64& random) { return static_cast<double>(random() >> 11) * 0x1p-53; }

/// By how much longer than it should a chip computes.
double excess(const Jitter& jitter, std::mt19937_64& random) {
  const double u = unit(random);
  switch (jitter.distribution) {
    case Jitter::Distribution::uniform: return jitter.spread * u;
    case Jitter::Distribution::exponential: return jitter.spread * -std::log1p(-u);
    case Jitter::Distribution::lognormal: {
      const double normal = std::sqrt(-2 * std::log1p(-u)) * std::cos(2 * std::numbers::pi * unit(random));
      return jitter.spread * std::exp(jitter.shape * normal - jitter.shape * jitter.shape / 2);
    }
    case Jitter::Distribution::pareto:
      return jitter.spread * (jitter.shape - 1) * std::expm1(-std::log1p(-u) / jitter.shape);
  }
  throw InternalError("unknown distribution of jitter");
}

/// Chips that hang on the same host.
std::vector<topologies::DeviceId> host_of(const topologies::Cluster& cluster, const Coordinates& chip) {
  const auto block = cluster.chip().torus ? cluster.chip().torus->host : std::vector<int>{};
  std::vector<topologies::DeviceId> chips;
  for (topologies::DeviceId device = 0; device < cluster.devices(); ++device) {
    const auto place = cluster.coordinates(device);
    bool same = true;
    for (std::size_t i = 0; i < place.size(); ++i) {
      const int side = i < block.size() ? block[i] : 1;
      same = same && place[i] / side == chip[i] / side;
    }
    if (same) chips.push_back(device);
  }
  return chips;
}

class Perturbing {
 public:
  Perturbing(Program& program, const topologies::Cluster& cluster, const topologies::Mesh& mesh)
      : program_(program), cluster_(cluster), mesh_(mesh) {}

  void operator()(const SlowChip& slow) {
    if (!slow.whole_host) return slow_down(cluster_.device_at(slow.chip), slow.slowdown);
    for (const auto device : host_of(cluster_, slow.chip)) slow_down(device, slow.slowdown);
  }
  void operator()(const DegradedLink& link) { degrade(link_between(cluster_, link.from, link.to), link.bandwidth); }
  void operator()(const DegradedNode& node) {
    for (const auto link : links_of(cluster_, node.name)) degrade(link, node.bandwidth);
  }
  void operator()(const RandomSlowChips& chips) {
    std::vector<topologies::DeviceId> all;
    for (topologies::DeviceId device = 0; device < cluster_.devices(); ++device) all.push_back(device);
    for (const auto device : draw(std::move(all), chips.count, chips.seed)) slow_down(device, chips.slowdown);
  }
  void operator()(const RandomDegradedLinks& links) {
    for (const auto link : draw(drawable_links(cluster_), links.count, links.seed)) degrade(link, links.bandwidth);
  }
  void operator()(const Jitter& jitter) {
    std::mt19937_64 random(jitter.seed);
    for (topologies::DeviceId device = 0; device < cluster_.devices(); ++device)
      slow_down(device, 1 + excess(jitter, random));
  }
  void operator()(const Stragglers& stragglers) {
    std::mt19937_64 random(stragglers.seed);
    for (topologies::DeviceId device = 0; device < cluster_.devices(); ++device) {
      if (unit(random) < stragglers.share) slow_down(device, stragglers.slowdown);
    }
  }
  void operator()(const FlakyLinks& links) {
    std::mt19937_64 random(links.seed);
    for (const auto link : drawable_links(cluster_)) {
      if (unit(random) < links.share) degrade(link, links.bandwidth);
    }
  }

  /// Sends every flow that would cross a missing link of a torus the shortest way round it.
  std::string reroute() {
    if (std::none_of(down_.begin(), down_.end(), [](bool is_down) { return is_down; })) return "";
    std::map<topologies::LinkId, std::vector<topologies::LinkId>> detours;
    for (auto& communicator : program_.communicators) {
      for (auto& group : communicator.groups) {
        for (auto& flow : group.flows) {
          if (std::none_of(flow.links.begin(), flow.links.end(), [&](auto link) { return down_[link]; })) continue;
          std::vector<topologies::LinkId> links;
          for (const auto link : flow.links) {
            if (!down_[link]) {
              links.push_back(link);
              continue;
            }
            const auto [detour, is_new] = detours.try_emplace(link);
            if (cluster_.link(link).kind != topologies::LinkKind::ici)
              throw InternalError("perturb: a route does not avoid " + cluster_.link_name(link));
            if (is_new) detour->second = way_round(cluster_.link(link).from, cluster_.link(link).to);
            if (detour->second.empty()) return "no route is left round the missing link " + cluster_.link_name(link);
            links.insert(links.end(), detour->second.begin(), detour->second.end());
          }
          flow.links = std::move(links);
        }
      }
    }
    return "";
  }

 private:
  void slow_down(topologies::DeviceId device, double slowdown) {
    program_.slowdown_of_rank[mesh_.rank_of(device)] *= slowdown;
  }

  void degrade(topologies::LinkId link, double bandwidth) {
    if (bandwidth > 0) {
      program_.links[link] = program_.links[link] * bandwidth;
    } else {
      down_[link] = true;
    }
  }

  /// Breadth first over the chips' links that are up.
  [[nodiscard]] std::vector<topologies::LinkId> way_round(topologies::DeviceId from, topologies::DeviceId to) const {
    Indexed<topologies::DeviceId, topologies::LinkId> reached_by(cluster_.devices(), -1);
    std::deque<topologies::DeviceId> next{from};
    while (!next.empty() && reached_by[to] < 0) {
      const auto device = next.front();
      next.pop_front();
      for (const topologies::AxisId axis : cluster_.axes().ids()) {
        for (const int direction : {+1, -1}) {
          const auto link = cluster_.neighbour_link(device, axis, direction);
          if (link < 0 || down_[link]) continue;
          const auto neighbour = cluster_.link(link).to;
          if (neighbour == from || reached_by[neighbour] >= 0) continue;
          reached_by[neighbour] = link;
          next.push_back(neighbour);
        }
      }
    }
    std::vector<topologies::LinkId> way;
    for (auto at = to; at != from;) {
      const auto link = reached_by[at];
      if (link < 0) return {};
      way.insert(way.begin(), link);
      at = cluster_.link(link).from;
    }
    return way;
  }

  Program& program_;
  const topologies::Cluster& cluster_;
  const topologies::Mesh& mesh_;
  Indexed<topologies::LinkId, bool> down_ = Indexed<topologies::LinkId, bool>(program_.links.size(), false);
};

}  // namespace

std::string chip_name(const Coordinates& place) {
  std::string text;
  for (const int at : place) text += (text.empty() ? "chip(" : ",") + std::to_string(at);
  return text + ")";
}

topologies::MissingLinks missing_in_networks(const std::vector<Perturbation>& perturbations,
                                             const topologies::Cluster& cluster) {
  topologies::MissingLinks missing(cluster.links(), false);
  for (const auto& perturbation : perturbations) {
    if (const auto* link = std::get_if<DegradedLink>(&perturbation); link != nullptr && link->bandwidth == 0) {
      missing[link_between(cluster, link->from, link->to)] = true;
    }
    if (const auto* node = std::get_if<DegradedNode>(&perturbation); node != nullptr && node->bandwidth == 0) {
      for (const auto link : links_of(cluster, node->name)) missing[link] = true;
    }
    if (const auto* drawn = std::get_if<RandomDegradedLinks>(&perturbation);
        drawn != nullptr && drawn->bandwidth == 0) {
      for (const auto link : draw(drawable_links(cluster), drawn->count, drawn->seed)) missing[link] = true;
    }
  }
  bool any = false;
  for (topologies::LinkId link = 0; link < cluster.links(); ++link) {
    const auto in_network = missing[link] && cluster.link(link).kind != topologies::LinkKind::ici;
    missing[link] = in_network;
    any = any || in_network;
  }
  return any ? missing : topologies::MissingLinks{};
}

std::string why_not(const Perturbation& perturbation, const topologies::Cluster& cluster) {
  if (const auto* slow = std::get_if<SlowChip>(&perturbation)) {
    return on_cluster(cluster, slow->chip) ? "" : "the cluster has no " + chip_name(slow->chip);
  }
  if (const auto* link = std::get_if<DegradedLink>(&perturbation)) {
    for (const auto* end : {&link->from, &link->to}) {
      if (node_named(cluster, *end) < 0) return "the cluster has no " + *end;
    }
    return link_between(cluster, link->from, link->to) >= 0 ? ""
                                                            : "no link leads from " + link->from + " to " + link->to;
  }
  if (const auto* node = std::get_if<DegradedNode>(&perturbation)) {
    return node_named(cluster, node->name) >= 0 ? "" : "the cluster has no " + node->name;
  }
  if (const auto* chips = std::get_if<RandomSlowChips>(&perturbation)) {
    return chips->count <= cluster.devices() ? ""
                                             : "the cluster has only " + std::to_string(cluster.devices()) + " chips";
  }
  if (const auto* links = std::get_if<RandomDegradedLinks>(&perturbation)) {
    const auto most = static_cast<std::int64_t>(drawable_links(cluster).size());
    return links->count <= most ? "" : "the cluster has only " + std::to_string(most) + " such links";
  }
  return "";
}

std::string perturb(Program& program, const std::vector<Perturbation>& perturbations,
                    const topologies::Cluster& cluster, const topologies::Mesh& mesh) {
  if (perturbations.empty()) return "";
  Perturbing perturbing(program, cluster, mesh);
  for (const auto& perturbation : perturbations) {
    if (const auto why = why_not(perturbation, cluster); !why.empty()) throw InternalError("perturb: " + why);
    std::visit(perturbing, perturbation);
  }
  return perturbing.reroute();
}

}  // namespace lockstep::program
