#pragma once
/// Why an operation started when it did: what ended last of all that it had to wait for.
#include <cstdint>
#include <vector>

#include "sim/program/program.hpp"
#include "sim/timeline/timeline.hpp"
#include "tools/trace/lanes.hpp"

namespace lockstep {

struct Wait {
  /// predecessor: on the same rank; lane: an operation that held a stream of it; peer: either, on another rank of its group.
  enum class For { nothing, predecessor, lane, peer };
  For what = For::nothing;
  std::int32_t op = -1;    ///< that ended when this one started
  std::int32_t rank = -1;  ///< on this rank of the program
};

class Waits {
 public:
  Waits(const Program& program, const Timeline& timeline);

  /// Of an operation that the rank takes part in.
  [[nodiscard]] Wait of(std::int32_t op, std::int32_t rank);

 private:
  const std::vector<std::int32_t>& before_on_lanes(std::int32_t rank);
  const std::vector<std::int32_t>& peers(std::int32_t op, std::int32_t rank);
  void take(Wait::For what, std::int32_t op, std::int32_t rank);

  const Program& program_;
  const Timeline& timeline_;
  std::vector<std::vector<std::int32_t>> before_;    ///< by rank and operation: what held its streams last; made when asked for
  std::vector<std::vector<std::int32_t>> group_of_;  ///< by communicator and rank
  Wait last_;
  double last_end_ = -1;
};

}  // namespace lockstep
