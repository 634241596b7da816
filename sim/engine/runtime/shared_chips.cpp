#include "sim/engine/runtime/shared_chips.hpp"

#include <algorithm>

namespace lockstep::engine {

SharedChips::SharedChips(const program::Program& program)
    : streams_(static_cast<std::int32_t>(program.streams.size())) {
  if (std::none_of(program.ops.begin(), program.ops.end(), [](const program::ProgramOp& op) { return op.shares_chip; }))
    return;
  const auto ranks = program.stage_of_rank.size();
  kernels_.resize(ranks * program.streams.size());
  for (std::int32_t rank = 0; rank < program.ranks(); ++rank)
    slowdowns_.push_back(program.shared_slowdown[program.chip_of(rank)]);
  collectives_.assign(ranks, 0);
  is_touched_.assign(ranks, false);
}

void SharedChips::kernel_starts(std::int32_t rank, std::int32_t stream, Work work, Seconds alone, Seconds from) {
  kernel(rank, stream) = {work, alone.value(), from.value(), 0, 0};
  touch(rank);
}

bool SharedChips::ends(std::int32_t rank, std::int32_t stream, Work work, Seconds now) {
  auto& running = kernel(rank, stream);
  if (running.work != work || running.ends_s > now.value() + one_instant_s) return false;
  running.work.turn = none;
  return true;
}

void SharedChips::collective_starts(std::int32_t rank) {
  ++collectives_[position_of(rank)];
  touch(rank);
}

void SharedChips::collective_ends(std::int32_t rank) {
  --collectives_[position_of(rank)];
  touch(rank);
}

void SharedChips::redate(Network& network) {
  const double now_s = network.now().value();
  for (const auto rank : touched_) {
    is_touched_[position_of(rank)] = false;
    const double pace = collectives_[position_of(rank)] > 0 ? slowdowns_[position_of(rank)] : 1;
    for (std::int32_t stream = 0; stream < streams_; ++stream) {
      auto& running = kernel(rank, stream);
      if (running.work.turn == none || (running.pace <= pace && pace <= running.pace)) continue;
      if (running.pace > 0) running.left_s -= std::max(now_s - running.since_s, 0.0) / running.pace;
      running.since_s = std::max(running.since_s, now_s);
      running.pace = pace;
      running.ends_s = now_s + std::max(running.since_s - now_s + running.left_s * pace, one_instant_s);
      network.start_compute(running.work, Seconds(running.ends_s));
    }
  }
  touched_.clear();
}

void SharedChips::touch(std::int32_t rank) {
  if (is_touched_[position_of(rank)]) return;
  is_touched_[position_of(rank)] = true;
  touched_.push_back(rank);
}

}  // namespace lockstep::engine
