#pragma once
/// The program that the engine runs: every rank's operations on its streams, with collectives lowered to phases of
/// flows over links. No names of strategies, models or fabrics are left at this level.
#include <cstdint>
#include <string>
#include <vector>

#include "sim/collectives/phases.hpp"
#include "sim/core/indexed.hpp"
#include "sim/core/small_list.hpp"
#include "sim/core/units.hpp"
#include "sim/program/shared_list.hpp"
#include "topologies/cluster/ids.hpp"
#include "workloads/pipeline/ids.hpp"

namespace lockstep::program {

using StreamId = std::int32_t;
using CommunicatorId = std::int32_t;
using ProgramOpId = std::int32_t;  ///< unlike the workloads::OpId of its vertex

using Predecessors = SmallList<ProgramOpId>;

/// A program has millions of them, so their size counts: 80 bytes.
struct ProgramOp {
  enum class Kind : std::uint8_t { compute, collective };
  Kind kind = Kind::compute;
  bool shares_chip = false;  ///< this compute slows down while a collective with shares_chip is under way on its rank
  std::int32_t vertex = 0;   ///< the StepGraph operation it came from
  SharedList<StreamId> streams;  ///< streams it occupies, all at once
  std::int32_t priority = 0;     ///< lower goes first; ties go by position in Program::ops
  workloads::StageId stage = 0;  ///< compute: the stage whose ranks run it
  Seconds duration;              ///< compute: on a rank of speed 1, alone on its chip
  Seconds launched{0};  ///< compute: when the host has launched it; before that it occupies its stream but does not run
  CommunicatorId communicator = -1;       ///< collective
  Predecessors predecessors;              ///< earlier positions in Program::ops; a rank waits for
                                          ///< those of them that it takes part in
  SharedList<collectives::Phase> phases;  ///< collective
  Seconds closed_form;                    ///< collective: time without contention (reference engine)
};

struct Program {
  Indexed<StreamId, std::string> streams;  ///< [0] is compute
  Indexed<topologies::RankId, workloads::StageId> stage_of_rank;
  Indexed<topologies::RankId, double> slowdown_of_rank;  ///< compute durations are multiplied by it; 1 is nominal
  double shared_slowdown = 1;                         ///< factor by which compute takes longer while it shares its chip
  Indexed<topologies::LinkId, BytesPerSecond> links;  ///< capacity, one way
  Indexed<CommunicatorId, collectives::Communicator> communicators;
  Indexed<ProgramOpId, ProgramOp> ops;  ///< in a topological order

  [[nodiscard]] std::int32_t ranks() const { return stage_of_rank.count(); }
  [[nodiscard]] std::string to_string() const;  ///< for --dump=program
};

/// Throws InternalError if the program breaks an invariant the engines rely on (ids in range, groups
/// disjoint, predecessors earlier, positive capacities, finite non-negative times).
void check(const Program& program);

}  // namespace lockstep::program
