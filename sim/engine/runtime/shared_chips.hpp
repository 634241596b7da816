#pragma once
/// Kernels under way on ranks whose collectives take a part of the chip: while such a collective runs, they go at
/// 1 / Program::shared_slowdown. When one starts or ends, they get new dates; a network cannot take the old ones back.
#include <cstdint>
#include <vector>

#include "sim/engine/runtime/network.hpp"
#include "sim/program/program.hpp"

namespace lockstep {

class SharedChips {
 public:
  explicit SharedChips(const Program& program);

  /// `work` takes `alone` by itself, from `from` on, which may be later than now; `redate` says when it ends.
  void kernel_starts(std::int32_t rank, std::int32_t stream, Work work, Seconds alone, Seconds from);
  /// Whether this is the end of the kernel on that stream, and not a date from before it got another.
  [[nodiscard]] bool ends(std::int32_t rank, std::int32_t stream, Work work, Seconds now);

  void collective_starts(std::int32_t rank);
  void collective_ends(std::int32_t rank);

  /// At the end of an instant: tells the network when the kernels end whose pace is another now.
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
    return kernels_[static_cast<std::size_t>(rank * streams_ + stream)];
  }
  void touch(std::int32_t rank);

  double slowdown_;
  std::int32_t streams_;
  std::vector<Kernel> kernels_;            // by lane
  std::vector<std::int32_t> collectives_;  // by rank: under way
  std::vector<std::int32_t> touched_;      // ranks on which something started or ended at this instant
  std::vector<bool> is_touched_;
};

}  // namespace lockstep
