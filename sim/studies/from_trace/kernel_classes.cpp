#include "sim/studies/from_trace/kernel_classes.hpp"

#include <algorithm>
#include <array>
#include <cctype>

namespace lockstep::from_trace {
namespace {

std::string lower(std::string_view text) {
  std::string made(text);
  std::transform(made.begin(), made.end(), made.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return made;
}

template <std::size_t Count>
bool has_one_of(const std::string& text, const std::array<std::string_view, Count>& words) {
  return std::any_of(words.begin(), words.end(),
                     [&](std::string_view word) { return text.find(word) != std::string::npos; });
}

constexpr std::array<std::string_view, 6> attention_words{"flash", "fmha", "attention", "attn", "sdpa", "dot_do_o"};
constexpr std::array<std::string_view, 4> backward_words{"bwd", "backward", "dot_do_o", "dq_dk_dv"};
constexpr std::array<std::string_view, 11> product_words{"gemm",   "cutlass", "xmma",   "nvjet",     "cublas", "wgmma",
                                                         "matmul", "cijk_",   "splitk", "mm_kernel", "gemv"};

}  // namespace

std::string_view name(KernelClass kind) {
  switch (kind) {
    case KernelClass::products: return "products";
    case KernelClass::attention_forward: return "attention, forward";
    case KernelClass::attention_backward: return "attention, backward";
    case KernelClass::others: return "other kernels";
  }
  return "";
}

std::optional<OperatorKind> kind_of(const workloads::RecordedOperator& made) {
  const auto text = lower(made.name);
  if (text.find("mm") != std::string::npos || text == "aten::linear") return OperatorKind::product;
  if (text.find("backward") != std::string::npos) return OperatorKind::attention_backward;
  if (text.find("flash") != std::string::npos || text.find("attention") != std::string::npos ||
      text.find("attn") != std::string::npos)
    return OperatorKind::attention_forward;
  return std::nullopt;
}

KernelClass class_of(const workloads::RecordedJob& job, const workloads::RecordedEvent& kernel) {
  const auto text = lower(job.names[kernel.name]);
  if (kernel.called_by >= 0) {
    const auto kind = kind_of(job.operators[kernel.called_by]);
    if (kind == OperatorKind::attention_forward) return KernelClass::attention_forward;
    if (kind == OperatorKind::attention_backward) return KernelClass::attention_backward;
    if (kind == OperatorKind::product) return KernelClass::products;
  }
  if (has_one_of(text, attention_words))
    return has_one_of(text, backward_words) ? KernelClass::attention_backward : KernelClass::attention_forward;
  return has_one_of(text, product_words) ? KernelClass::products : KernelClass::others;
}

KernelClass class_of(const workloads::StepWork& work) {
  switch (work.work) {
    case workloads::ComputeWork::product:
    case workloads::ComputeWork::head_product: return KernelClass::products;
    case workloads::ComputeWork::attention:
      return work.shape.backward ? KernelClass::attention_backward : KernelClass::attention_forward;
    case workloads::ComputeWork::memory: break;
  }
  return KernelClass::others;
}

}  // namespace lockstep::from_trace
