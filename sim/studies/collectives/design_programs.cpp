#include "sim/studies/collectives/design_programs.hpp"

#include "sim/collectives/files/tree_program.hpp"
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
      members_(static_cast<int>(groups.front().size())),
      designs_(collectives::designs_on_groups(kind, cluster, groups, rate)) {
  if (cluster.fabric_spec() == nullptr) return;
  std::map<int, bool> units;
  for (const auto device : groups.front()) units[cluster.unit_of(device)] = true;
  step_slowdown_ = cluster.fabric_spec()->step_slowdown(static_cast<int>(units.size()));
}

DesignPrograms::Choice DesignPrograms::choice(Bytes size) const {
  const auto full_size = collectives::full_size_of(kind_, size, members_);
  const auto* node = cluster_.node_spec();
  const std::vector<topologies::Protocol> as_links_are{{}};
  const auto& protocols = node == nullptr || node->protocols.empty() ? as_links_are : node->protocols;
  const auto pass = collectives::pass_of(kind_);
  Choice best;
  std::optional<Seconds> least;
  for (const auto& protocol : protocols) {
    const auto design = collectives::fastest(designs_, pass, full_size, protocol, step_slowdown_);
    const auto time = protocol.launch + designs_[design].time(pass, full_size, protocol, step_slowdown_);
    if (least && !(time < *least)) continue;
    least = time;
    best = {design, designs_[design].pieces(pass, full_size, protocol, step_slowdown_).count, protocol.name};
  }
  return best;
}

DesignPrograms::Program& DesignPrograms::program(Bytes size) {
  const auto chosen = choice(size);
  auto& program = programs_[chosen];
  if (program != nullptr) return *program;
  program = std::make_unique<Program>();
  program->algorithm = collectives::msccl::tree_program(designs_[std::get<0>(chosen)].design(), kind_,
                                                        std::get<1>(chosen), std::string(collectives::designed_name));
  program->algorithm.protocol = std::get<2>(chosen);
  Problems problems;
  program->schedule = collectives::msccl::execute(program->algorithm, problems);
  if (!problems.empty()) throw InternalError("a designed collective is wrong: " + problems.list().front().to_string());
  return *program;
}

ScheduledCollective& DesignPrograms::scheduled(Bytes size) {
  auto& own = program(size);
  if (!own.on_groups) own.on_groups.emplace(cluster_, mesh_, axis_, own.schedule);
  return *own.on_groups;
}

DesignedCollective DesignPrograms::summary(Bytes size) {
  const auto chosen = choice(size);
  const auto pass = collectives::pass_of(kind_);
  const auto& design = designs_[std::get<0>(chosen)];
  const auto& own = program(size);
  return {design.trees(pass).best_rate,
          design.trees(pass).rate,
          design.trees(pass).count(),
          design.use(pass).depth,
          std::get<1>(chosen),
          std::int64_t{own.schedule.transfers.count()},
          collectives::msccl::to_xml(own.algorithm)};
}

}  // namespace lockstep::studies
