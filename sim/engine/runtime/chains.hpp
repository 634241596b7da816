#pragma once
/// Compute operations that run one right after the other on a stream of a rank. A chain of them takes the place of one
/// operation in the runtime, which starts it, ends it and wakes up who waits for it; when its members started and ended
/// follows from how long each takes, and from the collectives that slow it down. Two operations that follow each other
/// on a stream belong to one chain if
///   1. no other operation can take the stream in between: it runs single compute operations of one stage only, and all
///      others of them come before the first or after the second by dependencies among operations of the stream;
///   2. the second waits for nothing but operations that its stream has waited for already;
///   3. no operation of another stream waits for the first, unless it also waits for the second or a later one; and
///   4. both slow down beside collectives and take time, or neither slows down.
/// So the second starts at the instant at which the first ends, whatever the other ranks do.
#include <cstdint>
#include <span>
#include <vector>

#include "sim/core/indexed.hpp"
#include "sim/program/program.hpp"

namespace lockstep::engine {

using ChainId = std::int32_t;

class Chains {
 public:
  /// Chains as long as they can be.
  [[nodiscard]] static Chains longest(const program::Program& program);
  /// Every operation by itself, with its position as the number of its chain.
  [[nodiscard]] static Chains each_alone(const program::Program& program);

  /// Chains are numbered in the order of their first operations. A collective is always alone.
  [[nodiscard]] std::int32_t count() const { return begin_.count() - 1; }
  [[nodiscard]] std::span<const program::ProgramOpId> members(ChainId chain) const {
    return {members_.data() + begin_[chain], members_.data() + begin_[position_of(chain) + 1]};
  }
  [[nodiscard]] program::ProgramOpId first(ChainId chain) const { return members_[begin_[chain]]; }
  [[nodiscard]] ChainId of(program::ProgramOpId op) const { return of_op_[op]; }

 private:
  /// By operation: the one that continues its chain; -1: none does.
  explicit Chains(const Indexed<program::ProgramOpId, program::ProgramOpId>& next);

  std::vector<program::ProgramOpId> members_;  ///< of one chain after the other
  Indexed<ChainId, std::size_t> begin_;        ///< in members_, and the end of the last
  Indexed<program::ProgramOpId, ChainId> of_op_;
};

}  // namespace lockstep::engine
