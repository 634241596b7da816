#pragma once
/// The streams of all ranks, each a lane that runs one thing at a time, and the ready work that waits
/// for them. Work that cannot start takes nothing (no hold-and-wait, so no deadlock): it waits on one
/// lane that is busy and is offered again when that lane is released.
#include <algorithm>
#include <cstdint>
#include <functional>
#include <vector>

#include "sim/core/indexed.hpp"
#include "sim/engine/runtime/network.hpp"

namespace lockstep::engine {

class Lanes {
 public:
  /// Work that may be able to start, and the lane it was waiting on (-1: it has just become ready).
  struct Offer {
    Work work;
    std::int32_t lane;
    friend bool operator<(const Offer& a, const Offer& b) { return a.work < b.work; }
    friend bool operator>(const Offer& a, const Offer& b) { return b < a; }
  };

  explicit Lanes(std::size_t count) : busy_since_s_(count, idle), waiting_(count), has_waiting_(count, false) {}

  [[nodiscard]] bool busy(std::int32_t lane) const { return busy_since_s_[lane] >= 0; }
  [[nodiscard]] Seconds busy_since(std::int32_t lane) const { return Seconds(busy_since_s_[lane]); }
  void occupy(std::int32_t lane, Seconds now) { busy_since_s_[lane] = now.value(); }
  void release(std::int32_t lane) {
    busy_since_s_[lane] = idle;
    if (has_waiting_[lane]) released_.push_back(lane);
  }

  void wait(std::int32_t lane, Work work) {
    std::vector<Work>& waiting = waiting_[lane];
    waiting.push_back(work);
    std::push_heap(waiting.begin(), waiting.end(), std::greater<>());
    has_waiting_[lane] = true;
  }

  /// Appends the first work that waits on each lane released since the last call.
  void offer_released(std::vector<Offer>& offers) {
    for (const std::int32_t lane : released_) offers.push_back(take_first(lane));
    released_.clear();
  }

  /// After an offer from `lane` could not start, appends the next one if `lane` is still free.
  [[nodiscard]] bool has_offer(std::int32_t lane) const { return !busy(lane) && has_waiting_[lane]; }
  Offer take_first(std::int32_t lane) {
    std::vector<Work>& waiting = waiting_[lane];
    std::pop_heap(waiting.begin(), waiting.end(), std::greater<>());
    const Offer first{waiting.back(), lane};
    waiting.pop_back();
    has_waiting_[lane] = !waiting.empty();
    return first;
  }

 private:
  static constexpr double idle = -1;

  // Apart, so that the lanes of many ranks that are busy and idle in turn fill little memory: few have work that waits.
  Indexed<std::int32_t, double> busy_since_s_;
  Indexed<std::int32_t, std::vector<Work>> waiting_;  // heaps, first to go on top
  Indexed<std::int32_t, bool> has_waiting_;
  std::vector<std::int32_t> released_;  // lanes with waiting work
};

}  // namespace lockstep::engine
