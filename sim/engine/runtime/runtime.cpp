#include "sim/engine/runtime/runtime.hpp"

#include <algorithm>
#include <functional>
#include <string>
#include <utility>

#include "sim/core/errors.hpp"

namespace lockstep::engine {

Runtime::Runtime(const Setup& setup, Network& network, std::function<void(double)> progress)
    : program_(setup.program),
      network_(network),
      progress_(std::move(progress)),
      numbers_(setup.lanes),
      chains_(setup.chains),
      turns_(setup.turns),
      turn_of_chain_(setup.turn_of_chain),
      readiness_(setup.dependences),
      lanes_(position_of(numbers_.count())),
      chips_(program_),
      host_waited_until_(program_.stage_of_rank.size(), Seconds(0)),
      launch_since_(position_of(numbers_.count()), Seconds(0)),
      timeline_(readiness_.rank_sets()) {
  unfinished_.reserve(position_of(chains_.count()));
  for (ChainId chain = 0; chain < chains_.count(); ++chain) {
    const program::ProgramOp& op = program_.ops[chains_.first(chain)];
    const auto instances = op.kind == program::ProgramOp::Kind::collective
                               ? program_.communicators[op.communicator].groups.size()
                               : timeline_.ranks_of(chains_.first(chain)).size();
    unfinished_.push_back(static_cast<std::int32_t>(instances));
    total_ += static_cast<std::int64_t>(instances);
  }
}

timeline::Timeline Runtime::run() {
  ready_ = readiness_.at_outset();
  network_.run([this](std::span<const Work> completed) { take_in(completed); });
  throw_if_unfinished();
  return std::move(timeline_);
}

void Runtime::take_in(std::span<const Work> completed) {
  ++instants_;
  for (const Work work : completed) {
    if (!goes_on(work)) complete(work);
  }
  start_ready();
  while (!instantly_done_.empty()) {  // work that takes no time ends at the instant it starts
    std::swap(taking_in_, instantly_done_);
    instantly_done_.clear();
    for (const Work work : taking_in_) complete(work);
    start_ready();
  }
  chips_.redate(network_);
  report_progress();
}

bool Runtime::goes_on(Work work) {
  if (!chips_.any()) return false;
  const Turn& turn = turns_[work.turn];
  if (!turn.computes() || !turn.shares_chip) return false;
  return !chips_.ends(work.index, turn.streams.front(), work, network_.now());
}

void Runtime::complete(Work work) {
  const Turn& turn = turns_[work.turn];
  const std::span<const std::int32_t> ranks = ranks_of(turn, work.index);
  const timeline::Interval span{lanes_.busy_since(lane(ranks.front(), turn.streams.front())), network_.now()};
  for (const std::int32_t rank : ranks) {
    for (const std::int32_t stream : turn.streams) lanes_.release(lane(rank, stream));
    if (!turn.computes() && turn.shares_chip) chips_.collective_ends(rank, turn.dispatches);
    record(turn.chain, rank, span);
    readiness_.ended(turn.chain, rank, ready_);
  }
  --unfinished_[turn.chain];
  ++finished_;
}

void Runtime::record(ChainId chain, std::int32_t rank, timeline::Interval span) {
  const auto members = chains_.members(chain);
  const auto& first = program_.ops[members.front()];
  const bool shared = members.size() > 1 && first.shares_chip && span.end > span.start;
  for (std::size_t i = 0; i + 1 < members.size(); ++i) {
    const Seconds own =
        shared ? chips_.inner_ends(rank, first.streams.front())[i] : end_of(program_.ops[members[i]], rank, span.start);
    const Seconds end = std::min(own, span.end);
    timeline_.record(members[i], rank, {span.start, end});
    span.start = end;
  }
  timeline_.record(members.back(), rank, span);
}

Seconds Runtime::end_of(const program::ProgramOp& op, std::int32_t rank, Seconds start) const {
  const auto [alone, launched] = program_.on_chip_of(rank, op);
  if (alone <= Seconds(0)) return start + op.held;  // it does not wait for its launch either
  const Seconds from = std::max(launch_since_[position_of(lane(rank, op.streams.front()))] + launched, start);
  return start + (from - start + alone * program_.slowdown_of_rank[rank] + op.held);
}

void Runtime::start_ready() {
  offers_.clear();
  for (const Instance& instance : ready_) offers_.push_back({{turn_of_chain_[instance.chain], instance.index}, -1});
  ready_.clear();
  lanes_.offer_released(offers_);
  if (!std::is_sorted(offers_.begin(), offers_.end())) std::sort(offers_.begin(), offers_.end());

  // A failed offer brings up the next one of its lane: the two sequences are merged by who goes first.
  for (std::size_t next = 0; next < offers_.size() || !late_offers_.empty();) {
    if (late_offers_.empty() || (next < offers_.size() && offers_[next] < late_offers_.front())) {
      start_or_wait(offers_[next++]);
      continue;
    }
    std::pop_heap(late_offers_.begin(), late_offers_.end(), std::greater<>());
    const Lanes::Offer offer = late_offers_.back();
    late_offers_.pop_back();
    start_or_wait(offer);
  }
}

void Runtime::start_or_wait(const Lanes::Offer& offer) {
  const Turn& turn = turns_[offer.work.turn];
  const std::int32_t blocking = blocking_lane(turn, offer.work.index);
  if (blocking < 0) {
    start(offer.work, turn);
    return;
  }
  lanes_.wait(blocking, offer.work);
  if (offer.lane >= 0 && lanes_.has_offer(offer.lane)) {
    late_offers_.push_back(lanes_.take_first(offer.lane));
    std::push_heap(late_offers_.begin(), late_offers_.end(), std::greater<>());
  }
}

std::int32_t Runtime::blocking_lane(const Turn& turn, std::int32_t index) const {
  for (const std::int32_t rank : ranks_of(turn, index)) {
    for (const std::int32_t stream : turn.streams) {
      if (lanes_.busy(lane(rank, stream))) return lane(rank, stream);
    }
  }
  return -1;
}

void Runtime::start(Work work, const Turn& turn) {
  for (const std::int32_t rank : ranks_of(turn, work.index)) {
    for (const std::int32_t stream : turn.streams) lanes_.occupy(lane(rank, stream), network_.now());
  }
  if (turn.computes()) {
    start_compute(work, turn);
    return;
  }
  if (turn.shares_chip) {
    for (const std::int32_t rank : ranks_of(turn, work.index)) chips_.collective_starts(rank, turn.dispatches);
  }
  if (!network_.start_collective(work, turn.first, work.index)) instantly_done_.push_back(work);
}

void Runtime::start_compute(Work work, const Turn& turn) {
  const auto members = chains_.members(turn.chain);
  computes_ += std::ssize(members);
  const Seconds now = network_.now();
  const auto& first = program_.ops[turn.first];
  if (first.host_waits) host_waited_until_[position_of(work.index)] = now;
  launch_since_[position_of(lane(work.index, first.streams.front()))] = host_waited_until_[position_of(work.index)];
  if (turn.shares_chip && program_.on_chip_of(work.index, program_.ops[turn.first]).duration > Seconds(0)) {
    start_on_shared_chip(work, members);
    return;
  }
  Seconds end = now;
  for (const auto op : members) end = end_of(program_.ops[op], work.index, end);
  if (end > now) {
    network_.start_compute(work, end);
  } else {
    instantly_done_.push_back(work);
  }
}

void Runtime::start_on_shared_chip(Work work, std::span<const program::ProgramOpId> members) {
  const auto stream = program_.ops[members.front()].streams.front();
  const Seconds since = launch_since_[position_of(lane(work.index, stream))];
  for (const auto op : members) {
    const auto [on_nominal, after] = program_.on_chip_of(work.index, program_.ops[op]);
    const Seconds launched = since + after;
    const Seconds alone = on_nominal * program_.slowdown_of_rank[work.index] + program_.ops[op].held;
    if (op == members.front()) {
      chips_.kernel_starts(work.index, stream, work, alone, std::max(launched, network_.now()));
    } else {
      chips_.kernel_follows(work.index, stream, alone, launched);
    }
  }
}

std::span<const std::int32_t> Runtime::ranks_of(const Turn& turn, const std::int32_t& index) const {
  if (turn.computes()) return {&index, 1};
  return program_.communicators[turn.communicator].groups[index].members;
}

void Runtime::report_progress() {
  if (!progress_ || (finished_ < next_report_ && finished_ != total_)) return;
  next_report_ = finished_ + total_ / 100;
  progress_(total_ == 0 ? 1.0 : static_cast<double>(finished_) / static_cast<double>(total_));
}

void Runtime::throw_if_unfinished() const {
  if (finished_ == total_) return;
  constexpr int named = 5;
  std::string message = std::to_string(total_ - finished_) + " operations never ended:";
  int listed = 0;
  for (const ChainId chain : unfinished_.ids()) {
    if (unfinished_[chain] == 0 || listed == named) continue;
    ++listed;
    const auto op = chains_.first(chain);
    message += " op " + std::to_string(op) + " (vertex " + std::to_string(program_.ops[op].vertex) + ", " +
               std::to_string(unfinished_[chain]) + " left);";
  }
  throw InternalError(message);
}

}  // namespace lockstep::engine
