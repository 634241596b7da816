#include "sim/studies/goodput/run_facts.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "sim/core/percent_text.hpp"
#include "sim/studies/faults/fault_study.hpp"
#include "sim/studies/faults/losses.hpp"

namespace lockstep::goodput {
namespace {

using scenario::Component;

bool in_network(Component of) {
  return of == Component::network_switch || of == Component::link || of == Component::optic;
}

/// Parts that can be lost and look the same.
struct Part {
  std::string name;
  std::int64_t alike = 1;
  scenario::Scenario without;
};

/// The cluster with one unit less for each `hosts`; none if it is not made of nodes that can be left out.
std::optional<topologies::ClusterSpec> with_fewer_hosts(topologies::ClusterSpec spec, int hosts) {
  if (spec.node() == nullptr || !spec.groups.empty() || spec.halls > 1 || hosts >= spec.units ||
      spec.order.kind == topologies::RankOrder::Kind::listed)
    return std::nullopt;
  spec.units -= hosts;
  if (auto* given = std::get_if<topologies::GivenNetwork>(&spec.fabric.kind); given != nullptr && !given->hosts.empty())
    given->hosts.resize(position_of(spec.units));
  return why_not_a_cluster(spec).empty() ? std::optional(spec) : std::nullopt;
}

class Finding {
 public:
  Finding(const scenario::Scenario& scenario, const preparation::PreparedStep& prepared, Seconds step,
          const FactsOptions& options, spdlog::logger& log)
      : scenario_(scenario),
        prepared_(prepared),
        mesh_(*prepared.machine.mesh),
        options_(options),
        log_(log),
        placed_(faults::placed_as(scenario, prepared)) {
    found_.facts.parameters = prepared.step.parameters;
    found_.facts.replica_chips = replica_chips(mesh_);
    found_.facts.step = step;
    if (const auto& updates = scenario.step.local_updates) found_.facts.sites = mesh_.axis(updates->axis).size();
  }

  FoundFacts run() {
    find_what_hosts_hold();
    for (const auto& one : scenario_.reliability->classes) found_.facts.broken.push_back(broken(one));
    if (scenario_.reliability->elastic) find_speeds_of_fewer_hosts();
    find_speed_while_writing();
    return std::move(found_);
  }

 private:
  /// The whole step on the engine of the steps without a part.
  const Simulation& whole() {
    if (whole_) return *whole_;
    SimulateOptions options;
    options.engine = engine::EngineKind::max_min;
    options.record_phases = true;
    options.progress = options_.progress;
    return whole_.emplace(simulate(placed_, options, log_));
  }

  [[nodiscard]] std::vector<faults::LostStep> steps(const std::vector<scenario::Scenario>& scenarios) const {
    if (scenarios.empty()) return {};
    return faults::steps_without(scenarios, {0, options_.jobs, options_.progress}, log_);
  }

  /// Chips, or hosts for them, hold weights and optimizer state by their stage; a checkpoint consists of what they
  /// hold, and of copies each holder writes a part.
  void find_what_hosts_hold() {
    const auto& cluster = *prepared_.machine.cluster;
    const auto& shape = prepared_.pipeline.order.shape;
    std::vector<double> of_rank(position_of(mesh_.ranks()), 0);
    if (mesh_.has_axis("pipeline") && shape.ranks > 1) {
      for (const auto& line : mesh_.groups({"pipeline"})) {
        for (std::size_t stage = 0; stage < line.members.size(); ++stage)
          of_rank[position_of(line.members[stage])] = held(static_cast<workloads::StageId>(stage));
      }
    } else {
      std::fill(of_rank.begin(), of_rank.end(), held(0));
    }
    double all = 0;
    std::map<int, double> of_host;
    const bool torus = cluster.node_spec() == nullptr;
    for (topologies::RankId rank = 0; rank < mesh_.ranks(); ++rank) {
      const double bytes = of_rank[position_of(rank)];
      all += bytes;
      const auto device = mesh_.device_of(rank);
      if (torus) {
        auto& most = of_host[0];
        most = std::max(most, bytes * static_cast<double>(chips_of_torus_host()));
      } else {
        of_host[cluster.unit_of(device)] += bytes;
      }
    }
    double most = 0;
    for (const auto& [host, bytes] : of_host) most = std::max(most, bytes);
    if (all == 0) return;
    found_.facts.share_of_writer = most / all;
    found_.facts.host_reads = Bytes(static_cast<std::int64_t>(most));
  }
  [[nodiscard]] double held(workloads::StageId stage) const {
    const auto& memory = prepared_.step.held[stage];
    const auto on_host = scenario_.step.offload.optimizer                                        ? memory.host
                         : scenario_.step.local_updates && scenario_.step.local_updates->on_host ? memory.outer_state
                                                                                                 : Bytes(0);
    return static_cast<double>((memory.weights + memory.optimizer + on_host).value());
  }
  [[nodiscard]] std::int64_t chips_of_torus_host() const {
    std::int64_t chips = 1;
    if (const auto& torus = scenario_.cluster.chip().torus) {
      for (const int side : torus->host) chips *= side;
    }
    return chips;
  }

  /// What a class comes to by its parts; empty: it stops the job.
  std::vector<BrokenParts> broken(const scenario::InterruptionClass& one) {
    if (one.stops) return {};
    auto parts = in_network(one.of) ? parts_of_network(one) : parts_of_hosts(one);
    if (parts.empty()) return {};
    if (std::ssize(parts) > options_.most_parts) {
      std::int64_t left_out = 0;
      for (auto part = parts.begin() + options_.most_parts; part != parts.end(); ++part) left_out += part->alike;
      found_.notes.push_back(one.name + ": " + std::to_string(left_out) + " parts of " +
                             std::to_string(std::ssize(parts) - options_.most_parts) +
                             " more kinds, less used, were not simulated; they are taken as the slowest that was");
      parts.resize(position_of(options_.most_parts));
      parts.back().alike += left_out;
    }
    std::vector<scenario::Scenario> scenarios;
    for (const auto& part : parts) scenarios.push_back(part.without);
    const auto without = steps(scenarios);
    std::vector<BrokenParts> result;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      if (!without[i].partition.empty())
        found_.notes.push_back(one.name + ": the job stops without " + parts[i].name + ": " + without[i].partition);
      const double speed = without[i].partition.empty() ? whole().metrics.step_time / without[i].step : 0;
      if (speed > 1 + 1e-9)
        found_.notes.push_back(one.name + ": the step is " + percent_text(speed - 1) + " faster without " +
                               parts[i].name + "; it is taken as no slower");
      result.push_back({parts[i].name, parts[i].alike, std::min(1.0, speed)});
    }
    return result;
  }

  std::vector<Part> parts_of_network(const scenario::InterruptionClass& one) {
    if (!losses_) losses_ = faults::possible_losses(placed_, whole());
    std::vector<Part> parts;
    for (const auto& loss : *losses_) {
      if (loss.is_switch != (one.of == Component::network_switch) || (one.tier && *one.tier != loss.tier)) continue;
      auto& part = parts.emplace_back(Part{loss.name, loss.alike, placed_});
      loss.take(part.without);
    }
    return parts;
  }

  /// Chips, hosts and NICs whose ranks do the same.
  std::vector<Part> parts_of_hosts(const scenario::InterruptionClass& one) {
    const auto& cluster = *whole().preparation.machine.cluster;
    const auto& mesh = *whole().preparation.machine.mesh;
    std::map<topologies::NodeId, std::vector<topologies::DeviceId>> devices;
    const bool by_nic = one.of == Component::nic && cluster.fabric_spec() != nullptr;
    for (topologies::DeviceId device = 0; device < cluster.devices(); ++device) {
      devices[one.of == Component::chip ? device
              : by_nic                  ? cluster.nic_of(device)
                                        : cluster.unit_of(device)]
          .push_back(device);
    }
    std::map<std::vector<std::int32_t>, std::size_t> rows;
    std::vector<Part> parts;
    for (const auto& [node, of_part] : devices) {
      std::vector<std::int32_t> classes;
      for (const auto device : of_part) classes.push_back(whole().ranks.class_of_rank[mesh.rank_of(device)]);
      const auto [row, is_new] = rows.try_emplace(classes, parts.size());
      if (!is_new) {
        ++parts[row->second].alike;
        continue;
      }
      const auto chip = program::chip_name(cluster.coordinates(of_part.front()));
      auto& part = parts.emplace_back(Part{by_nic                      ? cluster.node(node).name
                                           : one.of == Component::host ? "the host of " + chip
                                                                       : chip,
                                           1, placed_});
      if (by_nic) {
        take_from_nic(part.without, cluster, node, cluster.unit_of(of_part.front()), one.bandwidth);
      } else {
        part.without.perturbations.emplace_back(
            program::SlowChip{cluster.coordinates(of_part.front()), one.of == Component::host, one.slowdown});
      }
    }
    return parts;
  }

  /// A NIC with a share of its bandwidth left; without any, the other NICs of its host carry what it carried.
  static void take_from_nic(scenario::Scenario& without, const topologies::Cluster& cluster, topologies::NodeId nic,
                            int unit, double bandwidth) {
    if (bandwidth > 0) {
      without.perturbations.emplace_back(program::DegradedNode{cluster.node(nic).name, bandwidth});
      return;
    }
    std::set<topologies::NodeId> nics;
    for (int place = 0; place < cluster.unit_size(); ++place)
      nics.insert(cluster.nic_of(unit * cluster.unit_size() + place));
    const auto number = cluster.unit_is_torus() ? 1.0 : static_cast<double>(nics.size());
    for (const auto one : nics) {
      if (number > 1 || one == nic)
        without.perturbations.emplace_back(program::DegradedNode{cluster.node(one).name, 1 - 1 / number});
    }
  }

  /// The step with whole replicas left out, and as much less work.
  void find_speeds_of_fewer_hosts() {
    const std::string axis = mesh_.has_axis("data") && mesh_.axis("data").size() > 1 ? "data" : "fsdp";
    const int replicas = mesh_.has_axis(axis) ? mesh_.axis(axis).size() : 1;
    const auto unit = prepared_.machine.cluster->unit_size();
    const int of_host = static_cast<int>(std::max<std::int64_t>(1, std::int64_t{unit} * replicas / mesh_.ranks()));
    std::vector<scenario::Scenario> fewer;
    for (std::int64_t missing = 1; missing <= options_.most_missing; ++missing) {
      const auto left = replicas - of_host * static_cast<int>(missing);
      auto smaller = left > 0 ? with_replicas(axis, replicas, left) : std::nullopt;
      if (!smaller) break;
      fewer.push_back(std::move(*smaller));
    }
    const auto found = steps(fewer);
    for (std::size_t i = 0; i < found.size(); ++i) {
      if (!found[i].partition.empty()) {
        found_.notes.push_back("elastic: with " + std::to_string(i + 1) + " hosts missing, " + found[i].partition);
        break;
      }
      const auto tokens = [](const scenario::Scenario& of) { return static_cast<double>(of.batch.sequences); };
      found_.facts.speeds.push_back(tokens(fewer[i]) / tokens(scenario_) * (whole().metrics.step_time / found[i].step));
    }
    if (found_.facts.speeds.empty())
      found_.notes.emplace_back(
          "elastic: a smaller data axis cannot be simulated here; the run is taken to lose the "
          "share of the chips that are missing");
  }

  [[nodiscard]] std::optional<scenario::Scenario> with_replicas(const std::string& axis, int replicas, int left) const {
    const auto chips = mesh_.ranks() / replicas * left;
    const auto unit = prepared_.machine.cluster->unit_size();
    if (chips % unit != 0 || scenario_.batch.sequences * left % replicas != 0) return std::nullopt;
    auto smaller = scenario_;
    const auto cluster = with_fewer_hosts(smaller.cluster, (mesh_.ranks() - chips) / unit);
    if (!cluster) return std::nullopt;
    smaller.cluster = *cluster;
    smaller.batch.sequences = smaller.batch.sequences * left / replicas;
    bool keeps_places = true;
    for (auto& request : smaller.mesh) {
      request.size = request.name == axis ? left : mesh_.axis(request.name).size();
      keeps_places = keeps_places && (request.name != axis || !request.place || request.place->front() == "rest");
    }
    for (auto& request : smaller.mesh) {
      if (!keeps_places) request.place.reset();
    }
    return smaller;
  }

  /// Asynchronous writing over the NICs takes its rate from the collectives for as long as it lasts: a bound, since
  /// they do not use the NICs all the time.
  void find_speed_while_writing() {
    const auto& checkpoint = scenario_.reliability->checkpoint;
    if (!checkpoint.asynchronous || !checkpoint.over_nics) return;
    const auto model = run_model(scenario_, found_.facts);
    const double of_host = static_cast<double>(model.checkpoint.value()) * found_.facts.share_of_writer;
    const double share = of_host / model.write.value() / nics_rate(scenario_).value();
    auto shared = placed_;
    const bool torus = scenario_.cluster.node() == nullptr;
    shared.cluster.background.push_back({torus ? "host(*" : "nic(*", share});
    const auto found = steps({shared});
    if (found.front().partition.empty()) {
      found_.facts.speed_while_writing = std::min(1.0, whole().metrics.step_time / found.front().step);
    } else {
      found_.notes.push_back("a checkpoint written over the NICs slows nothing here: " + found.front().partition);
    }
  }

  const scenario::Scenario& scenario_;
  const preparation::PreparedStep& prepared_;
  const topologies::Mesh& mesh_;
  const FactsOptions& options_;
  spdlog::logger& log_;
  scenario::Scenario placed_;
  std::optional<Simulation> whole_;
  std::optional<std::vector<faults::PossibleLoss>> losses_;
  FoundFacts found_;
};

}  // namespace

FoundFacts run_facts(const scenario::Scenario& scenario, const preparation::PreparedStep& prepared, Seconds step,
                     const FactsOptions& options, spdlog::logger& log) {
  return Finding(scenario, prepared, step, options, log).run();
}

}  // namespace lockstep::goodput
