#pragma once
/// A clock with a network, which tells the DAG runtime when work completes. It knows nothing of streams or
/// dependencies; it completes the work it is given, one instant after the other.
#include <compare>
#include <cstdint>
#include <functional>
#include <span>

#include "sim/core/units.hpp"

namespace lockstep::engine {

/// An operation on one rank (compute) or in one group (collective). `turn` is the operation's place
/// in (priority, position) order, so sorting Work gives the order in which operations may start.
struct Work {
  std::int32_t turn;
  std::int32_t index;  ///< rank or group
  friend auto operator<=>(const Work&, const Work&) = default;
};

/// Events closer than this are one instant: it is SimGrid's precision, and far below any duration
/// that is modelled. It keeps rounding from deciding which event comes first.
inline constexpr double one_instant_s = 1e-12;

class Network {
 public:
  /// Receives the completions of one instant; starts new work.
  using TakeIn = std::function<void(std::span<const Work> completed)>;

  Network() = default;
  Network(const Network&) = delete;
  Network& operator=(const Network&) = delete;
  virtual ~Network() = default;

  /// The instant being taken in.
  [[nodiscard]] virtual Seconds now() const = 0;

  /// `work` completes at a date after now.
  virtual void start_compute(Work work, Seconds until) = 0;

  /// Starts collective `op` in `group`. False when it takes no time: it is complete, and will not be
  /// reported.
  [[nodiscard]] virtual bool start_collective(Work work, std::int32_t op, std::int32_t group) = 0;

  /// Calls `take_in` at date 0 with no completions, then at every instant that has some, until
  /// nothing is left to complete.
  virtual void run(const TakeIn& take_in) = 0;

  [[nodiscard]] virtual std::int64_t flows() const = 0;  ///< started so far
};

}  // namespace lockstep::engine
