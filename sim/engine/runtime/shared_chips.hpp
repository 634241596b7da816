#pragma once
/// Kernels under way on ranks whose collectives take a part of the chip. While such a collective runs, the kernels run
/// at 1 / Program::shared_slowdown of their speed, beside a dispatcher's transfers at 1 / Program::dispatch_slowdown.
/// When a collective starts or ends, they get new dates; a network cannot withdraw the old dates. Kernels of a chain
/// run one right after the other and have one date, at which the last of them ends.
#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/core/indexed.hpp"
#include "sim/engine/runtime/network.hpp"
#include "sim/program/program.hpp"

namespace lockstep::engine {

class SharedChips {
 public:
  explicit SharedChips(const program::Program& program);
  [[nodiscard]] bool any() const { return !collectives_.empty(); }  ///< whether anything shares a chip

  /// Adds `work`, which takes `alone` without collectives beside it and starts at `from`, which may be later than now;
  /// `redate` sets when it ends.
  void kernel_starts(std::int32_t rank, std::int32_t stream, Work work, Seconds alone, Seconds from);
  /// Adds a kernel to the chain that has started on that stream at this instant; it starts when the one before it ends,
  /// but not before `from`.
  void kernel_follows(std::int32_t rank, std::int32_t stream, Seconds alone, Seconds from);
  /// Whether the chain on that stream ends at this date; false if the date is an old one that was replaced.
  [[nodiscard]] bool ends(std::int32_t rank, std::int32_t stream, Work work, Seconds now);
  /// When the kernels of the chain that ended last on that stream ended, all but the last of them.
  [[nodiscard]] const std::vector<Seconds>& inner_ends(std::int32_t rank, std::int32_t stream) const {
    return chains_[lane(rank, stream)].inner_ends;
  }

  /// `dispatches`: as ProgramOp::dispatches.
  void collective_starts(std::int32_t rank, bool dispatches);
  void collective_ends(std::int32_t rank, bool dispatches);

  /// To be called at the end of an instant: gives the network new end dates of the kernels whose speed has changed.
  void redate(Network& network);

 private:
  struct Kernel {
    double alone_s, from_s;
  };
  /// Dates of inner kernels are computed, to the last bit, as if each kernel were a chain of its own: stages whose
  /// kernels and sends slow each other down make much of a rounding.
  struct alignas(64) Chain {  // what every end of a kernel looks at comes first, in one line of the cache
    Work work{none, 0};
    double ends_s = 0;   // the last of them
    double pace = 0;     // seconds for one of them; 0: it has no date yet
    double dated_s = 0;  // when it started or its pace changed; it may still wait for its launch then
    double since_s = 0;
    double left_s = 0;        // of what the running one takes alone, at `since_s`
    std::size_t running = 0;  // among them
    std::vector<Kernel> kernels;
    std::vector<Seconds> inner_ends;

    [[nodiscard]] bool is_in_last() const { return running + 1 == kernels.size(); }
    [[nodiscard]] double end_of_running_s() const;
    [[nodiscard]] double end_of_last_s() const;
    void take_next(double end_s);  ///< the running kernel ends, and the next one runs
    void change_pace(double new_pace, double now_s);
  };
  static constexpr std::int32_t none = -1;

  /// Where the chain on a stream of a rank stands. Few of a program's streams run kernels that slow down, and those of
  /// a rank lie next to each other: every collective that starts or ends looks at them.
  [[nodiscard]] std::size_t lane(std::int32_t rank, std::int32_t stream) const {
    return position_of(rank) * lanes_ + place_[stream];
  }
  void touch(std::int32_t rank);
  [[nodiscard]] double pace_of(std::size_t rank) const;

  std::vector<double> slowdowns_;                  // by rank
  Indexed<program::StreamId, std::size_t> place_;  // among the lanes of a rank, in the order of streams
  std::size_t lanes_ = 0;                          // of each rank
  std::vector<Chain> chains_;                      // by lane
  std::vector<std::int32_t> collectives_;          // by rank: under way
  std::vector<double> dispatch_slowdowns_;         // by rank; both empty where no dispatcher has a number of its own
  std::vector<std::int32_t> dispatches_;
  std::vector<std::int32_t> touched_;  // ranks on which something started or ended at this instant
  std::vector<bool> is_touched_;
};

}  // namespace lockstep::engine
