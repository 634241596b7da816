#pragma once
/// Max-min fair rates of transfers over shared links, kept up to date while transfers come and go. Rates are max-min
/// fair if no link carries more than its capacity and every transfer has a bottleneck: a full link on which no other
/// transfer is faster. There is exactly one such set, so a transfer that keeps its bottleneck keeps its rate:
/// only the transfers whose bottleneck changed, and those that their new rates touch, are shared out anew.
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "sim/core/indexed.hpp"

namespace lockstep::engine {

class LinkShares {
 public:
  /// A link that a transfer crosses, and how often.
  struct Crossing {
    std::int32_t link;
    double times;
  };

  /// Capacities by link.
  explicit LinkShares(std::vector<double> capacities);

  /// Transfers have small numbers, chosen by the caller; `route` names each link once and must outlive the transfer.
  void add(std::int32_t transfer, std::span<const Crossing> route);
  void remove(std::int32_t transfer);

  /// Shares the links out after any number of changes: all transfers whose rate changed, those added among them. Valid
  /// until the next call.
  [[nodiscard]] std::span<const std::int32_t> update();
  [[nodiscard]] double rate(std::int32_t transfer) const { return transfers_[transfer].rate; }

 private:
  static constexpr std::int32_t none = -1;
  struct Transfer {
    std::span<const Crossing> route;
    std::vector<std::int32_t> places;  // by crossing: where the transfer stands in the link's list
    double rate = 0;
    double was = 0;                  // its rate before this update
    std::int32_t bottleneck = none;  // none: it has no rate yet
    std::int32_t opened = 0;         // the update that shares it out anew
    bool shared = false;             // it has got its new rate
  };
  struct OnLink {
    std::int32_t transfer;
    std::int32_t crossing;  // of its route
  };
  struct Link {
    double capacity = 0;
    std::vector<OnLink> transfers;
    // While it is shared out:
    double left = 0, wanted = 0;
    std::int32_t filled = 0,
                 looked_at = 0;  // the last filling that reached it, and whether it was looked at after that
  };
  using Level = std::pair<double, std::int32_t>;  // the rate at which a link is full, with the link

  [[nodiscard]] bool is_open(const Transfer& transfer) const { return transfer.opened == update_; }
  [[nodiscard]] double times(const OnLink& on) const {
    return transfers_[on.transfer].route[position_of(on.crossing)].times;
  }
  void open(std::int32_t transfer);
  /// Shares what the others leave of the links among the open transfers.
  void fill();
  void reach(std::int32_t link);
  void share(std::int32_t link, double rate);
  /// Opens the transfers that have lost their bottleneck to the new rates; false if there are none.
  bool open_touched();
  void open_held_by(std::int32_t link);

  Indexed<std::int32_t, Link> links_;
  Indexed<std::int32_t, Transfer> transfers_;
  std::vector<std::int32_t> open_;                // being shared out anew, in the order in which they were opened
  std::vector<std::int32_t> added_, left_links_;  // since the last update; links that a transfer has left
  std::vector<Level> levels_;                     // a heap, the lowest first; a link's level may have risen since
  std::vector<Level> full_;                       // links that the last filling has filled
  std::int32_t update_ = 0, filling_ = 0;
};

}  // namespace lockstep::engine
