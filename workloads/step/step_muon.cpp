// Muon's part of the update: matrices are brought together as their sharing says, go through Newton-Schulz steps, and
// are handed back; the elementwise update follows.
#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <queue>
#include <tuple>
#include <utility>

#include "workloads/sharded_layers/muon_groups.hpp"
#include "workloads/step/step_gradients_private.hpp"

namespace lockstep::workloads {
namespace {

StepWork collective(CollectiveKind kind, const AxisNames& axes, Bytes size, const std::string& of) {
  StepWork work;
  work.kind = StepWork::Kind::collective;
  work.collective = kind;
  work.axes = axes;
  work.role = CollectiveRole::weight;
  work.full_size = size;
  work.name = std::string(book_name(kind)) + "_" + subscript(axes) + " " + of;
  work.reason = "Newton-Schulz steps need whole matrices";
  return work;
}

StepWork steps(const MuonGroup& together, double share) {
  StepWork work;
  work.name = "Newton-Schulz steps";
  work.work = ComputeWork::head_product;  // in 16 bits, whatever the layers' products have
  work.shape = together.shape;
  work.flops = together.work.flops * share;
  work.traffic = Bytes(static_cast<std::int64_t>(static_cast<double>(together.work.traffic.value()) * share));
  return work;
}

/// A matrix, or what an owner has of them: work, and bytes of state.
struct Load {
  double work = 0;
  double state = 0;
  friend bool operator<(const Load& a, const Load& b) { return std::tie(a.work, a.state) < std::tie(b.work, b.state); }
  friend bool operator>(const Load& a, const Load& b) { return b < a; }
};

/// The most that one of `owners` has to do and to keep, and all of them together, if matrices are dealt out largest
/// first, each to the owner with the least work.
struct Dealt {
  Load most, sum;
};
Dealt dealt_out(std::vector<Load> matrices, std::int64_t owners) {
  std::sort(matrices.begin(), matrices.end(), std::greater<>());
  std::priority_queue<Load, std::vector<Load>, std::greater<>> loads(
      std::greater<>(), std::vector<Load>(static_cast<std::size_t>(owners)));
  Dealt dealt;
  for (const auto& [work, state] : matrices) {
    const Load load{loads.top().work + work, loads.top().state + state};
    loads.pop();
    loads.push(load);
    dealt.sum.work += work;
    dealt.sum.state += state;
    dealt.most.work = std::max(dealt.most.work, load.work);
    dealt.most.state = std::max(dealt.most.state, load.state);
  }
  return dealt;
}

}  // namespace

/// The ranks of a stage share out whole matrices of all its blocks; the step waits for the one with the most work.
double StepGradients::unevenness(std::int32_t stage, std::int64_t owners) {
  if (owners == 1) return 1;
  const auto [known, is_new] = unevenness_.try_emplace({stage, owners}, 1.0);
  if (!is_new) return known->second;
  const auto& options = writer_.options.optimizer;
  std::vector<Load> matrices;
  for (const auto& [block, weights] : updated_by_.at(stage)) {
    for (const auto& owner : weights) {
      const auto& update = writer_.update_of(owner);
      if (!by_muon(options, update)) continue;
      const auto work = muon_work(options.muon, update.matrices, options.moment);
      if (work.owners != owners) continue;
      const double each = work.flops.value() * static_cast<double>(owners) / static_cast<double>(update.matrices.count);
      matrices.insert(matrices.end(), static_cast<std::size_t>(update.matrices.count), {each});
    }
  }
  const auto dealt = dealt_out(std::move(matrices), owners);
  if (dealt.sum.work > 0) known->second = dealt.most.work * static_cast<double>(owners) / dealt.sum.work;
  return known->second;
}

/// Owners of whole matrices keep whole states. Shares of these count as even until all blocks of the stage are known.
void StepGradients::hold_uneven_states(std::int32_t stage) {
  const auto& options = writer_.options.optimizer;
  std::map<std::int64_t, std::vector<Load>> by_owners;
  for (const auto& [block, weights] : updated_by_[stage]) {
    for (const auto& owner : weights) {
      const auto& update = writer_.update_of(owner);
      const auto& matrices = update.matrices;
      if (!by_muon(options, update) || matrices.sharing != MuonSharing::layer_wise || matrices.zero_ranks == 1)
        continue;
      const auto of_each = static_cast<double>(matrices.zero_ranks) / static_cast<double>(matrices.count);
      const Load each{muon_work(options.muon, matrices, options.moment).flops.value() * of_each,
                      static_cast<double>(state_of(options, update).value()) * of_each};
      auto& loads = by_owners[matrices.zero_ranks];
      loads.insert(loads.end(), static_cast<std::size_t>(matrices.count), each);
    }
  }
  auto& held = writer_.graph.held[stage];
  for (auto& [owners, matrices] : by_owners) {
    const auto dealt = dealt_out(std::move(matrices), owners);
    held.optimizer += Bytes(std::llround(dealt.most.state - dealt.sum.state / static_cast<double>(owners)));
  }
}

OpIds StepGradients::orthogonalize(const StepPlace& place, const std::vector<Owner>& owners, const OpIds& after) {
  const auto& options = writer_.options.optimizer;
  std::vector<const WeightUpdate*> weights;
  for (const auto& owner : owners) weights.push_back(&writer_.update_of(owner));
  OpIds last = after;
  for (const auto& together : muon_groups(options, weights)) {
    const auto& work = together.work;
    const auto& axes = work.axes;
    const auto dealt = work.owners;
    const auto op = [&](StepWork made, const OpIds& before) {
      return writer_.add(place, StepPass::update, std::move(made), before);
    };
    OpIds before = after;
    if (work.gathered > Bytes(0))
      before = {op(collective(CollectiveKind::all_gather, axes, work.gathered, "momentum"), after)};
    if (work.exchanged > Bytes(0))
      before = {op(collective(CollectiveKind::all_to_all, axes, work.exchanged, "momentum"), after)};
    const double uneven = unevenness(place.stage, dealt);
    const int parts = work.summed > Bytes(0) ? options.muon.steps : 1;
    for (int part = 0; part < parts; ++part) {
      const auto computed = op(steps(together, uneven / parts), before);
      if (part == 0 && writer_.remembers()) {
        Bytes whole = work.gathered;
        if (work.exchanged > Bytes(0))  // an owner has its share or, of few matrices, the largest one
          whole += std::max(work.exchanged / dealt, options.moment * (together.shape.m * together.shape.n));
        if (whole > Bytes(0) && !before.empty())
          writer_.read(writer_.hold(MemoryKind::workspace, whole, before.front(), place.stage), computed);
      }
      before = {computed};
      if (parts > 1) before = {op(collective(CollectiveKind::all_reduce, axes, work.summed, "products"), before)};
    }
    if (work.exchanged > Bytes(0))
      before = {op(collective(CollectiveKind::all_to_all, axes, work.exchanged, "updates"), before)};
    merge(last, before);
  }
  std::sort(last.begin(), last.end());
  return last;
}

}  // namespace lockstep::workloads
