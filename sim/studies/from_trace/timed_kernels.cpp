#include "sim/studies/from_trace/timed_kernels.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <map>

#include "sim/studies/from_trace/kernel_classes.hpp"

namespace lockstep::from_trace {
namespace {

constexpr std::int64_t largest_size = 10'000'000;
constexpr Seconds shortest(1e-9);

using Dimensions = std::vector<std::vector<std::int64_t>>;

std::optional<topologies::Precision> precision_of(std::string_view type) {
  const auto has = [&](std::string_view word) { return type.find(word) != std::string_view::npos; };
  if (has("BFloat16") || has("bfloat16")) return topologies::Precision::bf16;
  if (has("Float8")) return topologies::Precision::fp8;
  if (has("Half") || has("half")) return topologies::Precision::fp16;
  if (has("float") || has("Float")) return topologies::Precision::fp32;
  return std::nullopt;
}

double real(std::int64_t value) { return static_cast<double>(value); }
Bytes bytes(double value) { return Bytes(static_cast<std::int64_t>(std::min(value, 1e18))); }

/// [rows, k] by [experts, k, n]; or, for the gradients of weights, [m, rows] by [rows, n] for as many experts as the
/// third list says.
bool read_grouped(const Dimensions& all, TimedKernel& timed) {
  const auto& a = all[0];
  const auto& b = all[1];
  auto& shape = timed.measured.kernel.shape;
  const auto share = [](std::int64_t rows, std::int64_t experts) { return std::max<std::int64_t>(1, rows / experts); };
  if (a.size() == 2 && b.size() == 3 && a[1] == b[1]) {
    shape = {b[0], share(a[0], b[0]), b[2], b[1]};
    timed.routed_rows = a[0];
  } else if (a.size() == 2 && b.size() == 2 && a[1] == b[0] && all.size() > 2 && all[2].size() == 1) {
    shape = {all[2][0], a[0], b[1], share(a[1], all[2][0])};
    timed.routed_rows = a[1];
  } else {
    return false;
  }
  timed.experts = shape.batch;
  return true;
}

/// Factors a [batch] x m x k and b [batch] x k x n; the linear operator has [..., k] and n x k.
bool read_product(const workloads::RecordedOperator& made, const Dimensions& all, TimedKernel& timed) {
  const bool is_added = made.name.find("addmm") != std::string::npos || made.name.find("baddbmm") != std::string::npos;
  const std::size_t first = is_added ? 1 : 0;
  if (all.size() < first + 2) return false;
  auto a = all[first], b = all[first + 1];
  auto& shape = timed.measured.kernel.shape;
  if (made.name == "aten::linear") {
    if (a.size() < 2 || b.size() != 2 || a.back() != b.back()) return false;
    shape = {1, 1, b[0], b[1]};
    for (std::size_t i = 0; i + 1 < a.size(); ++i) shape.m *= std::min(a[i], largest_size);
    if (shape.m > largest_size) return false;
  } else if (is_grouped(made)) {
    if (!read_grouped(all, timed)) return false;
  } else if (a.size() == 2 && b.size() == 2 && a[1] == b[0]) {
    shape = {1, a[0], b[1], a[1]};
  } else if (a.size() == 3 && b.size() == 3 && a[0] == b[0] && a[2] == b[1]) {
    shape = {a[0], a[1], b[2], a[2]};
  } else {
    return false;
  }
  auto& kernel = timed.measured.kernel;
  kernel.work = workloads::ComputeWork::product;
  kernel.flops = Flops(2 * real(shape.batch) * real(shape.m) * real(shape.n) * real(shape.k));
  const auto element = real(element_size(timed.measured.precision).value());
  kernel.traffic =
      bytes(real(shape.batch) * (element * (real(shape.m) * real(shape.k) + real(shape.k) * real(shape.n)) +
                                 std::max(element, 2.0) * real(shape.m) * real(shape.n)));
  return true;
}

/// Queries and keys as sequences x tokens x heads x head size; the operators called scaled_dot_product have heads
/// before tokens. A backward names the gradient of its result first.
bool read_attention(const workloads::RecordedOperator& made, const Dimensions& all, bool backward, TimedKernel& timed) {
  const std::size_t first = backward ? 1 : 0;
  if (all.size() < first + 2) return false;
  auto q = all[first], k = all[first + 1];
  if (q.size() != 4 || k.size() != 4) return false;
  if (made.name.find("scaled_dot_product") != std::string::npos) {
    std::swap(q[1], q[2]);
    std::swap(k[1], k[2]);
  }
  if (q[0] != k[0] || q[3] != k[3] || q[2] % k[2] != 0) return false;
  timed.sequences = q[0];
  timed.key_heads = k[2];
  auto& kernel = timed.measured.kernel;
  kernel.work = workloads::ComputeWork::attention;
  kernel.shape = {q[0] * q[2], q[1], q[3], k[1]};
  kernel.shape.causal = q[1] == k[1];
  kernel.shape.backward = backward;
  const double passes = backward ? 2 : 1;
  const double heads = real(kernel.shape.batch), size = real(q[3]);
  kernel.flops = Flops(passes * (kernel.shape.causal ? 2 : 4) * heads * real(q[1]) * size * real(k[1]));
  const auto element = real(element_size(timed.measured.precision).value());
  kernel.traffic = bytes(passes * element * heads * size * 2 * (real(q[1]) + real(k[1])));
  return true;
}

std::optional<TimedKernel> read(const workloads::RecordedOperator& made) {
  const auto kind = kind_of(made);
  const auto precision = precision_of(made.type);
  if (!kind || !precision) return std::nullopt;
  TimedKernel timed;
  timed.measured.precision = *precision;
  const auto all = dimensions_of(made.dims);
  const bool is_read = kind == OperatorKind::product
                           ? read_product(made, all, timed)
                           : read_attention(made, all, kind == OperatorKind::attention_backward, timed);
  return is_read ? std::optional(timed) : std::nullopt;
}

Seconds median(std::vector<Seconds> values) {
  const auto middle = values.begin() + std::ssize(values) / 2;
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace

bool is_grouped(const workloads::RecordedOperator& made) {
  return made.name == "aten::_grouped_mm" || made.name == "gmm" || made.name == "grouped_gemm::gmm";
}

Dimensions dimensions_of(const std::string& text) {
  Dimensions lists;
  int depth = 0;
  const auto* end = text.data() + text.size();
  for (const char* at = text.data(); at < end;) {
    if (*at == '[') {
      if (++depth == 2) lists.emplace_back();
      ++at;
    } else if (*at == ']') {
      --depth;
      ++at;
    } else if (depth == 2 && std::isdigit(static_cast<unsigned char>(*at)) != 0) {
      std::int64_t number = 0;
      at = std::from_chars(at, end, number).ptr;
      lists.back().push_back(std::clamp<std::int64_t>(number, 0, largest_size + 1));
    } else {
      ++at;
    }
  }
  for (auto& list : lists) {
    if (std::any_of(list.begin(), list.end(), [](std::int64_t size) { return size < 1 || size > largest_size; }))
      list.clear();
  }
  return lists;
}

std::vector<TimedKernel> timed_kernels(const workloads::RecordedJob& job, std::size_t ranks) {
  Indexed<workloads::RecordedOperatorId, std::vector<Seconds>> times(job.operators.size());
  for (std::size_t i = 0; i < std::min(ranks, job.ranks.size()); ++i) {
    const auto& rank = job.ranks[i];
    std::map<std::int64_t, std::pair<workloads::RecordedOperatorId, Seconds>> calls;
    for (const auto& event : rank.events) {
      if (event.kind != workloads::RecordedEvent::Kind::kernel || event.called_by < 0) continue;
      auto& call = calls.try_emplace(event.call, event.called_by, Seconds(0)).first->second;
      call.second += event.duration;
    }
    for (const auto& [number, call] : calls) times[call.first].push_back(call.second);
  }
  // Operators of other names with the same shape are one kind of kernel.
  std::map<
      std::tuple<int, int, std::int64_t, std::int64_t, std::int64_t, std::int64_t, bool, std::int64_t, std::int64_t>,
      std::pair<TimedKernel, std::vector<Seconds>>>
      kinds;
  for (const auto id : job.operators.ids()) {
    if (times[id].empty()) continue;
    const auto timed = read(job.operators[id]);
    if (!timed) continue;
    const auto& kernel = timed->measured.kernel;
    const auto& shape = kernel.shape;
    auto& kind = kinds[{static_cast<int>(kernel.work), static_cast<int>(timed->measured.precision), shape.batch,
                        shape.m, shape.n, shape.k, shape.backward, timed->key_heads, timed->sequences}];
    kind.first = *timed;
    kind.second.insert(kind.second.end(), times[id].begin(), times[id].end());
  }
  std::vector<TimedKernel> list;
  for (auto& [key, kind] : kinds) {
    auto& timed = list.emplace_back(kind.first);
    timed.calls = std::ssize(kind.second);
    timed.measured.where = {job.ranks.front().file, 0, 0};
    timed.measured.time = std::max(shortest, median(std::move(kind.second)));
  }
  const auto all_time = [](const TimedKernel& one) { return one.measured.time * static_cast<double>(one.calls); };
  std::stable_sort(list.begin(), list.end(),
                   [&](const TimedKernel& a, const TimedKernel& b) { return all_time(a) > all_time(b); });
  return list;
}

}  // namespace lockstep::from_trace
