#include "sim/studies/from_trace/recognised_experts.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>

namespace lockstep::from_trace {
namespace {

constexpr std::int64_t most_experts = 4096;

bool chooses(const workloads::RecordedOperator& made) { return made.name == "aten::topk"; }

class Recognising {
 public:
  Recognising(const workloads::RecordedJob& job, const Degrees& degrees, const std::vector<TimedKernel>& kernels,
              const ModelSoFar& model)
      : job_(job), degrees_(degrees), model_(model) {
    for (const auto& kernel : kernels) {
      if (kernel.measured.kernel.work == workloads::ComputeWork::product) take(kernel);
    }
  }

  std::optional<RecognisedExperts> run() {
    if (!computes_experts(job_)) return std::nullopt;
    read_choice();
    find_router();
    if (!find_width() || made_.experts == 0) return std::nullopt;
    count_choices();
    place();
    return std::move(made_);
  }

 private:
  using KN = std::pair<std::int64_t, std::int64_t>;

  void say(std::string sentence) { made_.reasons.push_back(std::move(sentence)); }

  /// Rows that were multiplied by k x n: those of all tokens apart, in products of one expert or several.
  void take(const TimedKernel& kernel) {
    const auto& shape = kernel.measured.kernel.shape;
    const bool is_dense = !kernel.experts && shape.batch == 1 && shape.m == model_.rows;
    auto& sums = is_dense ? dense_ : routed_;
    const auto rows = kernel.experts ? kernel.routed_rows : shape.batch * shape.m;
    sums[{shape.k, shape.n}] += static_cast<double>(rows) * static_cast<double>(kernel.calls) / model_.steps;
    const auto in_product = kernel.experts ? *kernel.experts : shape.batch > 1 ? shape.batch : 0;
    if (shape.n == model_.d_model && in_product > 0) local_[shape.k] = std::max(local_[shape.k], in_product);
  }

  /// Scores of [..., experts] of which the largest are chosen; how many stands in the second argument.
  void read_choice() {
    for (const auto& made : job_.operators) {
      if (!chooses(made)) continue;
      const auto dims = dimensions_of(made.dims);
      if (dims.empty() || dims[0].empty() || dims[0].back() > most_experts) continue;
      std::int64_t rows = 1;
      for (std::size_t i = 0; i + 1 < dims[0].size(); ++i) rows = std::min(rows * dims[0][i], most_rows);
      if (rows != model_.rows || dims[0].back() < made_.experts) continue;
      made_.experts = dims[0].back();
      const auto comma = made.values.find(',');
      const auto digit =
          made.values.find_first_of("0123456789", comma == std::string::npos ? made.values.size() : comma);
      std::int64_t chosen = 0;
      if (digit == std::string::npos) continue;
      std::from_chars(made.values.data() + digit, made.values.data() + made.values.size(), chosen);
      if (chosen >= 1 && chosen <= made_.experts) made_.per_token = chosen;
    }
  }

  /// Without that, the narrowest product of all tokens that leads back as well.
  void find_router() {
    const auto back = [&](std::int64_t n) { return dense_.contains({n, model_.d_model}); };
    for (const auto& [shape, rows] : dense_) {
      const auto [k, n] = shape;
      const bool fits = k == model_.d_model && n <= most_experts && n % degrees_.expert == 0 && back(n);
      if (made_.experts == 0 && fits) {
        made_.experts = n;
        say("The narrowest product of all tokens leads to " + std::to_string(n) + ": taken to be the router.");
      }
    }
    if (made_.experts == 0 || !back(made_.experts) || model_.passes <= 0) return;
    const double share =
        dense_[{made_.experts, model_.d_model}] / static_cast<double>(model_.rows) / model_.passes;  // backward, once
    made_.layers = std::min(share, 1.0);
  }

  /// The narrowest width to which and from which routed rows are multiplied. A gate and its values in one product lead
  /// to twice that.
  bool find_width() {
    for (const auto& [shape, rows] : routed_) {
      const auto [k, n] = shape;
      if (k != model_.d_model || n == model_.d_model || !routed_.contains({n, k})) continue;
      made_.d_ff = n;
      return true;  // ascending
    }
    return false;
  }

  /// Per token and layer a chosen expert multiplies by f x d forward, once more where that is recomputed, and for the
  /// gradient of the input of each product that leads to f.
  void count_choices() {
    const double passes = model_.passes * made_.layers * static_cast<double>(model_.rows);
    const double routed = routed_[{made_.d_ff, model_.d_model}] / std::max(passes, 1.0);
    const double forward = model_.recomputes ? 2 : 1;
    const bool joined = routed_.contains({model_.d_model, 2 * made_.d_ff});
    if (made_.per_token > 0) {
      made_.gated = joined || routed / static_cast<double>(made_.per_token) > forward + 1.5;
      return;
    }
    const double each = joined ? forward : forward + 2;
    made_.per_token = std::clamp<std::int64_t>(std::llround(routed / each), 1, made_.experts);
    say("How many experts a token has is not told; " + std::to_string(made_.per_token) +
        " by the mean number of rows of the experts' products, which are taken to have a gate.");
  }

  /// Experts of one product, times the ranks that have others.
  void place() {
    const auto local = local_.find(made_.d_ff);
    const auto tensor = degrees_.tensor;
    made_.over_tensor =
        tensor > 1 && local != local_.end() && local->second * degrees_.expert * tensor == made_.experts;
    if (tensor == 1 || made_.over_tensor) return;
    made_.d_ff *= tensor;
    if (local != local_.end()) return;
    made_.reasons.emplace_back("Each expert is taken to be split over the tensor-parallel ranks.");
  }

  static constexpr std::int64_t most_rows = std::int64_t{1} << 40;

  const workloads::RecordedJob& job_;
  const Degrees& degrees_;
  const ModelSoFar& model_;
  std::map<KN, double> dense_, routed_;         // rows of a step multiplied by k x n
  std::map<std::int64_t, std::int64_t> local_;  // by the width that leads back: experts in one product
  RecognisedExperts made_;
};

}  // namespace

bool computes_experts(const workloads::RecordedJob& job) {
  return std::any_of(job.operators.begin(), job.operators.end(),
                     [](const auto& made) { return chooses(made) || is_grouped(made); });
}

std::optional<RecognisedExperts> recognised_experts(const workloads::RecordedJob& job, const Degrees& degrees,
                                                    const std::vector<TimedKernel>& kernels, const ModelSoFar& model) {
  return Recognising(job, degrees, kernels, model).run();
}

}  // namespace lockstep::from_trace
