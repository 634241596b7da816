#include "sim/studies/collectives/design_programs.hpp"

#include "sim/collectives/algorithms.hpp"
#include "sim/collectives/nccl_size.hpp"
#include "sim/core/errors.hpp"

namespace lockstep::studies {

DesignPrograms::DesignPrograms(const topologies::Cluster& cluster, const topologies::Mesh& mesh, std::string axis,
                               workloads::CollectiveKind kind,
                               const std::vector<std::vector<topologies::DeviceId>>& groups,
                               const collectives::design::LinkRate& rate)
    : cluster_(cluster),
      mesh_(mesh),
      axis_(std::move(axis)),
      kind_(kind),
      groups_(groups),
      members_(static_cast<int>(groups.front().size())),
      designs_(collectives::designs_on_groups(kind, cluster, groups, rate)) {
  for (auto& group : groups_) group = collectives::in_order_of_ranks(cluster, std::move(group));
  if (cluster.fabric_spec() == nullptr) return;
  std::map<int, bool> units;
  for (const auto device : groups.front()) units[cluster.unit_of(device)] = true;
  step_slowdown_ = cluster.fabric_spec()->step_slowdown(static_cast<int>(units.size()));
}

std::vector<DesignPrograms::Choice> DesignPrograms::choices(Bytes size) const {
  using collectives::msccl::Channels;
  const auto full_size = collectives::full_size_of(kind_, size, members_);
  const auto* node = cluster_.node_spec();
  const std::vector<topologies::Protocol> as_links_are{{}};
  const auto protocols =
      node == nullptr || node->protocols.empty() ? as_links_are : collectives::network::protocols_of(*node, "designed");
  const auto pass = collectives::pass_of(kind_);
  const topologies::Protocol* best = nullptr;
  std::size_t best_design = 0;
  std::optional<Seconds> least;
  for (const auto& protocol : protocols) {
    const auto design = collectives::fastest(designs_, pass, full_size, protocol, step_slowdown_);
    const auto time = protocol.launch + designs_[design].time(pass, full_size, protocol, step_slowdown_);
    if (least && !(time < *least)) continue;
    least = time;
    best = &protocol;
    best_design = design;
  }
  const auto pieces = designs_[best_design].pieces(pass, full_size, *best, step_slowdown_);
  std::vector<Choice> found{{best_design, pieces.count, best->name, Channels::of_trees}};
  if (!pieces.is_cut_short || !shares_no_link(designs_.front())) return found;
  const auto in_order = designs_.front().pieces_in_order(pass, full_size, *best, step_slowdown_);
  found.emplace_back(0, in_order.count, best->name, Channels::in_order);
  return found;
}

bool DesignPrograms::shares_no_link(const collectives::TreesOnGroups& trees) const {
  const auto pass = collectives::pass_of(kind_);
  std::map<topologies::LinkId, std::pair<topologies::DeviceId, topologies::DeviceId>> taken;
  for (const auto way : {collectives::TreesOnGroups::up, collectives::TreesOnGroups::down}) {
    if (pass != collectives::TreesOnGroups::both && pass != way) continue;
    for (const auto& tree : trees.trees(way).trees) {
      for (const auto& arc : tree.arcs) {
        for (const auto& group : groups_) {
          auto ends = std::pair{group[position_of(arc.from)], group[position_of(arc.to)]};
          if (way == collectives::TreesOnGroups::up) std::swap(ends.first, ends.second);
          for (const auto link : cluster_.routes(ends.first, ends.second)) {
            if (taken.try_emplace(link, ends).first->second != ends) return false;
          }
        }
      }
    }
  }
  return true;
}

DesignPrograms::Program& DesignPrograms::program(const Choice& chosen) {
  auto& program = programs_[chosen];
  if (program != nullptr) return *program;
  program = std::make_unique<Program>();
  const auto& [design, pieces, protocol, channels] = chosen;
  program->algorithm = collectives::msccl::tree_program(designs_[design].design(), kind_, pieces,
                                                        std::string(collectives::designed_name), channels);
  program->algorithm.protocol = protocol;
  Problems problems;
  program->schedule = collectives::msccl::execute(program->algorithm, problems);
  if (!problems.empty()) throw InternalError("a designed collective is wrong: " + problems.list().front().to_string());
  return *program;
}

std::vector<ScheduledCollective*> DesignPrograms::scheduled(Bytes size) {
  std::vector<ScheduledCollective*> all;
  for (const auto& choice : choices(size)) {
    auto& own = program(choice);
    if (!own.on_groups) own.on_groups.emplace(cluster_, mesh_, axis_, own.schedule);
    all.push_back(&*own.on_groups);
  }
  return all;
}

DesignedCollective DesignPrograms::summary(Bytes size, std::size_t number) {
  const auto chosen = choices(size)[number];
  const auto pass = collectives::pass_of(kind_);
  const auto& design = designs_[std::get<0>(chosen)];
  const auto& own = program(chosen);
  return {design.trees(pass).best_rate,
          design.trees(pass).rate,
          design.trees(pass).count(),
          design.use(pass).depth,
          std::get<1>(chosen),
          std::int64_t{own.schedule.transfers.count()},
          collectives::msccl::to_xml(own.algorithm)};
}

}  // namespace lockstep::studies
