#include "sim/studies/from_trace/recognised_model.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "sim/studies/from_trace/kernel_classes.hpp"
#include "sim/studies/from_trace/repeated_kernels.hpp"

namespace lockstep::from_trace {
namespace {

using workloads::ComputeWork;
using workloads::RecordedEvent;

constexpr double all_layers = 0.99;  // share of them; less has layers without experts

class Recognising {
 public:
  Recognising(const workloads::RecordedJob& job, const Degrees& degrees, const std::vector<TimedKernel>& kernels,
              std::optional<std::int64_t> layers)
      : job_(job),
        degrees_(degrees),
        kernels_(kernels),
        steps_(std::max<std::int64_t>(1, std::ssize(job.ranks.front().steps))) {
    made_.layers_of_stage = layers;
    for (const auto& kernel : kernels) {
      const auto work = kernel.measured.kernel.work;
      if (work == ComputeWork::attention) take_attention(kernel);
      if (work == ComputeWork::product) take_product(kernel);
    }
  }

  RecognisedModel run() {
    count_attention();
    if (forward_ != nullptr) {
      const auto& shape = forward_->measured.kernel.shape;
      made_.sequences_of_microbatch = forward_->sequences;
      made_.sequence_length = shape.m * degrees_.context;
      made_.head_size = shape.n;
      made_.heads = shape.batch / forward_->sequences * degrees_.tensor;
      made_.kv_heads = forward_->key_heads * degrees_.tensor;
      made_.precision = forward_->measured.precision;
      widths(forward_->sequences * shape.m);
    }
    count_layers();
    return std::move(made_);
  }

 private:
  void take_attention(const TimedKernel& kernel) {
    auto& most = kernel.measured.kernel.shape.backward ? backward_ : forward_;
    if (most == nullptr || kernel.calls > most->calls) most = &kernel;
  }

  void take_product(const TimedKernel& kernel) {
    const auto& shape = kernel.measured.kernel.shape;
    if (shape.batch == 1 && !kernel.experts) products_[{shape.m, shape.k, shape.n}] += kernel.calls;
  }

  /// How often a step of one rank multiplies so many rows of k by k x n.
  [[nodiscard]] double times(std::int64_t rows, std::int64_t k, std::int64_t n) const {
    const auto found = products_.find({rows, k, n});
    return found == products_.end() ? 0 : static_cast<double>(found->second) / static_cast<double>(steps_);
  }

  /// Passes of attention, by the names of kernels where there are no shapes.
  void count_attention() {
    const auto& rank = job_.ranks.front();
    std::map<KernelClass, std::set<std::int64_t>> calls;
    std::map<KernelClass, std::int64_t> kernels;
    std::int64_t before_backward = 0;
    for (const auto& event : rank.events) {
      if (event.kind != RecordedEvent::Kind::kernel) continue;
      const auto kind = class_of(job_, event);
      ++kernels[kind];
      if (event.call >= 0) calls[kind].insert(event.call);
      if (kind == KernelClass::attention_forward && kernels[KernelClass::attention_backward] == 0) ++before_backward;
    }
    const auto passes = [&](KernelClass kind) {
      const bool by_call = !calls[kind].empty();
      return static_cast<double>(by_call ? std::ssize(calls[kind]) : kernels[kind]) / static_cast<double>(steps_);
    };
    forwards_ = passes(KernelClass::attention_forward);
    backwards_ = passes(KernelClass::attention_backward);
    if (calls[KernelClass::attention_backward].empty() && backwards_ > forwards_ && forwards_ > 0)
      backwards_ = forwards_;  // several kernels make up one
    made_.recomputes = backwards_ > 0 && forwards_ > 1.5 * backwards_;
    if (made_.recomputes)
      made_.reasons.emplace_back("Attention runs forward twice as often as backward: recomputation.");
    passes_ = made_.recomputes ? backwards_ : forwards_;
    before_backward_ = before_backward;
  }

  /// The width of the model is that of the result of attention's output; the MLP's and the vocabulary's are those that
  /// products lead to from there and back.
  void widths(std::int64_t rows) {
    const std::int64_t q = *made_.heads / degrees_.tensor * *made_.head_size;
    const std::int64_t kv = *made_.kv_heads / degrees_.tensor * *made_.head_size;
    double most = 0;
    for (const auto& [key, calls] : products_) {
      const auto [m, k, n] = key;
      if (m != rows || k != q) continue;
      const double in = times(rows, n, q + 2 * kv) > 0 ? 1e9 : times(rows, n, q);
      if (in <= most) continue;
      most = in;
      made_.d_model = n;
    }
    if (!made_.d_model || passes_ <= 0) return;
    const auto d = *made_.d_model;
    made_.experts =
        recognised_experts(job_, degrees_, kernels_, {rows, d, passes_, made_.recomputes, static_cast<double>(steps_)});
    const auto router = made_.experts ? made_.experts->experts : 0;
    std::int64_t inner = 0, outer = 0;
    for (const auto& [key, calls] : products_) {
      const auto [m, k, n] = key;
      if (m != rows || k != d || n == q || n == kv || n == q + 2 * kv || n == d || n == router ||
          times(rows, n, d) == 0)
        continue;
      if (made_.experts && take_width(rows, d, n)) continue;
      if (!made_.experts && times(rows, d, n) / passes_ > 0.99)
        inner = inner == 0 ? n : std::min(inner, n);  // of a gate and its values in one product, the single one
      else
        outer = std::max(outer, n);
    }
    if (made_.experts) {
      tell_experts();
    } else if (inner > 0) {
      made_.d_ff = inner * degrees_.tensor;
      // Per layer and microbatch f x d is multiplied with forward, once more where that is recomputed, and for the
      // gradient of the input of each product that leads to f. A gate and its values in one product lead to 2 f.
      const double plain = made_.recomputes ? 3 : 2;
      made_.gated = times(rows, d, 2 * inner) > 0 || times(rows, inner, d) / passes_ > plain + 0.5;
    }
    made_.vocabulary = outer * degrees_.tensor;
    if (outer > 0) made_.microbatches = std::max<std::int64_t>(1, std::llround(times(rows, d, outer)));
    if (outer == 0) made_.reasons.emplace_back("No product leads to a vocabulary; the model is written without one.");
  }

  /// Whether n is the width of an MLP that all tokens pass through in the layers with experts, or in those without. Per
  /// layer and microbatch d x n is multiplied with forward, once for a gate and once for its values, again where that
  /// is recomputed, and for the gradient of the MLP's input. A gate and its values in one product lead to 2 n.
  bool take_width(std::int64_t rows, std::int64_t d, std::int64_t n) {
    const auto& experts = *made_.experts;
    if (n % 2 == 0 && times(rows, d, n / 2) > 0 && times(rows, n / 2, d) > 0) return true;
    const double forward = (experts.gated ? 2 : 1) * (made_.recomputes ? 2 : 1);
    const double layers = times(rows, d, n) / passes_ / (times(rows, d, 2 * n) > 0 ? 1 : forward + 1);
    const auto are = [&](double share) { return std::abs(layers - share) < 0.02; };
    if (are(experts.layers))
      made_.shared_d_ff = n * degrees_.tensor;
    else if (experts.layers < all_layers && are(1 - experts.layers))
      made_.d_ff = n * degrees_.tensor;
    else
      return false;
    return true;
  }

  void tell_experts() {
    const auto& experts = *made_.experts;
    made_.gated = experts.gated;
    for (const auto& reason : experts.reasons) made_.reasons.push_back(reason);
    made_.reasons.push_back(std::to_string(experts.experts) + " experts of width " + std::to_string(experts.d_ff) +
                            ", of which a token has " + std::to_string(experts.per_token) + ".");
    if (experts.layers < all_layers) {
      made_.reasons.push_back("The router runs in " + std::to_string(std::llround(experts.layers * 100)) +
                              " % of the layers; the others have no experts.");
    }
    if (!made_.shared_d_ff) return;
    made_.reasons.push_back("Beside them every token passes through a width of " + std::to_string(*made_.shared_d_ff) +
                            ": taken to be one shared expert.");
  }

  void count_layers() {
    const bool by_head = made_.microbatches && passes_ > 0;
    if (!made_.layers_of_stage && by_head)
      made_.layers_of_stage = std::llround(passes_ / static_cast<double>(*made_.microbatches));
    if (!made_.layers_of_stage) {
      std::vector<std::int32_t> names;
      const auto& rank = job_.ranks.front();
      for (const auto& event : rank.events) {
        if (event.kind == RecordedEvent::Kind::kernel) names.push_back(event.name);
      }
      const auto repeated = longest_repetition(names);
      if (repeated.times > 1) {
        made_.layers_of_stage = repeated.times;
        made_.reasons.push_back(std::to_string(repeated.times) + " times the same " + std::to_string(repeated.period) +
                                " kernels follow each other: as many layers.");
      }
    }
    if (!made_.microbatches && made_.layers_of_stage && passes_ > 0) {
      made_.microbatches =
          std::max<std::int64_t>(1, std::llround(passes_ / static_cast<double>(*made_.layers_of_stage)));
    }
    if (made_.layers_of_stage && *made_.layers_of_stage > 0)
      made_.forwards_first = before_backward_ / *made_.layers_of_stage;
  }

  const workloads::RecordedJob& job_;
  const Degrees& degrees_;
  const std::vector<TimedKernel>& kernels_;
  std::int64_t steps_;
  const TimedKernel *forward_ = nullptr, *backward_ = nullptr;
  std::map<std::tuple<std::int64_t, std::int64_t, std::int64_t>, std::int64_t> products_;  // m, k, n
  double forwards_ = 0, backwards_ = 0, passes_ = 0;                                       // of attention, in a step
  std::int64_t before_backward_ = 0;
  RecognisedModel made_;
};

}  // namespace

std::vector<std::string> RecognisedModel::unknown_of_model() const {
  std::vector<std::string> unknown;
  if (!layers_of_stage) unknown.emplace_back("layers");
  if (!d_model) unknown.emplace_back("d_model");
  if (!d_ff && (!experts || experts->layers < all_layers)) unknown.emplace_back("d_ff");
  if (!heads) unknown.emplace_back("heads");
  if (!vocabulary) unknown.emplace_back("vocabulary");
  return unknown;
}

RecognisedModel recognised_model(const workloads::RecordedJob& job, const Degrees& degrees,
                                 const std::vector<TimedKernel>& kernels, std::optional<std::int64_t> layers) {
  return Recognising(job, degrees, kernels, layers).run();
}

}  // namespace lockstep::from_trace
