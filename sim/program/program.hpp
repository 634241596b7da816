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

/// A compute operation on one kind of chip.
struct OnChip {
  Seconds duration;  ///< on a rank of speed 1, alone on its chip
  Seconds launched;  ///< as ProgramOp::launched
  friend bool operator==(const OnChip&, const OnChip&) = default;
};

/// A program has millions of them, so their size counts: 96 bytes.
struct ProgramOp {
  enum class Kind : std::uint8_t { compute, collective };
  Kind kind = Kind::compute;
  bool shares_chip = false;  ///< this compute slows down while a collective with shares_chip is under way on its rank
  bool dispatches = false;   ///< collective that shares its chip: as Program::dispatch_slowdown says
  bool host_waits = false;   ///< compute: its host launches it and what follows from when it has inputs and streams
  std::int32_t vertex = 0;   ///< the StepGraph operation it came from
  SharedList<StreamId> streams;  ///< streams it occupies, all at once
  std::int32_t priority = 0;     ///< lower goes first; ties go by position in Program::ops
  workloads::StageId stage = 0;  ///< compute: the stage whose ranks run it
  Seconds duration;              ///< compute: on a rank of speed 1, alone on its chip
  Seconds launched{0};  ///< compute: when the host has launched it, since its rank's last operation with host_waits
                        ///< started or else the step; before that it occupies its stream but does not run
  SharedList<OnChip> on_chips;  ///< compute, where chips are of several kinds: by kind, instead of the two above
  Seconds held{0};              ///< compute: so long hosts hold its chips once it has run, to move a collective's data
  CommunicatorId communicator = -1;       ///< collective
  std::int32_t held_for = -1;             ///< compute that is held: of this collective of the StepGraph
  Predecessors predecessors;              ///< earlier positions in Program::ops; a rank waits for
                                          ///< those of them that it takes part in
  SharedList<collectives::Phase> phases;  ///< collective
  Seconds closed_form;                    ///< collective: time without contention (reference engine)
};

struct Program {
  Indexed<StreamId, std::string> streams;  ///< [0] is compute
  Indexed<topologies::RankId, workloads::StageId> stage_of_rank;
  Indexed<topologies::RankId, double> slowdown_of_rank;  ///< compute durations are multiplied by it; 1 is nominal
  Indexed<topologies::RankId, topologies::ChipKindId> chip_of_rank;  ///< empty: chips are of one kind
  /// By kind of chip: the factor by which compute takes longer while it shares its chip.
  Indexed<topologies::ChipKindId, double> shared_slowdown{1.0};
  /// The same beside the transfers of a dispatcher of tokens, which hold multiprocessors of their own number; empty:
  /// none does. Beside both kinds the larger factor holds.
  Indexed<topologies::ChipKindId, double> dispatch_slowdown = {};
  Indexed<topologies::LinkId, BytesPerSecond> links;  ///< capacity, one way
  Indexed<CommunicatorId, collectives::Communicator> communicators;
  Indexed<ProgramOpId, ProgramOp> ops;  ///< in a topological order

  [[nodiscard]] std::int32_t ranks() const { return stage_of_rank.count(); }
  [[nodiscard]] topologies::ChipKindId chip_of(topologies::RankId rank) const {
    return chip_of_rank.empty() ? 0 : chip_of_rank[rank];
  }
  /// A compute operation as it is on a rank's chip, before the rank's own slowdown.
  [[nodiscard]] OnChip on_chip_of(topologies::RankId rank, const ProgramOp& op) const {
    return op.on_chips.empty() ? OnChip{op.duration, op.launched} : op.on_chips[chip_of(rank)];
  }
  [[nodiscard]] std::string to_string() const;  ///< for --dump=program
};

/// Throws InternalError if the program breaks an invariant the engines rely on (ids in range, groups
/// disjoint, predecessors earlier, positive capacities, finite non-negative times).
void check(const Program& program);

}  // namespace lockstep::program
