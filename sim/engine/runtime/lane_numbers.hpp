#pragma once
/// Which lane a stream of a rank is. Ranks of a stage use the same few of all streams, so only those get lanes, and
/// those of one rank lie next to each other.
#include <algorithm>
#include <cstdint>
#include <utility>

#include "sim/core/indexed.hpp"
#include "sim/program/program.hpp"

namespace lockstep::engine {

class LaneNumbers {
 public:
  explicit LaneNumbers(const program::Program& program);

  [[nodiscard]] std::int32_t lane(topologies::RankId rank, program::StreamId stream) const {
    const auto& [first, stage] = ranks_[rank];
    return first + of_stage_(stage, stream);
  }
  [[nodiscard]] std::int32_t count() const { return count_; }

 private:
  struct Rank {
    std::int32_t first_lane;
    workloads::StageId stage;
  };
  Indexed<topologies::RankId, Rank> ranks_;
  Grid<workloads::StageId, program::StreamId, std::int32_t> of_stage_;  ///< among the rank's lanes; -1: never used
  std::int32_t count_ = 0;
};

}  // namespace lockstep::engine
