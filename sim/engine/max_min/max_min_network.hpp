#pragma once
/// Shares links max-min fairly, as SimGrid's network does, for any number of programs one after the other. SimGrid can
/// run only one program per process; the two agree to rounding.
#include <cstdint>
#include <utility>
#include <vector>

#include "sim/engine/runtime/phased_network.hpp"

namespace lockstep::engine {

class MaxMinNetwork final : public PhasedNetwork {
 public:
  explicit MaxMinNetwork(const program::Program& program, std::vector<timeline::PhaseSpan>* phases = nullptr);

  void run(const TakeIn& take_in) override;

 private:
  /// A link that a flow crosses, and how often.
  struct Crossing {
    std::int32_t link;
    double times;
  };
  struct Route {
    std::size_t begin, end;  // in crossings_
  };
  /// A flow under way.
  struct Transfer {
    std::size_t flow = 0;
    std::int32_t collective = -1;  // -1: none, the place is free
    double left = 0;               // bytes at `since_s`
    double rate = 0;
    double since_s = 0;
    double ends_s = 0;
    std::int32_t mark = 0;  // of the sharing that reached it last
  };
  struct Link {
    double capacity = 0;
    std::vector<std::int32_t> transfers;  // under way over it
    std::int32_t mark = 0;
    double left = 0, wanted = 0;  // while it is shared out
  };

  void start_flow(std::size_t flow, double bytes, std::int32_t collective) override;
  void end_transfers();
  /// New rates for all transfers that share a link, directly or through others, with a link that changed.
  void share_links();
  void collect_component(std::int32_t link);
  void share_component();
  void set_rate(Transfer& transfer, double rate);
  [[nodiscard]] double next_end_s() const;
  [[nodiscard]] std::span<const Crossing> crossings_of(const Transfer& transfer) const {
    return {crossings_.data() + routes_[transfer.flow].begin, crossings_.data() + routes_[transfer.flow].end};
  }

  std::vector<Crossing> crossings_;
  std::vector<Route> routes_;  // by flow
  std::vector<Link> links_;
  std::vector<Transfer> transfers_;
  std::vector<std::int32_t> free_, under_way_;
  std::vector<std::int32_t> changed_;  // links whose transfers did
  std::int32_t mark_ = 0;
  std::vector<std::int32_t> component_links_, component_transfers_;
};

}  // namespace lockstep::engine
