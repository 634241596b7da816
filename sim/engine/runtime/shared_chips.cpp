#include "sim/engine/runtime/shared_chips.hpp"

#include <algorithm>

namespace lockstep::engine {

SharedChips::SharedChips(const program::Program& program) {
  bool any = false;
  Indexed<program::StreamId, bool> runs_kernels(program.streams.size(), false);
  for (const program::ProgramOp& op : program.ops) {
    if (!op.shares_chip) continue;
    any = true;
    if (op.kind == program::ProgramOp::Kind::compute) runs_kernels[op.streams.front()] = true;
  }
  if (!any) return;
  for (const bool runs : runs_kernels) place_.push_back(runs ? lanes_++ : 0);
  const auto ranks = program.stage_of_rank.size();
  chains_.resize(ranks * lanes_);
  for (std::int32_t rank = 0; rank < program.ranks(); ++rank)
    slowdowns_.push_back(program.shared_slowdown[program.chip_of(rank)]);
  collectives_.assign(ranks, 0);
  if (!program.dispatch_slowdown.empty()) {
    for (std::int32_t rank = 0; rank < program.ranks(); ++rank)
      dispatch_slowdowns_.push_back(program.dispatch_slowdown[program.chip_of(rank)]);
    dispatches_.assign(ranks, 0);
  }
  is_touched_.assign(ranks, false);
}

double SharedChips::Chain::end_of_running_s() const {
  return dated_s + std::max(since_s - dated_s + left_s * pace, one_instant_s);
}

double SharedChips::Chain::end_of_last_s() const {
  double end_s = end_of_running_s();
  for (std::size_t i = running + 1; i < kernels.size(); ++i)
    end_s += std::max(std::max(kernels[i].from_s, end_s) - end_s + kernels[i].alone_s * pace, one_instant_s);
  return end_s;
}

void SharedChips::Chain::take_next(double end_s) {
  dated_s = end_s;
  inner_ends.emplace_back(dated_s);
  ++running;
  left_s = kernels[running].alone_s;
  since_s = std::max(kernels[running].from_s, dated_s);
}

void SharedChips::Chain::change_pace(double new_pace, double now_s) {
  if (pace > 0) {
    // What ends within the instant ends now.
    while (!is_in_last() && end_of_running_s() <= now_s + one_instant_s) take_next(std::min(end_of_running_s(), now_s));
    left_s -= std::max(now_s - since_s, 0.0) / pace;
  }
  since_s = std::max(since_s, now_s);
  dated_s = now_s;
  pace = new_pace;
  ends_s = end_of_last_s();
}

void SharedChips::kernel_starts(std::int32_t rank, std::int32_t stream, Work work, Seconds alone, Seconds from) {
  auto& starting = chains_[lane(rank, stream)];
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
  chains_[lane(rank, stream)].kernels.push_back({alone.value(), from.value()});
}

bool SharedChips::ends(std::int32_t rank, std::int32_t stream, Work work, Seconds now) {
  auto& ending = chains_[lane(rank, stream)];
  if (ending.work != work || ending.ends_s > now.value() + one_instant_s) return false;
  while (!ending.is_in_last()) ending.take_next(ending.end_of_running_s());
  ending.work.turn = none;
  return true;
}

void SharedChips::collective_starts(std::int32_t rank, bool dispatches) {
  ++(dispatches ? dispatches_ : collectives_)[position_of(rank)];
  touch(rank);
}

void SharedChips::collective_ends(std::int32_t rank, bool dispatches) {
  --(dispatches ? dispatches_ : collectives_)[position_of(rank)];
  touch(rank);
}

double SharedChips::pace_of(std::size_t rank) const {
  const double pace = collectives_[rank] > 0 ? slowdowns_[rank] : 1;
  return !dispatches_.empty() && dispatches_[rank] > 0 ? std::max(pace, dispatch_slowdowns_[rank]) : pace;
}

void SharedChips::redate(Network& network) {
  const double now_s = network.now().value();
  for (const auto rank : touched_) {
    is_touched_[position_of(rank)] = false;
    const double pace = pace_of(position_of(rank));
    for (std::size_t place = 0; place < lanes_; ++place) {
      auto& running = chains_[position_of(rank) * lanes_ + place];
      if (running.work.turn == none || (running.pace <= pace && pace <= running.pace)) continue;
      running.change_pace(pace, now_s);
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
