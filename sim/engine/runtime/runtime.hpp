#pragma once
/// Runs a Program's DAG on a Network, chain by chain: starts what is ready in (priority, position, rank or group)
/// order as streams allow, and records when everything started and ended.
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "sim/core/indexed.hpp"
#include "sim/engine/runtime/lanes.hpp"
#include "sim/engine/runtime/network.hpp"
#include "sim/engine/runtime/readiness.hpp"
#include "sim/engine/runtime/setup.hpp"
#include "sim/engine/runtime/shared_chips.hpp"
#include "sim/program/program.hpp"
#include "sim/timeline/timeline.hpp"

namespace lockstep::engine {

class Runtime {
 public:
  /// `progress` may be empty. Both references must outlive the runtime.
  Runtime(const Setup& setup, Network& network, std::function<void(double)> progress);

  /// Runs to the end, once. Throws InternalError if operations remain.
  [[nodiscard]] timeline::Timeline run();

  [[nodiscard]] std::int64_t computes() const { return computes_; }  ///< compute operations started
  [[nodiscard]] std::int64_t instants() const { return instants_; }  ///< distinct dates
  [[nodiscard]] std::int32_t chains() const { return chains_.count(); }

 private:
  void take_in(std::span<const Work> completed);
  /// Whether a kernel that shares its chip goes on: it has slowed down since it was dated.
  [[nodiscard]] bool goes_on(Work work);
  void complete(Work work);
  void start_ready();
  void start_or_wait(const Lanes::Offer& offer);
  [[nodiscard]] std::int32_t blocking_lane(const Turn& turn, std::int32_t index) const;
  void start(Work work, const Turn& turn);
  void start_compute(Work work, const Turn& turn);
  void start_on_shared_chip(Work work, std::span<const program::ProgramOpId> members);
  /// When an operation ends that starts on its stream at a date and has the chip to itself.
  [[nodiscard]] Seconds end_of(const program::ProgramOp& op, std::int32_t rank, Seconds start) const;
  void record(ChainId chain, std::int32_t rank, timeline::Interval span);
  /// The ranks a collective's group or a compute operation's rank comes to.
  [[nodiscard]] std::span<const std::int32_t> ranks_of(const Turn& turn, const std::int32_t& index) const;
  [[nodiscard]] std::int32_t lane(std::int32_t rank, std::int32_t stream) const { return numbers_.lane(rank, stream); }
  void report_progress();
  void throw_if_unfinished() const;

  const program::Program& program_;
  Network& network_;
  std::function<void(double)> progress_;
  const LaneNumbers& numbers_;
  const Chains& chains_;
  const Indexed<std::int32_t, Turn>& turns_;
  const Indexed<ChainId, std::int32_t>& turn_of_chain_;
  Indexed<ChainId, std::int32_t> unfinished_;  // instances per chain
  std::int64_t total_ = 0;
  std::int64_t finished_ = 0;
  std::int64_t next_report_ = 0;
  std::int64_t computes_ = 0;
  std::int64_t instants_ = 0;
  Readiness readiness_;
  Lanes lanes_;
  SharedChips chips_;
  std::vector<Seconds> host_waited_until_;  // by rank: when it launched the last operation with host_waits
  std::vector<Seconds> launch_since_;       // by lane: the same when what runs there started
  timeline::Timeline timeline_;
  // Kept between instants only to save allocations.
  std::vector<Instance> ready_;
  std::vector<Lanes::Offer> offers_;
  std::vector<Lanes::Offer> late_offers_;
  std::vector<Work> instantly_done_;
  std::vector<Work> taking_in_;
};

}  // namespace lockstep::engine
