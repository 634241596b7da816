#pragma once
/// Shares links max-min fairly, as SimGrid's network does, for any number of programs one after the other. SimGrid can
/// run only one program per process; the two agree to rounding.
#include <cstdint>
#include <utility>
#include <vector>

#include "sim/core/indexed.hpp"
#include "sim/engine/max_min/link_shares.hpp"
#include "sim/engine/runtime/phased_network.hpp"

namespace lockstep::engine {

class MaxMinNetwork final : public PhasedNetwork {
 public:
  explicit MaxMinNetwork(const program::Program& program, std::vector<timeline::PhaseSpan>* phases = nullptr);

  void run(const TakeIn& take_in) override;

 private:
  struct Route {
    std::size_t begin, end;  // in crossings_
  };
  /// A flow under way.
  struct Transfer {
    std::int32_t collective = -1;
    std::int64_t turn = 0;  // in the order of starts
    double left = 0;        // bytes at `since_s`
    double rate = 0;
    double since_s = 0;
    double ends_s = 0;
  };
  using End = std::pair<double, std::int32_t>;  // when a transfer ends, and its number

  void start_flow(std::size_t flow, double bytes, std::int32_t collective) override;
  void end_transfers();
  void share_links();
  void set_rate(std::int32_t number, double rate);
  [[nodiscard]] double next_end_s();
  [[nodiscard]] bool is_old(const End& end) const { return transfers_[end.second].ends_s != end.first; }

  std::vector<LinkShares::Crossing> crossings_;
  std::vector<Route> routes_;  // by flow
  LinkShares shares_;
  Indexed<std::int32_t, Transfer> transfers_;
  std::vector<std::int32_t> free_;
  std::vector<End> ends_;  // a heap, the first on top; those of transfers whose end has changed since are old
  std::vector<std::int32_t> ending_;
  std::int64_t turns_ = 0;
};

}  // namespace lockstep::engine
