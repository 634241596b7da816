#pragma once
/// Programs that were folded before. Who times many steps on one machine folds once for all that differ only in what
/// their operations take and carry.
#include <deque>
#include <vector>

#include "sim/program/fold.hpp"

namespace lockstep::program {

/// For one thread at a time. Programs are compared by value; only those that were folded last are kept.
class KnownFolds {
 public:
  /// As program::fold.
  [[nodiscard]] FoldedProgram fold(Program whole);

 private:
  struct Known {
    Program whole;  ///< without operations, as is `folded`
    /// By communicator, for each of its slots the first one that carries the same bytes in every collective.
    Indexed<CommunicatorId, std::vector<collectives::SlotId>> alike_slots;
    FoldedProgram folded;
  };
  std::deque<Known> known_;  ///< the one used last is the first
};

}  // namespace lockstep::program
