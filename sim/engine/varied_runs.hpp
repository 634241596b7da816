#pragma once
/// One program run again and again with other speeds of ranks and other capacities of links; what a run asks of a
/// program beside these is made once.
#include <memory>

#include "sim/engine/engine.hpp"
#include "sim/program/program.hpp"
#include "sim/timeline/timeline.hpp"

namespace lockstep::engine {

class Chains;
struct Setup;

class VariedRuns {
 public:
  /// `kind`: reference, or any other for max_min.
  VariedRuns(program::Program program, EngineKind kind);
  ~VariedRuns();
  VariedRuns(const VariedRuns&) = delete;
  VariedRuns& operator=(const VariedRuns&) = delete;

  [[nodiscard]] const program::Program& program() const { return program_; }
  [[nodiscard]] const Chains& chains() const;
  /// As many as the program has of each. Throws InternalError for those that `check` refuses.
  [[nodiscard]] timeline::Timeline run(Indexed<topologies::RankId, double> slowdown_of_rank,
                                       Indexed<topologies::LinkId, BytesPerSecond> links);

 private:
  program::Program program_;
  EngineKind kind_;
  std::unique_ptr<const Setup> setup_;
};

}  // namespace lockstep::engine
