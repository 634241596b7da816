#include "sim/engine/max_min/max_min_network.hpp"
#include "sim/core/indexed.hpp"

#include <algorithm>
#include <functional>
#include <limits>

namespace lockstep::engine {

namespace {

constexpr double never_s = std::numeric_limits<double>::infinity();

std::vector<double> capacities(const program::Program& program) {
  std::vector<double> capacities;
  for (const BytesPerSecond capacity : program.links) capacities.push_back(capacity.value());
  return capacities;
}

}  // namespace

MaxMinNetwork::MaxMinNetwork(const program::Program& program, std::vector<timeline::PhaseSpan>* phases)
    : PhasedNetwork(program, phases), routes_(flow_count_), shares_(capacities(program)) {
  Indexed<topologies::LinkId, std::size_t> crossing_of_link(program.links.size(), 0);  // the last, plus one
  for (std::size_t communicator = 0; communicator < first_flow_.size(); ++communicator) {
    for (std::size_t group = 0; group < first_flow_[communicator].size(); ++group) {
      std::size_t flow = first_flow_[communicator][group];
      for (const collectives::Flow& program_flow : program.communicators[communicator].groups[group].flows) {
        auto& route = routes_[flow++];
        route.begin = crossings_.size();
        for (const std::int32_t link : program_flow.links) {
          std::size_t& known = crossing_of_link[link];
          if (known > route.begin) {
            crossings_[known - 1].times += 1;
          } else {
            crossings_.push_back({link, 1.0});
            known = crossings_.size();
          }
        }
        route.end = crossings_.size();
      }
    }
  }
}

void MaxMinNetwork::run(const TakeIn& take_in) {
  take_in({});
  share_links();
  for (;;) {
    const double date_s = dates_.empty() ? never_s : dates_.next_date_s();
    const double next_s = std::min(date_s, next_end_s());
    if (next_s == never_s) return;
    now_s_ = std::max(next_s, now_s_);
    completed_.clear();
    end_transfers();
    take_due_dates();
    if (!completed_.empty()) take_in(completed_);
    share_links();
  }
}

double MaxMinNetwork::next_end_s() {
  while (!ends_.empty() && is_old(ends_.front())) {
    std::pop_heap(ends_.begin(), ends_.end(), std::greater<>());
    ends_.pop_back();
  }
  return ends_.empty() ? never_s : ends_.front().first;
}

void MaxMinNetwork::start_flow(std::size_t flow, double bytes, std::int32_t collective) {
  if (free_.empty()) {
    free_.push_back(static_cast<std::int32_t>(transfers_.size()));
    transfers_.emplace_back();
  }
  const std::int32_t number = free_.back();
  free_.pop_back();
  transfers_[number] = {collective, turns_++, bytes, 0, now_s_, never_s};
  const Route& route = routes_[flow];
  shares_.add(number, {crossings_.data() + route.begin, crossings_.data() + route.end});
}

void MaxMinNetwork::end_transfers() {
  ending_.clear();
  while (next_end_s() <= now_s_ + one_instant_s) {
    const std::int32_t number = ends_.front().second;
    transfers_[number].ends_s = never_s;
    ending_.push_back(number);
  }
  std::sort(ending_.begin(), ending_.end(),
            [&](std::int32_t a, std::int32_t b) { return transfers_[a].turn < transfers_[b].turn; });
  for (const std::int32_t number : ending_) {
    shares_.remove(number);
    free_.push_back(number);
    flow_ended(transfers_[number].collective);  // may start others
  }
}

void MaxMinNetwork::share_links() {
  for (const std::int32_t number : shares_.update()) set_rate(number, shares_.rate(number));
  if (ends_.size() < 64 + 2 * (transfers_.size() - free_.size())) return;
  std::erase_if(ends_, [&](const End& end) { return is_old(end); });
  std::make_heap(ends_.begin(), ends_.end(), std::greater<>());
}

void MaxMinNetwork::set_rate(std::int32_t number, double rate) {
  Transfer& transfer = transfers_[number];
  transfer.left = std::max(0.0, transfer.left - transfer.rate * (now_s_ - transfer.since_s));
  transfer.since_s = now_s_;
  transfer.rate = rate;
  transfer.ends_s = now_s_ + transfer.left / rate;
  ends_.emplace_back(transfer.ends_s, number);
  std::push_heap(ends_.begin(), ends_.end(), std::greater<>());
}

}  // namespace lockstep::engine
