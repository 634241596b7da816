#include "sim/engine/runtime/runtime.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <utility>

#include "sim/core/errors.hpp"

namespace lockstep::engine {

namespace {

/// The operations by priority, those of one priority in the program's order. There are few priorities.
std::vector<program::ProgramOpId> by_priority(const program::Program& program) {
  std::map<std::int32_t, std::vector<program::ProgramOpId>> by;
  for (const program::ProgramOpId op : program.ops.ids()) by[program.ops[op].priority].push_back(op);
  std::vector<program::ProgramOpId> all;
  all.reserve(program.ops.size());
  for (const auto& [priority, ops] : by) all.insert(all.end(), ops.begin(), ops.end());
  return all;
}

}  // namespace

Runtime::Runtime(const program::Program& program, Network& network, std::function<void(double)> progress)
    : program_(program),
      network_(network),
      progress_(std::move(progress)),
      streams_(static_cast<std::int32_t>(program.streams.size())),
      op_of_turn_(by_priority(program)),
      turn_of_op_(program.ops.size()),
      readiness_(program),
      lanes_(program.stage_of_rank.size() * program.streams.size()),
      chips_(program),
      timeline_(readiness_.rank_sets()) {
  for (std::size_t turn = 0; turn < op_of_turn_.size(); ++turn) {
    turn_of_op_[op_of_turn_[turn]] = static_cast<std::int32_t>(turn);
  }
  for (std::size_t position = 0; position < program.ops.size(); ++position) {
    const program::ProgramOp& op = program.ops[position];
    const auto instances = op.kind == program::ProgramOp::Kind::collective
                               ? program.communicators[op.communicator].groups.size()
                               : timeline_.ranks_of(static_cast<std::int32_t>(position)).size();
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
  const program::ProgramOp& op = program_.ops[op_of_turn_[work.turn]];
  if (op.kind != program::ProgramOp::Kind::compute || !op.shares_chip) return false;
  return !chips_.ends(work.index, op.streams.front(), work, network_.now());
}

void Runtime::complete(Work work) {
  const std::int32_t op = op_of_turn_[work.turn];
  const program::ProgramOp& program_op = program_.ops[op];
  const std::span<const std::int32_t> ranks = ranks_of(program_op, work.index);
  const timeline::Interval span{lanes_.busy_since(lane(ranks.front(), program_op.streams.front())), network_.now()};
  for (const std::int32_t rank : ranks) {
    for (const std::int32_t stream : program_op.streams) lanes_.release(lane(rank, stream));
    if (program_op.kind == program::ProgramOp::Kind::collective && program_op.shares_chip) chips_.collective_ends(rank);
    timeline_.record(op, rank, span);
    readiness_.ended(op, rank, ready_);
  }
  --unfinished_[op];
  ++finished_;
}

void Runtime::start_ready() {
  offers_.clear();
  for (const Instance& instance : ready_) offers_.push_back({{turn_of_op_[instance.op], instance.index}, -1});
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
  const std::int32_t op = op_of_turn_[offer.work.turn];
  const std::int32_t blocking = blocking_lane(op, offer.work.index);
  if (blocking < 0) {
    start(offer.work, op);
    return;
  }
  lanes_.wait(blocking, offer.work);
  if (offer.lane >= 0 && lanes_.has_offer(offer.lane)) {
    late_offers_.push_back(lanes_.take_first(offer.lane));
    std::push_heap(late_offers_.begin(), late_offers_.end(), std::greater<>());
  }
}

std::int32_t Runtime::blocking_lane(std::int32_t op, std::int32_t index) const {
  const program::ProgramOp& program_op = program_.ops[op];
  for (const std::int32_t rank : ranks_of(program_op, index)) {
    for (const std::int32_t stream : program_op.streams) {
      if (lanes_.busy(lane(rank, stream))) return lane(rank, stream);
    }
  }
  return -1;
}

void Runtime::start(Work work, std::int32_t op) {
  const program::ProgramOp& program_op = program_.ops[op];
  for (const std::int32_t rank : ranks_of(program_op, work.index)) {
    for (const std::int32_t stream : program_op.streams) lanes_.occupy(lane(rank, stream), network_.now());
  }
  if (program_op.kind == program::ProgramOp::Kind::compute) {
    start_compute(work, program_op);
    return;
  }
  if (program_op.shares_chip) {
    for (const std::int32_t rank : ranks_of(program_op, work.index)) chips_.collective_starts(rank);
  }
  if (!network_.start_collective(work, op, work.index)) instantly_done_.push_back(work);
}

void Runtime::start_compute(Work work, const program::ProgramOp& op) {
  ++computes_;
  const auto [alone, launched] = program_.on_chip_of(work.index, op);
  const Seconds duration = alone * program_.slowdown_of_rank[work.index];
  const Seconds from = std::max(launched, network_.now());
  if (duration <= Seconds(0)) {
    instantly_done_.push_back(work);
  } else if (op.shares_chip) {
    chips_.kernel_starts(work.index, op.streams.front(), work, duration, from);
  } else {
    network_.start_compute(work, from - network_.now() + duration);
  }
}

std::span<const std::int32_t> Runtime::ranks_of(const program::ProgramOp& op, const std::int32_t& index) const {
  if (op.kind == program::ProgramOp::Kind::compute) return {&index, 1};
  return program_.communicators[op.communicator].groups[index].members;
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
  for (std::size_t op = 0; op < unfinished_.size() && listed < named; ++op) {
    if (unfinished_[op] == 0) continue;
    ++listed;
    message += " op " + std::to_string(op) + " (vertex " + std::to_string(program_.ops[op].vertex) + ", " +
               std::to_string(unfinished_[op]) + " left);";
  }
  throw InternalError(message);
}

}  // namespace lockstep::engine
