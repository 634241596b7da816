#pragma once
/// Kernels by what bounds them, in a trace and in a simulated step.
#include <string>
#include <string_view>

#include "workloads/sharded_layers/sharded_layer.hpp"
#include "workloads/traces/recorded_job.hpp"

namespace lockstep::from_trace {

enum class KernelClass { products, attention_forward, attention_backward, others };
inline constexpr int kernel_classes = 4;
[[nodiscard]] std::string_view name(KernelClass kind);

/// By the operator that launched the kernel where the trace tells it, otherwise by the words of the kernel's name.
[[nodiscard]] KernelClass class_of(const workloads::RecordedJob& job, const workloads::RecordedEvent& kernel);
[[nodiscard]] KernelClass class_of(const workloads::StepWork& work);

/// What an operator with shapes is; nothing for one that only calls others.
enum class OperatorKind { product, attention_forward, attention_backward };
[[nodiscard]] std::optional<OperatorKind> kind_of(const workloads::RecordedOperator& made);

}  // namespace lockstep::from_trace
