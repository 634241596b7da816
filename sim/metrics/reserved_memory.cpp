#include "sim/metrics/reserved_memory.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <tuple>
#include <unordered_map>

namespace lockstep::metrics {
namespace {

constexpr std::int64_t least_block = 512;
constexpr std::int64_t mib = 1 << 20;
constexpr std::int64_t largest_small = mib;  // a request that comes from a pool of pages of 2 MiB, others have 20 MiB

std::int64_t rounded_up(std::int64_t bytes, std::int64_t unit) { return (bytes + unit - 1) / unit * unit; }

/// A step's arrays come from the streams that compute, gather weights and reduce gradients.
enum class Stream : std::size_t { compute, gathers, reductions };
constexpr std::size_t streams = 3;

/// A stream's pools.
struct Pools {
  CachingAllocator small{2 * mib}, large{20 * mib};
  [[nodiscard]] CachingAllocator& of(Bytes size) { return size.value() <= largest_small ? small : large; }
};

Stream stream_of(workloads::MemoryKind kind) {
  if (kind == workloads::MemoryKind::gathered) return Stream::gathers;
  return kind == workloads::MemoryKind::buffers ? Stream::reductions : Stream::compute;
}

}  // namespace

void CachingAllocator::make_free(std::int64_t address, std::int64_t size) {
  free_.emplace(address, size);
  by_size_.emplace(size, address);
}

void CachingAllocator::take(std::int64_t address, std::int64_t size) {
  free_.erase(address);
  by_size_.erase({size, address});
}

std::int64_t CachingAllocator::allocate(std::int64_t bytes) {
  const auto size = std::max(least_block, rounded_up(bytes, least_block));
  std::int64_t address = end_, whole = 0;
  if (const auto best = by_size_.lower_bound({size, 0}); best != by_size_.end()) {
    std::tie(whole, address) = *best;
    take(address, whole);
  } else {
    if (!free_.empty()) {
      const auto [last, kept] = *free_.rbegin();
      if (last + kept == end_) {
        address = last;
        take(last, kept);
      }
    }
    end_ += rounded_up(size - (end_ - address), page_);
    whole = end_ - address;
  }
  if (whole > size) make_free(address + size, whole - size);
  used_.emplace(address, size);
  return address;
}

void CachingAllocator::release(std::int64_t address) {
  const auto block = used_.find(address);
  auto size = block->second;
  used_.erase(block);
  const auto behind = free_.find(address + size);
  if (behind != free_.end()) {
    const auto [at, more] = *behind;
    take(at, more);
    size += more;
  }
  const auto before = free_.lower_bound(address);
  if (before != free_.begin()) {
    const auto [at, more] = *std::prev(before);
    if (at + more == address) {
      take(at, more);
      address = at;
      size += more;
    }
  }
  make_free(address, size);
}

Bytes reserved_memory(const workloads::StepGraph& step, StepMemory& memory, const MemoryUse& use) {
  const auto changes = memory.changes(use.rank);
  std::array<Pools, streams> pools;
  constexpr int steps = 2;  // what the first one leaves free is there for the second
  for (int i = 0; i < steps; ++i) {
    std::unordered_map<const workloads::Buffer*, std::int64_t> blocks;
    const auto pool = [&](const workloads::Buffer* buffer) -> CachingAllocator& {
      return pools[static_cast<std::size_t>(stream_of(buffer->kind))].of(buffer->size);
    };
    for (const auto& change : changes) {
      if (change.buffer->kind == workloads::MemoryKind::host) continue;
      if (!change.frees) {
        blocks.emplace(change.buffer, pool(change.buffer).allocate(change.buffer->size.value()));
      } else if (const auto block = blocks.find(change.buffer); block != blocks.end()) {
        pool(change.buffer).release(block->second);
        blocks.erase(block);
      }
    }
    // In the order of their beginnings: results do not depend on addresses of buffers.
    for (const auto& change : changes) {
      const auto block = blocks.find(change.buffer);
      if (block == blocks.end()) continue;
      pool(change.buffer).release(block->second);
      blocks.erase(block);
    }
  }
  const auto& held = step.held[use.stage];
  auto reserved = held.weights + held.optimizer + held.overhead + held.buffers;
  for (const auto& pool : pools) reserved += Bytes(pool.small.reserved() + pool.large.reserved());
  return std::max(use.peak, std::min(reserved, use.capacity));
}

Bytes reserved_memory(const workloads::StepGraph& step, const program::Program& program,
                      const timeline::Timeline& timeline, const MemoryUse& use) {
  StepMemory memory(step, program, timeline);
  return reserved_memory(step, memory, use);
}

}  // namespace lockstep::metrics
