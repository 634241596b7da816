#pragma once
/// Recorded jobs made by hand, whose replays can be told in advance.
#include <string>
#include <utility>

#include <spdlog/logger.h>

#include "sim/core/errors.hpp"
#include "sim/studies/replay/replay.hpp"

namespace lockstep::test {

[[nodiscard]] inline Seconds micros(double count) { return Seconds(count * 1e-6); }

/// A job of ranks with one stream for kernels and one for collectives; events are graphs unless they get dates. A
/// reference to an event holds until the next one of its rank is made.
struct Job {
  explicit Job(std::int32_t ranks) {
    job.dated = false;
    job.world = ranks;
    job.names = {"event"};
    job.groups = {{"all", "dp", {}, ranks}};
    for (std::int32_t rank = 0; rank < ranks; ++rank) {
      auto& made = job.ranks.emplace_back();
      made.rank = rank;
      made.file = "rank" + std::to_string(rank);
      made.streams = {"compute", "communication"};
      job.groups[0].ranks.push_back(rank);
    }
  }

  workloads::RecordedEvent& kernel(std::size_t rank, double seconds) {
    auto& event = job.ranks[rank].events.emplace_back();
    event.duration = Seconds(seconds);
    return event;
  }

  workloads::RecordedEvent& collective(std::size_t rank, double seconds,
                                       workloads::CollectiveKind kind = workloads::CollectiveKind::all_reduce) {
    auto& recorded = job.ranks[rank];
    workloads::RecordedCollective made;
    made.kind = kind;
    made.buffer = Bytes(1000);
    auto& event = kernel(rank, seconds);
    event.kind = workloads::RecordedEvent::Kind::collective;
    event.stream = 1;
    event.collective = recorded.collectives.count();
    recorded.collectives.push_back(made);
    return event;
  }

  /// Of a dated job, in microseconds of its rank's clock.
  workloads::RecordedEvent& kernel_at(std::size_t rank, double start, double duration) {
    job.dated = true;
    auto& event = kernel(rank, micros(duration).value());
    event.start = micros(start);
    return event;
  }
  workloads::RecordedEvent& collective_at(std::size_t rank, double start, double duration) {
    job.dated = true;
    auto& event = collective(rank, micros(duration).value());
    event.start = micros(start);
    return event;
  }

  /// One rank's side of a transfer.
  workloads::RecordedEvent& sends(std::size_t rank, std::int32_t peer, double seconds) {
    return transfers(rank, peer, seconds, workloads::RecordedCollective::Role::sends);
  }
  workloads::RecordedEvent& receives(std::size_t rank, std::int32_t peer, double seconds) {
    return transfers(rank, peer, seconds, workloads::RecordedCollective::Role::receives);
  }

  /// What the last collective of a rank is.
  workloads::RecordedCollective& last(std::size_t rank) { return job.ranks[rank].collectives.back(); }

  [[nodiscard]] replay::Replay run(const replay::ReplayOptions& options = {}) const {
    spdlog::logger log("test");
    return replay::replay_job(job, options, log);
  }

  /// Why the job cannot be replayed so; "" if it can.
  [[nodiscard]] std::string refusal(const replay::ReplayOptions& options = {}) const {
    try {
      (void)run(options);
    } catch (const ConfigError& error) {
      return error.what();
    }
    return "";
  }

  workloads::RecordedJob job;

 private:
  workloads::RecordedEvent& transfers(std::size_t rank, std::int32_t peer, double seconds,
                                      workloads::RecordedCollective::Role role) {
    auto& event = collective(rank, seconds, workloads::CollectiveKind::point_to_point);
    last(rank).role = role;
    last(rank).peer = peer;
    return event;
  }
};

}  // namespace lockstep::test
