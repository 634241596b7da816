#include "sim/engine/runtime/shared_chips.hpp"

#include <algorithm>

namespace lockstep::engine {

SharedChips::SharedChips(const program::Program& program)
    : streams_(static_cast<std::int32_t>(program.streams.size())) {
  if (std::none_of(program.ops.begin(), program.ops.end(), [](const program::ProgramOp& op) { return op.shares_chip; }))
    return;
  const auto ranks = program.stage_of_rank.size();
  chains_.resize(ranks * program.streams.size());
  for (std::int32_t rank = 0; rank < program.ranks(); ++rank)
    slowdowns_.push_back(program.shared_slowdown[program.chip_of(rank)]);
  collectives_.assign(ranks, 0);
  is_touched_.assign(ranks, false);
}

void SharedChips::Chain::take_next() {
  const double end_s = since_s + left_s * pace;
  inner_ends.emplace_back(end_s);
  ++running;
  left_s = kernels[running].alone_s;
  since_s = std::max(end_s, kernels[running].from_s);
}

void SharedChips::Chain::take_in_time_until(double now_s) {
  while (!is_in_last() && since_s + left_s * pace <= now_s) take_next();
  left_s -= std::max(now_s - since_s, 0.0) / pace;
}

double SharedChips::Chain::left_from_s(double now_s) const {
  double all_s = since_s - now_s + left_s * pace;
  for (std::size_t i = running + 1; i < kernels.size(); ++i)
    all_s = std::max(all_s, kernels[i].from_s - now_s) + kernels[i].alone_s * pace;
  return all_s;
}

void SharedChips::kernel_starts(std::int32_t rank, std::int32_t stream, Work work, Seconds alone, Seconds from) {
  auto& starting = chain(rank, stream);
  starting.work = work;
  starting.kernels.assign(1, {alone.value(), from.value()});
  starting.running = 0;
  starting.left_s = alone.value();
  starting.since_s = from.value();
  starting.pace = 0;
  starting.inner_ends.clear();
  touch(rank);
}

void SharedChips::kernel_follows(std::int32_t rank, std::int32_t stream, Seconds alone, Seconds from) {
  chain(rank, stream).kernels.push_back({alone.value(), from.value()});
}

bool SharedChips::ends(std::int32_t rank, std::int32_t stream, Work work, Seconds now) {
  auto& ending = chain(rank, stream);
  if (ending.work != work || ending.ends_s > now.value() + one_instant_s) return false;
  while (!ending.is_in_last()) ending.take_next();
  ending.work.turn = none;
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
      auto& running = chain(rank, stream);
      if (running.work.turn == none || (running.pace <= pace && pace <= running.pace)) continue;
      if (running.pace > 0) running.take_in_time_until(now_s);
      running.since_s = std::max(running.since_s, now_s);
      running.pace = pace;
      running.ends_s = now_s + std::max(running.left_from_s(now_s), one_instant_s);
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
