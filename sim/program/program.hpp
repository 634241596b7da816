#pragma once
/// The program that the engine runs: every rank's operations on its streams, with collectives lowered to phases of
/// flows over links. No names of strategies, models or fabrics are left at this level.
#include <cstdint>
#include <string>
#include <vector>

#include <boost/container/small_vector.hpp>

#include "sim/collectives/phases.hpp"
#include "sim/core/units.hpp"
#include "sim/program/shared_list.hpp"

namespace lockstep::program {

/// Most operations wait for few others; lists of them need no memory of their own.
using Predecessors = boost::container::small_vector<std::int32_t, 4>;

struct ProgramOp {
  enum class Kind { compute, collective };
  Kind kind = Kind::compute;
  std::int32_t vertex = 0;           ///< the StepGraph operation it came from
  SharedList<std::int32_t> streams;  ///< streams it occupies, all at once
  std::int32_t priority = 0;         ///< lower goes first; ties go by position in Program::ops
  std::int32_t stage = 0;            ///< compute: the stage whose ranks run it
  Seconds duration;                  ///< compute: on a rank of speed 1, alone on its chip
  Seconds launched{0};  ///< compute: when the host has launched it; before that it occupies its stream but does not run
  bool shares_chip = false;  ///< this compute slows down while a collective with shares_chip is under way on its rank
  std::int32_t communicator = -1;         ///< collective
  SharedList<collectives::Phase> phases;  ///< collective
  Seconds closed_form;                    ///< collective: time without contention (reference engine)
  Predecessors predecessors;              ///< earlier positions in Program::ops; a rank waits for
                                          ///< those of them that it takes part in
};

struct Program {
  std::vector<std::string> streams;         ///< [0] is compute
  std::vector<std::int32_t> stage_of_rank;  ///< one entry per rank
  std::vector<double> slowdown_of_rank;     ///< compute durations are multiplied by it; 1 is nominal
  double shared_slowdown = 1;               ///< factor by which compute takes longer while it shares its chip
  std::vector<BytesPerSecond> links;        ///< capacity, one way
  std::vector<collectives::Communicator> communicators;
  std::vector<ProgramOp> ops;  ///< in a topological order

  [[nodiscard]] std::int32_t ranks() const { return static_cast<std::int32_t>(stage_of_rank.size()); }
  [[nodiscard]] std::string to_string() const;  ///< for --dump=program
};

/// Throws InternalError if the program breaks an invariant the engines rely on (ids in range, groups
/// disjoint, predecessors earlier, positive capacities, finite non-negative times).
void check(const Program& program);

}  // namespace lockstep::program
