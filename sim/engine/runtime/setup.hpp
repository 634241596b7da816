#pragma once
/// All that a run asks of a program before its first instant, and that does not change while the program runs.
#include <memory>
#include <span>

#include "sim/core/indexed.hpp"
#include "sim/engine/runtime/chains.hpp"
#include "sim/engine/runtime/dependences.hpp"
#include "sim/engine/runtime/lane_numbers.hpp"
#include "sim/program/program.hpp"

namespace lockstep::engine {

/// What is asked of a chain at each of its starts and ends, side by side: a step has as many of them as ranks times
/// chains.
struct Turn {
  ChainId chain;
  program::ProgramOpId first;
  program::CommunicatorId communicator;  ///< Dependences::no_communicator: it computes
  bool shares_chip;
  bool dispatches;
  std::span<const program::StreamId> streams;
  [[nodiscard]] bool computes() const { return communicator == Dependences::no_communicator; }
};

struct Setup {
  /// The program must outlive it; it is not checked here.
  Setup(const program::Program& of, Chains made);

  const program::Program& program;
  LaneNumbers lanes;
  Chains chains;
  Indexed<std::int32_t, Turn> turns;  ///< chains by priority, those of one priority in the program's order
  Indexed<ChainId, std::int32_t> turn_of_chain;
  std::shared_ptr<const Dependences> dependences;
};

}  // namespace lockstep::engine
