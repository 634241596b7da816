#pragma once
/// Questions about a step graph: what waits for what, and what is in memory when the operations run one by one.
#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "workloads/step/step_graph.hpp"

namespace lockstep::test {

using Choice = std::function<bool(const workloads::StepOp&)>;

inline std::vector<workloads::OpId> all_of(const workloads::StepGraph& graph, const Choice& choice) {
  std::vector<workloads::OpId> result;
  for (workloads::OpId id = 0; id < graph.size(); ++id) {
    if (choice(graph.op(id))) result.push_back(id);
  }
  return result;
}

/// For every operation whether `id` waits for it, directly or not.
inline std::vector<bool> waited_for(const workloads::StepGraph& graph, workloads::OpId id) {
  std::vector<bool> result(static_cast<std::size_t>(graph.size()), false);
  std::vector<workloads::OpId> open{id};
  while (!open.empty()) {
    const auto now = open.back();
    open.pop_back();
    for (const auto before : graph.predecessors(now)) {
      if (result[static_cast<std::size_t>(before)]) continue;
      result[static_cast<std::size_t>(before)] = true;
      open.push_back(before);
    }
  }
  return result;
}

inline bool waits_for(const workloads::StepGraph& graph, workloads::OpId later, workloads::OpId earlier) {
  return waited_for(graph, later)[static_cast<std::size_t>(earlier)];
}

inline bool is_collective(const workloads::StepOp& op, workloads::CollectiveKind kind, workloads::CollectiveRole role) {
  return op->kind == workloads::StepOp::Kind::collective && op->collective == kind && op->role == role;
}

/// Bytes of one kind while operation `id` runs, if the operations run one by one in program order.
inline std::int64_t held(const workloads::StepGraph& graph, workloads::OpId id, workloads::MemoryKind kind) {
  std::int64_t sum = 0;
  for (const auto& buffer : graph.buffers) {
    const auto last =
        buffer.readers.empty() ? buffer.producer : *std::max_element(buffer.readers.begin(), buffer.readers.end());
    if (buffer.kind == kind && buffer.producer <= id && id <= last) sum += buffer.size.value();
  }
  return sum;
}

inline workloads::OpId named(const workloads::StepGraph& graph, const std::string& name, int block,
                             workloads::StepPass pass, int microbatch = 0) {
  for (workloads::OpId id = 0; id < graph.size(); ++id) {
    const auto& op = graph.op(id);
    if (op->name == name && op.block == block && op.pass == pass && op.microbatch == microbatch) return id;
  }
  return -1;
}

}  // namespace lockstep::test
