#pragma once
/// Kernels under way on ranks whose collectives take a part of the chip. While such a collective runs, the kernels run
/// at 1 / Program::shared_slowdown of their speed. When a collective starts or ends, they get new dates; a network
/// cannot withdraw the old dates.
#include <cstdint>
#include <vector>

#include "sim/engine/runtime/network.hpp"
#include "sim/program/program.hpp"

namespace lockstep::engine {

class SharedChips {
 public:
  explicit SharedChips(const program::Program& program);
  [[nodiscard]] bool any() const { return !kernels_.empty(); }  ///< whether anything shares a chip

  /// Adds `work`, which takes `alone` without collectives beside it and starts at `from`, which may be later than now;
  /// `redate` sets when it ends.
  void kernel_starts(std::int32_t rank, std::int32_t stream, Work work, Seconds alone, Seconds from);
  /// Whether the kernel on that stream ends at this date; false if the date is an old one that was replaced.
  [[nodiscard]] bool ends(std::int32_t rank, std::int32_t stream, Work work, Seconds now);

  void collective_starts(std::int32_t rank);
  void collective_ends(std::int32_t rank);

  /// To be called at the end of an instant: gives the network new end dates of the kernels whose speed has changed.
  void redate(Network& network);

 private:
  struct Kernel {
    Work work{none, 0};
    double left_s = 0;  // of what it takes alone, at `since_s`
    double since_s = 0;
    double pace = 0;  // seconds for one of them; 0: it has no date yet
    double ends_s = 0;
  };
  static constexpr std::int32_t none = -1;

  [[nodiscard]] Kernel& kernel(std::int32_t rank, std::int32_t stream) {
    return kernels_[position_of(rank * streams_ + stream)];
  }
  void touch(std::int32_t rank);

  std::vector<double> slowdowns_;  // by rank
  std::int32_t streams_;
  std::vector<Kernel> kernels_;            // by lane
  std::vector<std::int32_t> collectives_;  // by rank: under way
  std::vector<std::int32_t> touched_;      // ranks on which something started or ended at this instant
  std::vector<bool> is_touched_;
};

}  // namespace lockstep::engine
