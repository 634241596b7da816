#include "sim/slowest_replica.hpp"

#include <algorithm>
#include <boost/pending/disjoint_sets.hpp>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include "sim/program/slack_links.hpp"

namespace lockstep {
namespace {

bool computes(const program::ProgramOp& op) {
  return op.kind == program::ProgramOp::Kind::compute && (op.duration > Seconds(0) || !op.on_chips.empty());
}

/// By operation: whether ranks that it joins wait for each other between passes, since it waits for a pass and a pass
/// waits for it, or for what comes after it on its stream.
Indexed<program::ProgramOpId, bool> joining(const workloads::StepGraph& step, const program::Program& program) {
  const auto count = program.ops.size();
  Indexed<program::ProgramOpId, bool> after(count, false), before(count, false), result(count, false);
  for (const auto id : program.ops.ids()) {
    for (const auto earlier : program.ops[id].predecessors)
      after[id] = after[id] || after[earlier] || computes(program.ops[earlier]);
  }
  std::set<std::pair<program::StreamId, workloads::StageId>> leads_on;
  for (auto id = program.ops.count(); id-- > 0;) {
    const auto& op = program.ops[id];
    const bool pass = computes(op) && step.op(op.vertex).pass != workloads::StepPass::update;
    if (op.kind == program::ProgramOp::Kind::collective) {
      const auto& groups = program.communicators[op.communicator].groups;
      if (groups.empty()) continue;
      const auto stage = program.stage_of_rank[groups.front().members.front()];
      bool later = before[id];
      for (const auto stream : op.streams) later = later || leads_on.contains({stream, stage});
      result[id] = after[id] && later;
      if (before[id]) {
        for (const auto stream : op.streams) leads_on.emplace(stream, stage);
      }
    }
    if (!before[id] && !pass) continue;
    for (const auto earlier : op.predecessors) before[earlier] = true;
  }
  return result;
}

/// Communicators in which ranks of a stage exchange activations again and again: in half of the stage's cells at least,
/// since cells of weights' gradients have none. Ranks that gather weights from each other may be further apart.
Indexed<program::CommunicatorId, bool> meeting_often(const workloads::StepGraph& step, const program::Program& program,
                                                     const Indexed<program::ProgramOpId, bool>& joins) {
  constexpr std::size_t a_cell_of = 2;
  Indexed<workloads::StageId, std::size_t> cells;
  Indexed<program::CommunicatorId, std::size_t> met(program.communicators.size(), 0);
  Indexed<program::CommunicatorId, std::size_t> last(program.communicators.size(), step.cells.size());
  for (std::size_t cell = 0; cell < step.cells.size(); ++cell) {
    const auto& [place, first] = step.cells[cell];
    const auto end = cell + 1 < step.cells.size() ? step.cells[cell + 1].first : step.first_update;
    cells.resize(std::max(cells.size(), position_of(place.rank) + 1), 0);
    ++cells[place.rank];
    for (auto id = first; id < end; ++id) {
      const auto& op = program.ops[id];
      if (op.kind != program::ProgramOp::Kind::collective || !joins[id]) continue;
      if (step.op(op.vertex)->role != workloads::CollectiveRole::activation) continue;
      if (std::exchange(last[op.communicator], cell) != cell) ++met[op.communicator];
    }
  }
  Indexed<program::CommunicatorId, bool> often(program.communicators.size(), false);
  for (const auto id : program.communicators.ids()) {
    if (met[id] == 0) continue;
    const auto stage = program.stage_of_rank[program.communicators[id].groups.front().members.front()];
    often[id] = met[id] * a_cell_of >= cells[stage];
  }
  return often;
}

}  // namespace

SlowestReplica::SlowestReplica(const workloads::StepGraph& step, program::Program whole, bool links_vary,
                               engine::EngineKind kind) {
  find_replicas(step, whole);
  whole_links_ = whole.links;
  auto folded =
      fold(program::Program(whole), links_vary ? program::FoldedLinks::all : program::FoldedLinks::that_can_fill);
  place_ranks(whole, folded.ranks);
  list_crossings(whole, folded.link_members);
  applies_ = ranks_act_together(whole) && !replicas_fill_links_of_each_other(whole);
  if (!applies_) return;
  if (links_vary) {
    double_links_between_replicas(folded.program);
  }
  whole = {};
  healthy_speeds_ = folded.program.slowdown_of_rank;
  healthy_links_ = folded.program.links;
  runs_.emplace(std::move(folded.program), kind);
  const auto timeline = runs_->run(healthy_speeds_, healthy_links_);
  healthy_ = timeline.makespan();
  order_.emplace(runs_->program(), runs_->chains(), timeline);
  recorded_s_ = order_->recorded();
  if (links_vary) {
    load_shapes();
  } else {
    crossed_by_ = {};
  }
}

/// Of one replica, ranks of one class meet in their passes.
bool SlowestReplica::ranks_act_together(const program::Program& whole) const {
  std::map<std::pair<ReplicaId, program::RankClassId>, std::size_t> first;
  for (const auto rank : whole.stage_of_rank.ids()) {
    const auto [replica, of_class] = places_[rank];
    const auto found = first.try_emplace({replica, of_class}, meets_often_[rank]).first;
    if (found->second != meets_often_[rank]) return false;
  }
  return true;
}

bool SlowestReplica::replicas_fill_links_of_each_other(const program::Program& whole) const {
  const auto slack = program::slack_links(whole);
  const auto links = whole_links_.ids();
  return std::any_of(links.begin(), links.end(),
                     [&](topologies::LinkId link) { return crossed_by_[link].size() > 1 && !slack[link]; });
}

void SlowestReplica::find_replicas(const workloads::StepGraph& step, const program::Program& whole) {
  const auto joins = joining(step, whole);
  Indexed<program::CommunicatorId, bool> joined(whole.communicators.size(), false), used = joined;
  for (const auto id : whole.ops.ids()) {
    const auto& op = whole.ops[id];
    if (op.kind != program::ProgramOp::Kind::collective) continue;
    used[op.communicator] = true;
    if (joins[id]) joined[op.communicator] = true;
  }
  const auto often = meeting_often(step, whole, joins);
  boost::disjoint_sets_with_storage<> joined_ranks(whole.stage_of_rank.size()), meeting = joined_ranks;
  for (const auto id : whole.communicators.ids()) {
    if (!joined[id]) continue;
    for (const auto& group : whole.communicators[id].groups) {
      const auto first = group.members.front();
      for (const auto rank : group.members) {
        joined_ranks.union_set(position_of(first), position_of(rank));
        const bool same_stage = whole.stage_of_rank[rank] == whole.stage_of_rank[first];
        if (often[id] && same_stage) meeting.union_set(position_of(first), position_of(rank));
      }
    }
  }
  for (const auto rank : whole.stage_of_rank.ids()) meets_often_.push_back(meeting.find_set(position_of(rank)));
  replica_of_.assign(whole.stage_of_rank.size(), -1);
  std::map<std::size_t, std::pair<ReplicaId, std::int64_t>> numbers;  // of a set: its replica, and how many ranks
  for (const auto rank : whole.stage_of_rank.ids()) {
    const auto set = joined_ranks.find_set(position_of(rank));
    const auto found = numbers.try_emplace(set, static_cast<ReplicaId>(numbers.size()), 0).first;
    replica_of_[rank] = found->second.first;
    told_.ranks_of_replica = std::max(told_.ranks_of_replica, ++found->second.second);
  }
  told_.replicas = replicas_ = static_cast<ReplicaId>(numbers.size());
  between_replicas_.assign(whole.communicators.size(), false);
  for (const auto id : whole.communicators.ids()) {
    if (!used[id]) continue;
    for (const auto& group : whole.communicators[id].groups) {
      for (const auto rank : group.members) {
        if (replica_of_[rank] != replica_of_[group.members.front()]) between_replicas_[id] = true;
      }
    }
  }
}

void SlowestReplica::place_ranks(const program::Program& whole, const program::RankClasses& ranks) {
  places_.reserve(whole.stage_of_rank.size());
  for (const auto rank : whole.stage_of_rank.ids()) places_.push_back({replica_of_[rank], ranks.class_of_rank[rank]});
}

void SlowestReplica::list_crossings(const program::Program& whole, const program::LinkClasses& links) {
  class_of_link_ = links.class_of_link;
  crossed_by_.assign(whole.links.size(), {});
  between_.assign(whole.links.size(), false);
  for (const auto id : whole.communicators.ids()) {
    for (const auto& group : whole.communicators[id].groups) {
      const auto replica = replica_of_[group.members.front()];
      for (const auto& flow : group.flows) {
        for (const auto link : flow.links) {
          if (between_replicas_[id]) {
            between_[link] = true;
          } else if (auto& by = crossed_by_[link]; by.empty() || by.back() != replica) {
            by.push_back(replica);
          }
        }
      }
    }
  }
  for (auto& by : crossed_by_) {
    std::sort(by.begin(), by.end());
    by.erase(std::unique(by.begin(), by.end()), by.end());
  }
}

void SlowestReplica::double_links_between_replicas(program::Program& folded) {
  double_of_.assign(folded.links.size(), -1);
  for (const auto id : folded.communicators.ids()) {
    if (!between_replicas_[id]) continue;
    for (auto& group : folded.communicators[id].groups) {
      for (auto& flow : group.flows) {
        const auto own = flow.links;
        for (const auto link : own) {
          if (double_of_[link] < 0) {
            double_of_[link] = folded.links.next_id();
            folded.links.push_back(BytesPerSecond(folded.links[link]));
          }
          flow.links.push_back(double_of_[link]);
        }
      }
    }
  }
}

void SlowestReplica::load_shapes() {
  const auto& program = runs_->program();
  for (const auto& shape : order_->shapes()) {
    auto& phases = loads_.emplace_back();
    for (const auto& phase : shape.phases) {
      std::map<topologies::LinkId, double> bytes;
      for (const auto& group : program.communicators[shape.communicator].groups) {
        for (const auto& flow : group.flows) {
          for (const auto link : flow.links) bytes[link] += phase.slot_bytes[flow.slot];
        }
      }
      phases.push_back({{bytes.begin(), bytes.end()}});
    }
  }
}

std::vector<double> SlowestReplica::slower(const Speeds& speeds) const {
  const auto steps = position_of(replicas_);
  std::vector<double> values(healthy_speeds_.size() * steps, 0.0);
  for (const auto rank : places_.ids()) {
    const auto [replica, of_class] = places_[rank];
    auto& value = values[position_of(of_class) * steps + position_of(replica)];
    value = std::max(value, speeds.slowdown_of_rank[rank] / healthy_speeds_[of_class]);
  }
  std::replace(values.begin(), values.end(), 0.0, 1.0);  // where no rank of the replica is of a class
  return values;
}

std::vector<SlowestReplica::LinkFactors> SlowestReplica::worse_links(const Speeds& speeds) const {
  std::vector<std::map<topologies::LinkId, double>> worse(position_of(replicas_));
  std::map<topologies::LinkId, double> between;
  const auto put = [](auto& list, topologies::LinkId link, double factor) {
    const auto [found, is_new] = list.try_emplace(link, factor);
    if (!is_new) found->second = std::min(found->second, factor);
  };
  for (const auto link : whole_links_.ids()) {
    const double factor = speeds.links[link] / whole_links_[link];
    if (factor >= 1) continue;
    const auto of_class = class_of_link_[link];
    for (const auto replica : crossed_by_[link]) put(worse[position_of(replica)], of_class, factor);
    if (between_[link]) put(between, double_of_[of_class], factor);
  }
  std::vector<LinkFactors> result;
  for (auto& of_replica : worse) {
    for (const auto& [link, factor] : between) put(of_replica, link, factor);
    result.emplace_back(of_replica.begin(), of_replica.end());
  }
  return result;
}

/// By how much longer the collective takes where the links that limit its phases do not limit them by others' traffic.
double SlowestReplica::later_s(std::size_t shape, const LinkFactors& worse) const {
  double later = 0;
  for (const auto& phase : loads_[shape]) {
    double healthy = 0, now = 0;
    for (const auto& [link, bytes] : phase.bytes) {
      const double time = bytes / healthy_links_[link].value();
      const auto found = std::lower_bound(worse.begin(), worse.end(), std::pair(link, 0.0));
      const bool is_worse = found != worse.end() && found->first == link;
      healthy = std::max(healthy, time);
      now = std::max(now, is_worse ? time / found->second : time);
    }
    later += now - healthy;
  }
  return later;
}

void SlowestReplica::add_later(const std::vector<LinkFactors>& worse, std::vector<float>& values) const {
  const auto steps = position_of(replicas_), ranks = healthy_speeds_.size();
  std::map<LinkFactors, std::vector<float>> known;  // replicas whose links are alike, most of them without an own one
  for (std::size_t step = 0; step < steps; ++step) {
    if (worse[step].empty()) continue;
    const auto [found, is_new] = known.try_emplace(worse[step]);
    if (is_new) {
      for (std::size_t shape = 0; shape < loads_.size(); ++shape)
        found->second.push_back(static_cast<float>(later_s(shape, worse[step])));
    }
    for (std::size_t shape = 0; shape < loads_.size(); ++shape)
      values[(ranks + shape) * steps + step] = found->second[shape];
  }
}

Seconds SlowestReplica::simulate(ReplicaId replica, const std::vector<double>& slower, const LinkFactors& worse) {
  const auto steps = position_of(replicas_);
  auto slowdowns = healthy_speeds_;
  bool alike = worse.empty();
  for (const auto rank : slowdowns.ids()) {
    const double value = slower[position_of(rank) * steps + position_of(replica)];
    alike = alike && value == 1;
    slowdowns[rank] *= value;
  }
  if (alike) return healthy_;
  auto links = healthy_links_;
  for (const auto& [link, factor] : worse) links[link] = links[link] * factor;
  return runs_->run(std::move(slowdowns), std::move(links)).makespan();
}

Seconds SlowestReplica::step(const Speeds& speeds) {
  // A replica is simulated unless it can be slower by no more than this than those before it, and of long steps only
  // the first.
  constexpr double near_enough = 1e-3, operations_of_a_draw = 2e5, most_replicas = 16;
  const auto operations = static_cast<double>(runs_->program().ops.size());
  const auto most_of_a_draw =
      static_cast<std::size_t>(std::clamp(operations_of_a_draw / operations, 1.0, most_replicas));
  const auto slow = slower(speeds);
  std::vector<float> values(slow.begin(), slow.end());
  values.resize(order_->variables() * position_of(replicas_), 0.0F);
  std::vector<LinkFactors> worse(position_of(replicas_));
  if (!loads_.empty()) {
    worse = worse_links(speeds);
    add_later(worse, values);
  }
  auto estimates = order_->makespans(position_of(replicas_), values);
  for (auto& estimate : estimates) estimate *= healthy_.value() / recorded_s_;
  std::vector<ReplicaId> by_estimate(position_of(replicas_));
  std::iota(by_estimate.begin(), by_estimate.end(), 0);
  std::stable_sort(by_estimate.begin(), by_estimate.end(), [&](ReplicaId one, ReplicaId other) {
    return estimates[position_of(one)] > estimates[position_of(other)];
  });
  double longest = 0;
  for (std::size_t i = 0; i < by_estimate.size(); ++i) {
    const auto replica = by_estimate[i];
    const double estimate = estimates[position_of(replica)];
    const bool is_near = estimate * (1 + most_underestimated_) > longest * (1 + near_enough);
    if (i == most_of_a_draw || (i > 0 && !is_near)) {
      bounded_.push_back({estimate, longest});
      break;
    }
    const double simulated = simulate(replica, slow, worse[position_of(replica)]).value();
    ++told_.simulated;
    most_underestimated_ = std::max(most_underestimated_, simulated / estimate - 1);
    told_.estimate_error = std::max(told_.estimate_error, std::abs(estimate / simulated - 1));
    longest = std::max(longest, simulated);
  }
  return Seconds(longest);
}

ReplicaDraws SlowestReplica::draws() const {
  auto told = told_;
  for (const auto& [estimate, longest] : bounded_)
    told.left_out = std::max(told.left_out, estimate * (1 + most_underestimated_) / longest - 1);
  return told;
}

}  // namespace lockstep
