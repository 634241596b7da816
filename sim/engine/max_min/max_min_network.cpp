#include "sim/engine/max_min/max_min_network.hpp"

#include <algorithm>
#include <limits>

#include "sim/core/errors.hpp"

namespace lockstep::engine {

namespace {

constexpr double never_s = std::numeric_limits<double>::infinity();

std::size_t at(std::int32_t index) { return static_cast<std::size_t>(index); }

}  // namespace

MaxMinNetwork::MaxMinNetwork(const program::Program& program, std::vector<timeline::PhaseSpan>* phases)
    : PhasedNetwork(program, phases), routes_(flow_count_), links_(program.links.size()) {
  for (std::size_t link = 0; link < links_.size(); ++link) links_[link].capacity = program.links[link].value();
  for (std::size_t communicator = 0; communicator < first_flow_.size(); ++communicator) {
    for (std::size_t group = 0; group < first_flow_[communicator].size(); ++group) {
      std::size_t flow = first_flow_[communicator][group];
      for (const collectives::Flow& program_flow : program.communicators[communicator].groups[group].flows) {
        auto& route = routes_[flow++];
        route.begin = crossings_.size();
        for (const std::int32_t link : program_flow.links) {
          const auto first = crossings_.begin() + static_cast<std::ptrdiff_t>(route.begin);
          const auto known =
              std::find_if(first, crossings_.end(), [&](const Crossing& crossing) { return crossing.link == link; });
          if (known != crossings_.end()) {
            known->times += 1;
          } else {
            crossings_.push_back({link, 1.0});
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

double MaxMinNetwork::next_end_s() const {
  double next_s = never_s;
  for (const auto transfer : under_way_) next_s = std::min(next_s, transfers_[at(transfer)].ends_s);
  return next_s;
}

void MaxMinNetwork::start_flow(std::size_t flow, double bytes, std::int32_t collective) {
  if (free_.empty()) {
    free_.push_back(static_cast<std::int32_t>(transfers_.size()));
    transfers_.emplace_back();
  }
  const std::int32_t number = free_.back();
  free_.pop_back();
  transfers_[at(number)] = {flow, collective, bytes, 0, now_s_, never_s, 0};
  under_way_.push_back(number);
  for (const auto& crossing : crossings_of(transfers_[at(number)])) {
    links_[at(crossing.link)].transfers.push_back(number);
    changed_.push_back(crossing.link);
  }
}

void MaxMinNetwork::end_transfers() {
  for (std::size_t i = 0; i < under_way_.size();) {
    const std::int32_t number = under_way_[i];
    Transfer& transfer = transfers_[at(number)];
    if (transfer.ends_s > now_s_ + one_instant_s) {
      ++i;
      continue;
    }
    for (const auto& crossing : crossings_of(transfer)) {
      std::erase(links_[at(crossing.link)].transfers, number);
      changed_.push_back(crossing.link);
    }
    under_way_.erase(under_way_.begin() + static_cast<std::ptrdiff_t>(i));
    const std::int32_t collective = transfer.collective;
    free_.push_back(number);
    flow_ended(collective);  // may start others, at the end of the list
  }
}

void MaxMinNetwork::share_links() {
  if (changed_.empty()) return;
  ++mark_;
  for (const auto link : changed_) {
    if (links_[at(link)].mark == mark_) continue;
    collect_component(link);
    share_component();
  }
  changed_.clear();
}

void MaxMinNetwork::collect_component(std::int32_t first) {
  component_links_.assign(1, first);
  component_transfers_.clear();
  links_[at(first)].mark = mark_;
  for (std::size_t next = 0; next < component_links_.size(); ++next) {
    for (const auto number : links_[at(component_links_[next])].transfers) {
      Transfer& transfer = transfers_[at(number)];
      if (transfer.mark == mark_) continue;
      transfer.mark = mark_;
      component_transfers_.push_back(number);
      for (const auto& crossing : crossings_of(transfer)) {
        if (links_[at(crossing.link)].mark == mark_) continue;
        links_[at(crossing.link)].mark = mark_;
        component_links_.push_back(crossing.link);
      }
    }
  }
}

/// Progressive filling: all rates grow together until a link is full, which fixes the transfers over it.
void MaxMinNetwork::share_component() {
  for (const auto link : component_links_) {
    links_[at(link)].left = links_[at(link)].capacity;
    links_[at(link)].wanted = 0;
  }
  for (const auto number : component_transfers_) {
    for (const auto& crossing : crossings_of(transfers_[at(number)]))
      links_[at(crossing.link)].wanted += crossing.times;
  }
  auto open = component_transfers_;
  while (!open.empty()) {
    double rate = never_s;
    for (const auto link : component_links_) {
      const Link& shared = links_[at(link)];
      if (shared.wanted > 0) rate = std::min(rate, shared.left / shared.wanted);
    }
    const auto is_full = [&](const Crossing& crossing) {
      const Link& shared = links_[at(crossing.link)];
      return shared.left / shared.wanted <= rate * (1 + 1e-12);
    };
    const auto still_open = std::stable_partition(open.begin(), open.end(), [&](std::int32_t number) {
      const auto crossings = crossings_of(transfers_[at(number)]);
      return std::none_of(crossings.begin(), crossings.end(), is_full);
    });
    if (still_open == open.end()) throw InternalError("max-min sharing found no full link");
    for (auto fixed = still_open; fixed != open.end(); ++fixed) {
      Transfer& transfer = transfers_[at(*fixed)];
      for (const auto& crossing : crossings_of(transfer)) {
        links_[at(crossing.link)].left -= crossing.times * rate;
        links_[at(crossing.link)].wanted -= crossing.times;
      }
      set_rate(transfer, rate);
    }
    open.erase(still_open, open.end());
  }
}

void MaxMinNetwork::set_rate(Transfer& transfer, double rate) {
  if (rate == transfer.rate) return;
  transfer.left = std::max(0.0, transfer.left - transfer.rate * (now_s_ - transfer.since_s));
  transfer.since_s = now_s_;
  transfer.rate = rate;
  transfer.ends_s = now_s_ + transfer.left / rate;
}

}  // namespace lockstep::engine
