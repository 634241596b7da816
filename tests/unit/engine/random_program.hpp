#pragma once
/// Programs of a few dozen operations drawn at random, on eight ranks of two stages.
#include <algorithm>
#include <random>
#include <vector>

#include "tests/unit/engine/small_program.hpp"

namespace lockstep::test {

inline constexpr std::int32_t rank_count = 8;
inline constexpr double capacity = 10e9;

/// Nothing contends: every flow has links of its own, and the collectives of a communicator share one stream.
class RandomProgram {
 public:
  explicit RandomProgram(unsigned seed) : random_(seed) {}

  program::Program build() {
    program::Program program = ranks(rank_count);
    for (double& slowdown : program.slowdown_of_rank) slowdown = draw(3) == 0 ? 1.25 : 1.0;
    for (std::size_t rank = rank_count / 2; rank < rank_count; ++rank) program.stage_of_rank[rank] = 1;
    add_rings(program, {{0, 1, 2, 3}, {4, 5, 6, 7}});
    add_rings(program, {{0, 4}, {1, 5}, {2, 6}});
    const std::int32_t ops = 10 + draw(40);
    for (std::int32_t op = 0; op < ops; ++op) {
      if (draw(3) == 0) {
        add_random_collective(program);
      } else {
        // Few distinct durations: many things end at one instant.
        add_compute(program, 1e-6 * draw(4), predecessors(program), draw(3), 0, draw(2));
        if (draw(4) == 0) program.ops.back().launched = Seconds(1e-6 * draw(20));
        program.ops.back().host_waits = draw(8) == 0;
      }
    }
    program.shared_slowdown = {1 + 0.25 * draw(3)};
    for (program::ProgramOp& op : program.ops) op.shares_chip = draw(3) > 0;
    return program;
  }

 private:
  std::int32_t draw(std::int32_t below) { return static_cast<std::int32_t>(random_() % static_cast<unsigned>(below)); }

  std::vector<std::int32_t> predecessors(const program::Program& program) {
    std::vector<std::int32_t> chosen;
    const auto count = static_cast<std::int32_t>(program.ops.size());
    for (std::int32_t i = draw(4); i > 0 && count > 0; --i) chosen.push_back(draw(count));
    return chosen;
  }

  /// Groups with one flow per member, on links that no one else uses.
  static void add_rings(program::Program& program, const std::vector<std::vector<std::int32_t>>& members) {
    std::vector<collectives::ProgramGroup> groups;
    for (const std::vector<std::int32_t>& ranks_of_group : members) {
      collectives::ProgramGroup group{ranks_of_group, {}};
      for (std::size_t i = 0; i < ranks_of_group.size(); ++i) {
        group.flows.push_back(
            {static_cast<std::int32_t>(i % 2), {add_link(program, capacity), add_link(program, capacity)}});
      }
      groups.push_back(group);
    }
    add_communicator(program, 2, groups);
  }

  void add_random_collective(program::Program& program) {
    std::vector<collectives::Phase> phases;
    double closed_form = 0;
    for (std::int32_t phase = draw(4); phase > 0; --phase) {
      phases.push_back({Seconds(1e-6 * draw(3)), {1e4 * draw(3), 1e4 * draw(3)}});
      closed_form +=
          phases.back().latency.value() + std::max(phases.back().slot_bytes[0], phases.back().slot_bytes[1]) / capacity;
    }
    const std::int32_t communicator = draw(2);
    add_collective(program, communicator, phases, predecessors(program), draw(3), 1 + communicator);
    program.ops.back().closed_form = Seconds(closed_form);
  }

  std::mt19937 random_;
};

/// All flows cross one link, so every start and end moves every other.
inline program::Program contended(unsigned seed) {
  program::Program program = RandomProgram(seed).build();
  for (collectives::Communicator& communicator : program.communicators) {
    for (collectives::ProgramGroup& group : communicator.groups) {
      for (collectives::Flow& flow : group.flows) flow.links.push_back(0);
    }
  }
  return program;
}

/// Flows over several links that others use too, of different capacities, some crossed twice.
inline program::Program entangled(unsigned seed) {
  program::Program program = RandomProgram(seed).build();
  std::mt19937 random(seed);
  for (auto& link : program.links) link = link * (1 + static_cast<double>(random() % 4));
  for (collectives::Communicator& communicator : program.communicators) {
    for (collectives::ProgramGroup& group : communicator.groups) {
      for (collectives::Flow& flow : group.flows) {
        for (int more = 0; more < 3; ++more)
          flow.links.push_back(static_cast<std::int32_t>(random() % program.links.size()));
      }
    }
  }
  return program;
}

}  // namespace lockstep::test
