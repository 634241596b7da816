#include "sim/studies/collectives/collective_study.hpp"

#include <algorithm>
#include <map>

#include "sim/collectives/designed.hpp"
#include "sim/collectives/nccl_size.hpp"
#include "sim/engine/engine.hpp"
#include "sim/studies/collectives/design_programs.hpp"
#include "sim/studies/collectives/scheduled_collective.hpp"

namespace lockstep::studies {
namespace {

/// Collectives of one axis, each by itself. They share a program, which is checked and folded once.
class Sequence {
 public:
  Sequence(const topologies::Cluster& cluster, const topologies::Mesh& mesh, const collectives::CollectiveRules& rules,
           std::string axis)
      : cluster_(cluster), mesh_(mesh), axis_(std::move(axis)), model_(cluster, mesh, rules) {
    program_.streams = {"compute", axis_};
    program_.stage_of_rank.assign(static_cast<std::size_t>(mesh.ranks()), 0);
    program_.slowdown_of_rank.assign(static_cast<std::size_t>(mesh.ranks()), 1.0);
    for (topologies::LinkId link = 0; link < cluster.links(); ++link)
      program_.links.push_back(cluster.link(link).bandwidth);
  }

  [[nodiscard]] std::vector<std::string> algorithms(workloads::CollectiveKind kind) {
    return model_.algorithms(kind, {axis_});
  }

  void add(workloads::CollectiveKind kind, Bytes size, const std::string& wanted) {
    const auto full_size = collectives::full_size_of(kind, size, mesh_.axis(axis_).size());
    auto lowered = model_.lower(kind, {axis_}, full_size, wanted);
    const auto [known, is_new] =
        communicators_.try_emplace(lowered.layout.second, static_cast<std::int32_t>(program_.communicators.size()));
    if (is_new) program_.communicators.push_back(model_.communicator(lowered.layout));
    program::ProgramOp op;
    op.kind = program::ProgramOp::Kind::collective;
    op.streams = {1};
    op.communicator = known->second;
    op.phases = std::move(lowered.phases);
    op.closed_form = lowered.closed_form;
    MeasuredCollective planned{
        size, Seconds(0), op.closed_form, Seconds(0), book(kind, full_size), std::move(lowered.algorithm), {}};
    for (const auto& phase : op.phases) planned.latency += phase.latency;
    program_.ops.push_back(std::move(op));
    took(std::move(planned), program_.ops.count() - 1);
  }

  /// The same by an algorithm from a file.
  void add(ScheduledCollective& scheduled, workloads::CollectiveKind kind, Bytes size) {
    auto added = scheduled.add(program_, size);
    const auto full_size = collectives::full_size_of(kind, size, mesh_.axis(axis_).size());
    took({size, Seconds(0), added.alone, added.latency, book(kind, full_size), std::move(added.label), {}},
         added.first);
  }

  [[nodiscard]] std::vector<std::vector<topologies::DeviceId>> groups() const {
    std::vector<std::vector<topologies::DeviceId>> groups;
    for (const auto& group : mesh_.groups({axis_})) {
      groups.emplace_back();
      for (const auto rank : group.members) groups.back().push_back(mesh_.device_of(rank));
    }
    return groups;
  }

  /// What every link carries where some are slow; nothing where it is missing.
  [[nodiscard]] std::vector<BytesPerSecond> rates(const std::vector<program::Perturbation>& perturbations) const {
    auto slowed = program_;
    slowed.ops = {};
    // One flow over each link: those that are sent another way round have lost theirs.
    const auto missing = missing_in_networks(perturbations, cluster_);
    collectives::Communicator over_each{"links", 1, {}};
    over_each.groups.push_back({{0}, {}});
    for (topologies::LinkId link = 0; link < cluster_.links(); ++link) {
      if (missing.empty() || !missing[link]) over_each.groups[0].flows.push_back({0, {link}});
    }
    const auto before = over_each.groups[0].flows;
    slowed.communicators = {};
    slowed.communicators.push_back(std::move(over_each));
    if (const auto why = perturb(slowed, perturbations, cluster_, mesh_); !why.empty()) throw topologies::NoRoute(why);
    std::vector<BytesPerSecond> rates(position_of(cluster_.links()), BytesPerSecond(0));
    const auto& after = slowed.communicators[0].groups[0].flows;
    for (std::size_t i = 0; i < before.size(); ++i) {
      const auto link = before[i].links.front();
      if (after[i].links == before[i].links) rates[position_of(link)] = slowed.links[link];
    }
    return rates;
  }

  [[nodiscard]] std::vector<MeasuredCollective> run(const std::vector<program::Perturbation>& perturbations,
                                                    spdlog::logger& log) {
    if (const auto why = perturb(program_, perturbations, cluster_, mesh_); !why.empty())
      throw topologies::NoRoute(why);
    check(program_);
    const auto folded = fold(program_);
    auto alone = folded.program;
    const auto all = std::move(alone.ops);
    for (std::size_t i = 0; i < measured_.size(); ++i) {
      const auto [first, last] = ops_[i];
      alone.ops.clear();
      for (auto op = first; op <= last; ++op) {
        alone.ops.push_back(all[op]);
        for (auto& before : alone.ops.back().predecessors) before -= first;
      }
      const auto result = lockstep::engine::run(alone, {engine::EngineKind::max_min, {}, true}, log);
      const timeline::Interval span{whole_span(result.timeline, 0).start,
                                    whole_span(result.timeline, alone.ops.count() - 1).end};
      measured_[i].time = span.end - span.start;
      measured_[i].loads = metrics::link_loads(alone, result.phases, folded.link_members, span);
    }
    return std::move(measured_);
  }

 private:
  /// Takes the operations from `first` to the program's last as those of one collective.
  void took(MeasuredCollective planned, program::ProgramOpId first) {
    ops_.emplace_back(first, program_.ops.count() - 1);
    measured_.push_back(std::move(planned));
  }

  /// From the start of the first group to the end of the last.
  static timeline::Interval whole_span(const timeline::Timeline& timeline, std::int32_t op) {
    auto span = timeline.span(op, 0);
    for (std::int32_t rank = 1; !timeline.uniform(op) && rank < timeline.ranks(); ++rank) {
      const auto other = timeline.span(op, rank);
      span = {std::min(span.start, other.start), std::max(span.end, other.end)};
    }
    return span;
  }

  [[nodiscard]] std::optional<Seconds> book(workloads::CollectiveKind kind, Bytes size) const {
    const auto dimensions =
        mesh_.dimensions({axis_}, kind == workloads::CollectiveKind::all_to_all ? topologies::BlockShape::lines
                                                                                : topologies::BlockShape::ring);
    if (!cluster_.unit_is_torus() || collectives::members(dimensions) != mesh_.axis(axis_).size()) return std::nullopt;
    return collectives::book_cost(kind, dimensions, size);
  }

  const topologies::Cluster& cluster_;
  const topologies::Mesh& mesh_;
  std::string axis_;
  collectives::CollectiveModel model_;
  program::Program program_;
  std::map<std::string, std::int32_t> communicators_;  ///< by algorithm
  std::vector<MeasuredCollective> measured_;
  std::vector<std::pair<program::ProgramOpId, program::ProgramOpId>> ops_;  ///< first and last of each
};

}  // namespace

CollectiveStudy study_collective(const topologies::Cluster& cluster, const topologies::Mesh& mesh,
                                 const collectives::CollectiveRules& rules, const std::string& axis,
                                 workloads::CollectiveKind kind, const std::vector<Bytes>& sizes,
                                 const std::string& wanted, bool with_others,
                                 const std::vector<program::Perturbation>& perturbations, spdlog::logger& log,
                                 const collectives::ChunkSchedule* schedule) {
  Sequence sequence(cluster, mesh, rules, axis);
  std::optional<DesignPrograms> designed;
  std::vector<std::ptrdiff_t> candidates;  ///< programs that were designed for each size
  std::optional<ScheduledCollective> scheduled;
  if (wanted == collectives::designed_name) {
    const auto rates = sequence.rates(perturbations);
    designed.emplace(cluster, mesh, axis, kind, sequence.groups(),
                     [&](topologies::LinkId link) { return rates[position_of(link)]; });
    for (const auto size : sizes) {
      const auto programs = designed->scheduled(size);
      for (auto* program : programs) sequence.add(*program, kind, size);
      candidates.push_back(std::ssize(programs));
    }
  } else if (schedule != nullptr) {
    scheduled.emplace(cluster, mesh, axis, *schedule);
    for (const auto size : sizes) sequence.add(*scheduled, kind, size);
  } else {
    for (const auto size : sizes) sequence.add(kind, size, wanted);
  }
  const auto serving = sequence.algorithms(kind);
  if (with_others && serving.size() + (schedule != nullptr || designed ? 1 : 0) > 1) {
    for (const auto size : sizes) {
      for (const auto& algorithm : serving) sequence.add(kind, size, algorithm);
    }
  }
  CollectiveStudy study;
  study.bound = collectives::collective_bound(kind, cluster, sequence.groups());
  if (designed) study.wider = collectives::with_wider_cuts(kind, cluster, sequence.groups(), 1.1);
  auto all = sequence.run(perturbations, log);
  auto size = sizes.begin();
  for (auto first = all.begin(); const auto count : candidates) {
    const auto fastest = std::min_element(first, first + count,
                                          [](const auto& left, const auto& right) { return left.time < right.time; });
    if (std::next(size) == sizes.end())
      study.designed = designed->summary(*size, static_cast<std::size_t>(fastest - first));
    std::iter_swap(first, fastest);
    all.erase(std::next(first), first + count);
    ++first;
    ++size;
  }
  const auto first_other = all.begin() + std::ssize(sizes);
  study.others.assign(std::make_move_iterator(first_other), std::make_move_iterator(all.end()));
  all.erase(first_other, all.end());
  study.chosen = std::move(all);
  return study;
}

std::string bottleneck(const topologies::Cluster& cluster, const MeasuredCollective& measured) {
  if (measured.loads.empty()) return "none";
  if (!measured.book && measured.latency > measured.time - measured.latency) return "latency";
  topologies::LinkId lowest = measured.loads.front().link;
  std::int64_t alike = 0;
  for (const auto& load : measured.loads) {  // the most used first; rounding does not tell links apart
    if (load.used < measured.loads.front().used * (1 - 1e-9)) break;
    lowest = std::min(lowest, load.link);
    alike += load.alike;
  }
  return cluster.link_name(lowest) + (alike > 1 ? " and " + std::to_string(alike - 1) + " alike" : "");
}

}  // namespace lockstep::studies
