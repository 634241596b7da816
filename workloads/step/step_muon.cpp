// Muon's part of the update: matrices are brought together as their sharing says, go through Newton-Schulz steps, and
// are handed back; the elementwise update follows.
#include <algorithm>
#include <functional>
#include <queue>
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

/// The most that one of `owners` has to do over the mean, if matrices are dealt out largest first.
double dealt_out(std::vector<double> matrices, std::int64_t owners) {
  std::sort(matrices.begin(), matrices.end(), std::greater<>());
  std::priority_queue<double, std::vector<double>, std::greater<>> loads(
      std::greater<>(), std::vector<double>(static_cast<std::size_t>(owners), 0.0));
  double sum = 0, most = 0;
  for (const double matrix : matrices) {
    const double load = loads.top() + matrix;
    loads.pop();
    loads.push(load);
    sum += matrix;
    most = std::max(most, load);
  }
  return sum > 0 ? most * static_cast<double>(owners) / sum : 1;
}

}  // namespace

/// The ranks of a stage share out whole matrices of all its blocks; the step waits for the one with the most work.
double StepGradients::unevenness(std::int32_t stage, std::int64_t owners) {
  if (owners == 1) return 1;
  const auto [known, is_new] = unevenness_.try_emplace({stage, owners}, 1.0);
  if (!is_new) return known->second;
  const auto& options = writer_.options.optimizer;
  std::vector<double> matrices;
  for (const auto& [block, weights] : updated_by_.at(stage)) {
    for (const auto& owner : weights) {
      const auto& update = writer_.update_of(owner);
      if (!by_muon(options, update)) continue;
      const auto work = muon_work(options.muon, update.matrices, options.moment);
      if (work.owners != owners) continue;
      const double each = work.flops.value() * static_cast<double>(owners) / static_cast<double>(update.matrices.count);
      matrices.insert(matrices.end(), static_cast<std::size_t>(update.matrices.count), each);
    }
  }
  known->second = dealt_out(std::move(matrices), owners);
  return known->second;
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
        const Bytes whole = work.gathered + work.exchanged / dealt;
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
