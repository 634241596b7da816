#pragma once
/// Which operations are ready: counts, for every (operation, rank), the predecessors still to end
/// there, and for every (collective, group) the members still to become ready.
#include <cstdint>
#include <vector>

#include "sim/program/program.hpp"

namespace lockstep::engine {

/// An operation on one rank, or in one group of its communicator.
struct Instance {
  std::int32_t op;
  std::int32_t index;
};

class Readiness {
 public:
  explicit Readiness(const program::Program& program);

  /// Instances that wait for nothing.
  [[nodiscard]] std::vector<Instance> at_outset();

  /// Operation `op` ended on `rank`: appends the instances that became ready.
  void ended(std::int32_t op, std::int32_t rank, std::vector<Instance>& ready);

 private:
  void count_predecessors();
  void list_successors();
  void became_ready(std::int32_t op, std::int32_t rank, std::vector<Instance>& ready);

  const program::Program& program_;
  std::size_t ranks_;
  // A set of ranks per stage and per communicator, as bytes; operations share them.
  std::vector<std::vector<std::uint8_t>> rank_sets_;
  std::vector<std::size_t> set_of_op_;
  // Per communicator: a rank's group.
  std::vector<std::vector<std::int32_t>> group_of_rank_;
  // Op-major, so that a batch of ranks that end one operation walks memory in order. An operation
  // has at most 65535 predecessors (see check), so the count of a rank that takes no part, which
  // starts at 0 and wraps, never comes back to 0.
  std::vector<std::uint16_t> predecessors_left_;
  std::vector<std::int32_t> successors_;       // compressed rows
  std::vector<std::size_t> successors_begin_;  // per op, one past the end included
  std::vector<std::int32_t> members_left_;     // per (collective, group)
  std::vector<std::size_t> members_left_begin_;
};

}  // namespace lockstep::engine
