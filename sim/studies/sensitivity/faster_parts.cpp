#include "sim/studies/sensitivity/faster_parts.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <set>
#include <thread>
#include <utility>

#include "sim/metrics/link_loads.hpp"
#include "sim/program/refine.hpp"
#include "sim/studies/isolated.hpp"

namespace lockstep::sensitivity {
namespace {

constexpr double faster = 2;
constexpr std::size_t most_of_a_kind = 4;  ///< cables, and switches, that are simulated: those used most

using LinkClass = std::int32_t;

struct Candidate {
  FasterPart part;
  std::vector<topologies::LinkId> links;  ///< of all parts alike
};

class Candidates {
 public:
  Candidates(const Simulation& simulation, const program::Program& whole)
      : cluster_(*simulation.preparation.machine.cluster),
        classes_(refine(whole)),
        use_(classes_.links, 0.0),
        members_(classes_.links) {
    const timeline::Interval step{Seconds(0), simulation.metrics.step_time};
    for (const auto& load : metrics::link_loads(simulation.program, simulation.run.phases, simulation.link_members,
                                                step, simulation.run.timeline.repetition())) {
      double& use = use_[classes_.link[load.link]];
      use = std::max(use, load.used);
    }
    for (const auto link : classes_.link.ids()) {
      members_[classes_.link[link]].push_back(link);
      const auto& ends = cluster_.link(link);
      links_between_[{ends.from, ends.to}].push_back(link);
    }
  }

  /// Links with those back, one for each pair of classes.
  [[nodiscard]] std::vector<Candidate> cables() const {
    std::map<std::pair<LinkClass, LinkClass>, Candidate> found;
    for (const LinkClass id : members_.ids()) {
      if (use_[id] <= 0) continue;
      for (const auto link : members_[id]) {
        const auto back = way_back(link);
        const auto both = std::minmax(id, back < 0 ? id : classes_.link[back]);
        const auto& ends = cluster_.link(link);
        auto [row, is_new] = found.try_emplace(both);
        Candidate& candidate = row->second;
        if (is_new) candidate.part.name = cluster_.node(ends.from).name + " - " + cluster_.node(ends.to).name;
        candidate.part.used = std::max(candidate.part.used, use_[id]);
        candidate.links.push_back(link);
        if (back >= 0) candidate.links.push_back(back);
      }
    }
    return most_used(std::move(found));
  }

  /// Switches whose links are of the same classes are alike.
  [[nodiscard]] std::vector<Candidate> switches() const {
    Indexed<topologies::NodeId, std::vector<topologies::LinkId>> links_of(cluster_.nodes());
    for (const auto link : classes_.link.ids()) {
      for (const auto end : {cluster_.link(link).from, cluster_.link(link).to}) {
        if (cluster_.node(end).kind == topologies::NodeKind::network_switch) links_of[end].push_back(link);
      }
    }
    std::map<std::set<LinkClass>, Candidate> found;
    for (const auto node : links_of.ids()) {
      std::set<LinkClass> look;
      double used = 0;
      for (const auto link : links_of[node]) {
        look.insert(classes_.link[link]);
        used = std::max(used, use_[classes_.link[link]]);
      }
      if (used <= 0) continue;
      Candidate& candidate = found[look];
      if (candidate.links.empty()) {
        candidate.part.name = cluster_.node(node).name;
        candidate.part.is_switch = true;
        candidate.part.used = used;
      } else {
        ++candidate.part.alike;
      }
      candidate.links.insert(candidate.links.end(), links_of[node].begin(), links_of[node].end());
    }
    return most_used(std::move(found));
  }

 private:
  /// The link back of a cable; of parallel ones, the one of the same number. -1: there is none.
  [[nodiscard]] topologies::LinkId way_back(topologies::LinkId link) const {
    const auto& ends = cluster_.link(link);
    const auto back = links_between_.find({ends.to, ends.from});
    if (back == links_between_.end()) return -1;
    const auto& there = links_between_.at({ends.from, ends.to});
    const auto place = position_of(std::find(there.begin(), there.end(), link) - there.begin());
    return place < back->second.size() ? back->second[place] : -1;
  }

  [[nodiscard]] bool ends_at_nic(topologies::LinkId link) const {
    const auto& ends = cluster_.link(link);
    const auto is_nic = [&](topologies::NodeId node) {
      const auto kind = cluster_.node(node).kind;
      return kind == topologies::NodeKind::nic || kind == topologies::NodeKind::host;
    };
    return ends.kind != topologies::LinkKind::pcie && (is_nic(ends.from) || is_nic(ends.to));
  }

  template <class Look>
  [[nodiscard]] std::vector<Candidate> most_used(std::map<Look, Candidate> found) const {
    std::vector<Candidate> all;
    for (auto& [look, candidate] : found) {
      auto& links = candidate.links;
      std::sort(links.begin(), links.end());
      links.erase(std::unique(links.begin(), links.end()), links.end());
      if (!candidate.part.is_switch) candidate.part.alike = std::max<std::int64_t>(1, std::ssize(links) / 2);
      candidate.part.with_nics = std::any_of(links.begin(), links.end(), [&](auto link) { return ends_at_nic(link); });
      all.push_back(std::move(candidate));
    }
    std::sort(all.begin(), all.end(), [](const Candidate& a, const Candidate& b) {
      return std::pair(-a.part.used, a.links.front()) < std::pair(-b.part.used, b.links.front());
    });
    if (all.size() > most_of_a_kind) all.resize(most_of_a_kind);
    return all;
  }

  const topologies::Cluster& cluster_;
  program::Partition classes_;
  Indexed<LinkClass, double> use_;
  Indexed<LinkClass, std::vector<topologies::LinkId>> members_;
  std::map<std::pair<topologies::NodeId, topologies::NodeId>, std::vector<topologies::LinkId>> links_between_;
};

double step_with(program::Program whole, const std::vector<topologies::LinkId>& links, spdlog::logger& log) {
  for (const auto link : links) whole.links[link] = whole.links[link] * faster;
  return engine::run(fold(std::move(whole)).program, {engine::EngineKind::max_min, {}, false}, log)
      .timeline.makespan()
      .value();
}

}  // namespace

std::vector<FasterPart> faster_parts(const scenario::Scenario& scenario, const Simulation& simulation,
                                     spdlog::logger& log) {
  if (simulation.run.kind == engine::EngineKind::reference) return {};
  const auto whole = lower_with_perturbations(scenario, simulation.preparation);
  const Candidates candidates(simulation, whole);
  auto all = candidates.cables();
  for (auto& candidate : candidates.switches()) all.push_back(std::move(candidate));
  const int jobs = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  studies::in_children(
      all.size(), jobs,
      [&](std::size_t i) {
        const double step = step_with(whole, all[i].links, log);
        return std::string(reinterpret_cast<const char*>(&step), sizeof step);
      },
      [&](std::size_t i, const studies::Answer& answer) {
        const auto text = answer.text();
        double step = 0;
        std::memcpy(&step, text.data(), sizeof step);
        const double gain = 1 - step / simulation.metrics.step_time.value();
        all[i].part.gain = gain < 1e-6 ? 0 : gain;  // two engines agree to 1e-9
      });
  std::vector<FasterPart> parts;
  for (auto& candidate : all) parts.push_back(std::move(candidate.part));
  std::stable_sort(parts.begin(), parts.end(),
                   [](const FasterPart& a, const FasterPart& b) { return a.gain > b.gain; });
  return parts;
}

}  // namespace lockstep::sensitivity
