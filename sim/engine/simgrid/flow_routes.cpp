#include "sim/engine/simgrid/flow_routes.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <csignal>
#include <string>

#include <simgrid/kernel/resource/NetworkModelIntf.hpp>
#include <simgrid/s4u/Engine.hpp>
#include <simgrid/s4u/Host.hpp>
#include <simgrid/s4u/Link.hpp>
#include <simgrid/s4u/NetZone.hpp>

#include "sim/core/errors.hpp"

namespace lockstep::engine {

namespace s4u = simgrid::s4u;

namespace {

/// A full zone of n hosts has a table of n^2 routes; many zones cost superlinear time, large ones
/// waste table.
constexpr std::size_t hosts_per_zone = 128;

/// SimGrid's solver recurses over links that share flows, about 100 bytes a link. 128 MiB is what the
/// kernel keeps free below the main thread's stack whatever its limit was at the start.
void make_room_on_the_stack() {
  constexpr rlim_t enough = 128U << 20U;
  rlimit limit{};
  if (getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur >= enough) return;
  limit.rlim_cur = std::min(enough, limit.rlim_max);
  setrlimit(RLIMIT_STACK, &limit);
}

void start_simgrid() {
  static std::atomic_flag started = ATOMIC_FLAG_INIT;
  if (started.test_and_set()) throw InternalError("SimGrid can run one simulation per process");

  // CM02 without its TCP corrections: a flow gets its max-min share and nothing else. Nothing is torn
  // down at exit: flows keep handles of finished transfers (see SimGridNetwork).
  static std::array<std::string, 7> arguments{
      "lockstep",
      "--log=root.thres:error",
      "--cfg=network/model:CM02",
      "--cfg=network/crosstraffic:0",
      "--cfg=network/TCP-gamma:1e30",
      "--cfg=surf/precision:1e-12",
      "--cfg=debug/clean-atexit:0",
  };
  static std::array<char*, arguments.size() + 1> argv{};
  std::transform(arguments.begin(), arguments.end(), argv.begin(), [](std::string& text) { return text.data(); });
  int argc = static_cast<int>(arguments.size());

  make_room_on_the_stack();
  const auto on_interrupt = std::signal(SIGINT, SIG_DFL);
  new s4u::Engine(&argc, argv.data());  // SimGrid keeps its only engine until the process ends
  std::signal(SIGINT, on_interrupt);    // SimGrid's own handler prints and exits
}

}  // namespace

FlowRoutes::FlowRoutes(const program::Program& program, const FirstFlows& first_flow) {
  for (std::size_t communicator = 0; communicator < first_flow.size(); ++communicator) {
    for (std::size_t group = 0; group < first_flow[communicator].size(); ++group)
      flows_ += program.communicators[communicator].groups[group].flows.size();
  }
  start_simgrid();
  create_zones();
  create_routes(program, first_flow);
}

void FlowRoutes::create_zones() {
  root_ = s4u::create_full_zone("root");
  model_ = dynamic_cast<simgrid::kernel::resource::Model*>(root_->get_network_model());
  if (model_ == nullptr) throw InternalError("SimGrid's network model is not a Model");

  const auto needed = static_cast<std::size_t>(std::ceil(std::sqrt(static_cast<double>(flows_))));
  side_ = std::clamp<std::size_t>(needed, 1, hosts_per_zone);
  for (std::size_t routes = 0; routes < flows_; routes += side_ * side_) {
    const std::string name = "zone" + std::to_string(zones_.size());
    zones_.push_back(s4u::create_full_zone(name));
    zones_.back()->set_parent(root_);
    for (std::size_t host = 0; host < side_; ++host) {
      hosts_.push_back(zones_.back()->create_host(name + "h" + std::to_string(host), 1.0));
    }
  }
}

std::pair<s4u::Host*, s4u::Host*> FlowRoutes::ends(std::size_t flow) const {
  const std::size_t in_zone = flow % (side_ * side_);
  const std::size_t first_host = flow / (side_ * side_) * side_;
  return {hosts_[first_host + in_zone / side_], hosts_[first_host + in_zone % side_]};
}

void FlowRoutes::create_routes(const program::Program& program, const FirstFlows& first_flow) {
  Indexed<topologies::LinkId, s4u::Link*> links(program.links.size(),
                                                nullptr);  // created when a flow first crosses them
  std::vector<s4u::LinkInRoute> route;
  std::size_t flow = 0;
  for (std::size_t communicator = 0; communicator < first_flow.size(); ++communicator) {
    for (std::size_t group = 0; group < first_flow[communicator].size(); ++group) {
      flow = first_flow[communicator][group];
      for (const collectives::Flow& program_flow : program.communicators[communicator].groups[group].flows) {
        route.clear();
        for (const std::int32_t link : program_flow.links) {
          s4u::Link*& created = links[link];
          if (created == nullptr) {
            created = root_->create_link("l" + std::to_string(link), program.links[link].value());
            created->set_latency(0.0);  // CM02 would make a latency a sharing penalty
          }
          route.emplace_back(created);
        }
        const auto [source, destination] = ends(flow);
        zones_[flow / (side_ * side_)]->add_route(source->get_netpoint(), destination->get_netpoint(), nullptr, nullptr,
                                                  route, false);
        ++flow;
      }
    }
  }
}

}  // namespace lockstep::engine
