#pragma once
/// Why operations started when they did: the engine starts an operation at the instant at which the last thing that
/// it waited for ended, so every start has an end to blame.
#include <cstdint>
#include <map>
#include <vector>

#include "sim/core/indexed.hpp"
#include "sim/program/program.hpp"
#include "sim/timeline/timeline.hpp"

namespace lockstep::metrics {

struct Blocker {
  enum class Why {
    none,   ///< nothing: it began with the step
    needs,  ///< a predecessor in the program
    stream  ///< it was ready before, but one of its streams was taken
  };
  Why why = Why::none;
  std::int32_t op = -1;
  std::int32_t rank =
      -1;  ///< one that `op` ran on: the same rank if that was as late as any, else another of its group
};

/// Looks at a program's timeline backwards. Keeps references.
class Blockers {
 public:
  Blockers(const program::Program& program, const timeline::Timeline& timeline)
      : program_(program), timeline_(timeline), group_of_rank_(program.communicators.size()) {}

  /// The operation that ended last before `op` started on `rank` and on the ranks that started it together with `rank`.
  [[nodiscard]] Blocker of(std::int32_t op, std::int32_t rank);

 private:
  [[nodiscard]] Blocker last_predecessor(std::int32_t op, std::int32_t rank, Seconds& end);
  [[nodiscard]] Blocker on_streams(std::int32_t op, std::int32_t rank, Seconds until);
  /// The rank itself, then the others of its group.
  template <class Look>
  void for_each_starter(std::int32_t op, std::int32_t rank, Look look);
  [[nodiscard]] const collectives::ProgramGroup& group_of(std::int32_t communicator, std::int32_t rank);
  using Ends = std::vector<std::pair<Seconds, std::int32_t>>;
  using EndsOfStreams = Indexed<program::StreamId, Ends>;
  [[nodiscard]] const EndsOfStreams& ends_on(std::int32_t rank);

  const program::Program& program_;
  const timeline::Timeline& timeline_;
  Indexed<program::CommunicatorId, Indexed<std::int32_t, collectives::GroupId>>
      group_of_rank_;                           ///< by communicator, made when asked for
  std::map<std::int32_t, EndsOfStreams> ends_;  ///< by rank, made when asked for; by stream: ends of what takes time
};

}  // namespace lockstep::metrics
