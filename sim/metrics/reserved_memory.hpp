#pragma once
/// What PyTorch's caching allocator reserves for a step, which is what torch.cuda.max_memory_reserved() and the logs of
/// many programs print: the arrays of a step and the holes between them. Rules: docs/models/memory.md.
#include <cstdint>
#include <map>
#include <set>
#include <utility>

#include "sim/metrics/memory.hpp"

namespace lockstep::metrics {

/// One stream's pool, with `expandable_segments:True` (c10/cuda/CUDACachingAllocator.cpp): one range of addresses that
/// grows in pages at its end. A request takes the smallest free block that holds it, and leaves the rest of it free; if
/// there is none, the range grows, beginning with the free block at its end. Neighbouring free blocks are joined.
class CachingAllocator {
 public:
  explicit CachingAllocator(std::int64_t page) : page_(page) {}
  [[nodiscard]] std::int64_t allocate(std::int64_t bytes);  ///< the block's address
  void release(std::int64_t address);
  [[nodiscard]] std::int64_t reserved() const { return end_; }

 private:
  void make_free(std::int64_t address, std::int64_t size);
  void take(std::int64_t address, std::int64_t size);
  std::map<std::int64_t, std::int64_t> used_, free_;         ///< address, size
  std::set<std::pair<std::int64_t, std::int64_t>> by_size_;  ///< of free blocks: size, address
  std::int64_t page_, end_ = 0;
};

/// Of a rank, in the second of two equal steps, with pools of their own for gathered weights and for copies that
/// collectives send from, since these live on other streams. Never less than the peak of its arrays, and beyond that
/// never more than the capacity: an allocator that finds no memory releases what it keeps, and tries again.
/// `memory` is of `step`, and serves any number of ranks.
[[nodiscard]] Bytes reserved_memory(const workloads::StepGraph& step, StepMemory& memory, const MemoryUse& use);
[[nodiscard]] Bytes reserved_memory(const workloads::StepGraph& step, const program::Program& program,
                                    const timeline::Timeline& timeline, const MemoryUse& use);

}  // namespace lockstep::metrics
