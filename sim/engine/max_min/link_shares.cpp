#include "sim/engine/max_min/link_shares.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

namespace lockstep::engine {

namespace {

/// Rates closer than this, relative to their size, are one: symmetric transfers stay equal in spite of rounding.
constexpr double rounding = 1e-12;

}  // namespace

LinkShares::LinkShares(std::vector<double> capacities) : links_(capacities.size()) {
  for (std::size_t link = 0; link < links_.size(); ++link) links_[link].capacity = capacities[link];
}

void LinkShares::add(std::int32_t number, std::span<const Crossing> route) {
  if (!transfers_.contains(number)) transfers_.resize(number + 1);
  Transfer& transfer = transfers_[number];
  transfer.route = route;
  transfer.places.clear();
  transfer.rate = 0;
  transfer.bottleneck = none;
  transfer.opened = 0;
  for (std::int32_t crossing = 0; crossing < std::ssize(route); ++crossing) {
    std::vector<OnLink>& on_link = links_[route[position_of(crossing)].link].transfers;
    transfer.places.push_back(static_cast<std::int32_t>(on_link.size()));
    on_link.push_back({number, crossing});
  }
  added_.push_back(number);
}

void LinkShares::remove(std::int32_t number) {
  Transfer& transfer = transfers_[number];
  for (std::size_t crossing = 0; crossing < transfer.route.size(); ++crossing) {
    std::vector<OnLink>& on_link = links_[transfer.route[crossing].link].transfers;
    const std::int32_t place = transfer.places[crossing];
    const OnLink last = on_link.back();
    on_link[position_of(place)] = last;
    transfers_[last.transfer].places[position_of(last.crossing)] = place;
    on_link.pop_back();
    if (!on_link.empty()) left_links_.push_back(transfer.route[crossing].link);
  }
  if (transfer.bottleneck == none) std::erase(added_, number);
}

std::span<const std::int32_t> LinkShares::update() {
  ++update_;
  open_.clear();
  for (const std::int32_t transfer : added_) open(transfer);
  for (const std::int32_t link : left_links_) open_held_by(link);
  added_.clear();
  left_links_.clear();
  if (open_.empty()) return open_;
  do {
    fill();
  } while (open_touched());
  std::erase_if(open_, [&](std::int32_t number) { return transfers_[number].rate == transfers_[number].was; });
  return open_;
}

void LinkShares::open(std::int32_t number) {
  Transfer& transfer = transfers_[number];
  if (is_open(transfer)) return;
  transfer.opened = update_;
  transfer.was = transfer.rate;
  open_.push_back(number);
}

void LinkShares::open_held_by(std::int32_t link) {
  for (const OnLink& on : links_[link].transfers) {
    if (transfers_[on.transfer].bottleneck == link) open(on.transfer);
  }
}

/// Progressive filling: the rates of all open transfers grow together until a link is full, which fixes those over it.
void LinkShares::fill() {
  ++filling_;
  levels_.clear();
  full_.clear();
  for (const std::int32_t number : open_) {
    Transfer& transfer = transfers_[number];
    transfer.shared = false;
    for (const Crossing& crossing : transfer.route) reach(crossing.link);
  }
  std::make_heap(levels_.begin(), levels_.end(), std::greater<>());
  double rate = -1;
  while (!levels_.empty()) {
    std::pop_heap(levels_.begin(), levels_.end(), std::greater<>());
    auto& [level, number] = levels_.back();
    const Link& link = links_[number];
    if (link.wanted <= 0) {
      levels_.pop_back();
      continue;
    }
    const double now = std::max(link.left / link.wanted, level);
    if (now > level * (1 + rounding)) {  // others have been fixed below it
      level = now;
      std::push_heap(levels_.begin(), levels_.end(), std::greater<>());
      continue;
    }
    if (now > rate * (1 + rounding)) rate = now;
    share(number, rate);
    levels_.pop_back();
  }
}

void LinkShares::reach(std::int32_t number) {
  Link& link = links_[number];
  if (link.filled == filling_) return;
  link.filled = filling_;
  link.left = link.capacity;
  link.wanted = 0;
  for (const OnLink& on : link.transfers) {
    const Transfer& transfer = transfers_[on.transfer];
    if (is_open(transfer)) {
      link.wanted += times(on);
    } else {
      link.left -= times(on) * transfer.rate;
    }
  }
  link.left = std::max(link.left, 0.0);
  levels_.emplace_back(link.left / link.wanted, number);
}

void LinkShares::share(std::int32_t number, double rate) {
  full_.emplace_back(rate, number);
  for (const OnLink& on : links_[number].transfers) {
    Transfer& transfer = transfers_[on.transfer];
    if (!is_open(transfer) || transfer.shared) continue;
    transfer.shared = true;
    transfer.rate = std::abs(rate - transfer.was) <= rounding * rate ? transfer.was : rate;
    transfer.bottleneck = number;
    for (const Crossing& crossing : transfer.route) {
      links_[crossing.link].left -= crossing.times * transfer.rate;
      links_[crossing.link].wanted -= crossing.times;
    }
  }
}

bool LinkShares::open_touched() {
  const std::size_t before = open_.size();
  for (const auto& [rate, link] : full_) {
    for (const OnLink& on : links_[link].transfers) {
      if (transfers_[on.transfer].rate > rate * (1 + rounding)) open(on.transfer);
    }
  }
  for (std::size_t i = 0; i < before; ++i) {
    const Transfer& transfer = transfers_[open_[i]];
    if (transfer.rate == transfer.was) continue;
    for (const Crossing& crossing : transfer.route) {
      if (std::exchange(links_[crossing.link].looked_at, filling_) != filling_) open_held_by(crossing.link);
    }
  }
  return open_.size() > before;
}

}  // namespace lockstep::engine
