#include "sim/studies/from_trace/fit_classes.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "sim/cost/layer_time.hpp"

namespace lockstep::from_trace {
namespace {

constexpr double least_share = 0.01;
constexpr double farthest = 0.25;  // from the recorded time that a class may stay and count as measured

/// The kernels of attention that a scenario runs: those that it names, or else the usual ones.
topologies::AttentionKernels& attention_of(topologies::ChipKernels& kernels, const std::string& named) {
  const auto& others = kernels.other_attention;
  const auto found = std::find_if(others.begin(), others.end(), [&](const auto& each) { return each.name == named; });
  return found == others.end() ? kernels.attention
                               : kernels.other_attention[static_cast<std::size_t>(found - others.begin())];
}

}  // namespace

StepClasses::StepClasses(const preparation::PreparedStep& step, workloads::StageId stage) {
  std::map<const workloads::StepWork*, std::size_t> known;
  for (workloads::OpId id = 0; id < step.step.size(); ++id) {
    const auto& op = step.step.op(id);
    if (op->kind != workloads::StepWork::Kind::compute || op->given_time) continue;
    if (op.stage != workloads::StepOp::every_stage && op.stage != stage) continue;
    const auto [work, is_new] = known.try_emplace(op.what, works_.size());
    if (is_new) works_.push_back({op.what, 0});
    ++works_[work->second].times;
  }
}

ByClass<Seconds> StepClasses::times(const scenario::Scenario& scenario) const {
  auto rates = preparation::rates_of(scenario);
  if (rates.kernels) rates.kernels->chip.gap = Seconds(0);
  ByClass<Seconds> sums{};
  for (const auto& [work, times] : works_)
    sums[position_of(class_of(*work))] += cost::operation_time(rates, *work) * static_cast<double>(times);
  return sums;
}

ByClass<Flops> StepClasses::flops() const {
  ByClass<Flops> sums{};
  for (const auto& [work, times] : works_)
    sums[position_of(class_of(*work))] += work->flops * static_cast<double>(times);
  return sums;
}

ByClass<Bytes> StepClasses::traffic() const {
  ByClass<Bytes> sums{};
  for (const auto& [work, times] : works_) sums[position_of(class_of(*work))] += work->traffic * times;
  return sums;
}

ByClass<bool> StepClasses::fit(scenario::Scenario& scenario, const ByClass<Seconds>& recorded) const {
  const auto catalog = scenario.cluster.chip().kernels.value();
  const auto of_catalog = times(scenario);
  ByClass<bool> measured{};
  for (std::size_t at = 0; at < measured.size(); ++at)
    measured[at] = recorded[at] > Seconds(0) && of_catalog[at] > Seconds(0);
  for (bool settled = false; !settled;) {
    settled = true;
    scenario.cluster.chip().kernels = catalog;
    ByClass<Seconds> wanted = of_catalog;
    for (std::size_t at = 0; at < measured.size(); ++at) {
      if (measured[at]) wanted[at] = recorded[at];
    }
    approach(scenario, wanted, measured);
    const auto reached = times(scenario);
    for (std::size_t at = 0; at < measured.size(); ++at) {
      if (!measured[at] || std::abs(reached[at] / recorded[at] - 1) <= farthest) continue;
      measured[at] = false;
      settled = false;
    }
  }
  return measured;
}

void StepClasses::approach(scenario::Scenario& scenario, const ByClass<Seconds>& wanted,
                           const ByClass<bool>& measured) const {
  constexpr int rounds = 80;
  auto& kernels = scenario.cluster.chip().kernels.value();
  auto& attention = attention_of(kernels, scenario.training.attention_kernel);
  const auto scale = [](double& share, double factor) { share = std::clamp(share * factor, least_share, 1.0); };
  // What a kernel of a whole step reaches is one number, not one of a benchmark and one for the clock under load.
  for (auto& [precision, share] : kernels.matrix) scale(share, kernels.sustained);
  kernels.sustained = 1;
  for (int round = 0; round < rounds; ++round) {
    const auto now = times(scenario);
    const auto factor = [&](KernelClass kind) {
      const auto at = position_of(kind);
      return now[at] > Seconds(0) ? std::clamp(now[at] / wanted[at], 0.5, 2.0) : 1.0;
    };
    if (measured[position_of(KernelClass::others)]) scale(kernels.memory, factor(KernelClass::others));
    // Attention's shares are those of the products' rate in 16 bits, so they make up for what that changes; beside
    // them attention pays for its softmax and its diagonal.
    double matrix = 1;
    for (auto& [precision, share] : kernels.matrix) {
      const bool in_16_bits = precision == cost::in_16_bits(scenario.training.precision);
      if (!measured[position_of(KernelClass::products)]) break;
      if (precision != cost::measured_as(scenario.training.precision, kernels) && !in_16_bits) continue;
      const double before = share;
      scale(share, factor(KernelClass::products));
      if (in_16_bits) matrix = share / before;
    }
    const double forward = factor(KernelClass::attention_forward), backward = factor(KernelClass::attention_backward);
    scale(attention.forward, forward / matrix);
    scale(attention.backward, backward / matrix);
    if ((attention.forward >= 1 && forward > 1) || (attention.backward >= 1 && backward > 1)) {
      attention.softmax *= 0.9;
      attention.block *= 0.9;
    }
  }
}

}  // namespace lockstep::from_trace
