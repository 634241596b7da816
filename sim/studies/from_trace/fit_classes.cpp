#include "sim/studies/from_trace/fit_classes.hpp"

#include <algorithm>
#include <map>

#include "sim/cost/layer_time.hpp"

namespace lockstep::from_trace {
namespace {

constexpr double least_share = 0.01;

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
  const auto rates = preparation::rates_of(scenario);
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

void StepClasses::fit(scenario::Scenario& scenario, const ByClass<Seconds>& recorded) const {
  constexpr int rounds = 80;
  auto& kernels = scenario.cluster.chip().kernels.value();
  const auto scale = [](double& share, double factor) { share = std::clamp(share * factor, least_share, 1.0); };
  // What a kernel of a whole step reaches is one number, not one of a benchmark and one for the clock under load.
  for (auto& [precision, share] : kernels.matrix) scale(share, kernels.sustained);
  kernels.sustained = 1;
  for (int round = 0; round < rounds; ++round) {
    const auto now = times(scenario);
    const auto factor = [&](KernelClass kind) {
      const auto at = position_of(kind);
      if (!(recorded[at] > Seconds(0)) || !(now[at] > Seconds(0))) return 1.0;
      return std::clamp(now[at] / recorded[at], 0.5, 2.0);
    };
    const double products = factor(KernelClass::products);
    for (auto& [precision, share] : kernels.matrix) {
      if (precision == scenario.training.precision || precision == topologies::Precision::bf16) scale(share, products);
    }
    scale(kernels.memory, factor(KernelClass::others));
    // Attention's shares are those of the products' rate; beside them it pays for its softmax and its diagonal.
    const double forward = factor(KernelClass::attention_forward), backward = factor(KernelClass::attention_backward);
    scale(kernels.attention_forward, forward / products);
    scale(kernels.attention_backward, backward / products);
    const bool at_limit =
        (kernels.attention_forward >= 1 && forward > 1) || (kernels.attention_backward >= 1 && backward > 1);
    if (at_limit) {
      kernels.softmax *= 0.9;
      kernels.attention_block *= 0.9;
    }
  }
}

}  // namespace lockstep::from_trace
