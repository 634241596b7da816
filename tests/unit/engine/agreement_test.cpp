// Where nothing contends the two engines must agree, whatever the DAG: the flows of a phase cross
// disjoint links, a communicator's collectives share one stream, so
//   T = sum over phases of (latency + max over flows of bytes / capacity)
// is both the closed form and what max-min sharing gives.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "tests/unit/engine/child_run.hpp"
#include "tests/unit/engine/small_program.hpp"

namespace lockstep::test {
namespace {

constexpr std::int32_t rank_count = 8;
constexpr double capacity = 10e9;

class RandomProgram {
 public:
  explicit RandomProgram(unsigned seed) : random_(seed) {}

  Program build() {
    Program program = ranks(rank_count);
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
      }
    }
    program.shared_slowdown = 1 + 0.25 * draw(3);
    for (ProgramOp& op : program.ops) op.shares_chip = draw(3) > 0;
    return program;
  }

 private:
  std::int32_t draw(std::int32_t below) { return static_cast<std::int32_t>(random_() % static_cast<unsigned>(below)); }

  std::vector<std::int32_t> predecessors(const Program& program) {
    std::vector<std::int32_t> chosen;
    const auto count = static_cast<std::int32_t>(program.ops.size());
    for (std::int32_t i = draw(4); i > 0 && count > 0; --i) chosen.push_back(draw(count));
    return chosen;
  }

  /// Groups with one flow per member, on links that no one else uses.
  static void add_rings(Program& program, const std::vector<std::vector<std::int32_t>>& members) {
    std::vector<ProgramGroup> groups;
    for (const std::vector<std::int32_t>& ranks_of_group : members) {
      ProgramGroup group{ranks_of_group, {}};
      for (std::size_t i = 0; i < ranks_of_group.size(); ++i) {
        group.flows.push_back(
            {static_cast<std::int32_t>(i % 2), {add_link(program, capacity), add_link(program, capacity)}});
      }
      groups.push_back(group);
    }
    add_communicator(program, 2, groups);
  }

  void add_random_collective(Program& program) {
    std::vector<Phase> phases;
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

TEST(EnginesAgree, OnRandomContentionFreePrograms) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    const Program program = RandomProgram(seed).build();
    const Spans simgrid = run_in_child(program, EngineKind::simgrid);
    const Spans reference = run_in_child(program, EngineKind::reference);
    ASSERT_EQ(simgrid.values().size(), reference.values().size());
    const double makespan = *std::max_element(reference.values().begin(), reference.values().end());
    for (std::size_t i = 0; i < simgrid.values().size(); ++i) {
      ASSERT_NEAR(simgrid.values()[i], reference.values()[i], 1e-9 * makespan)
          << "seed " << seed << " op " << i / 2 / rank_count << "\n"
          << program.to_string();
    }
  }
}

// The random programs do what the test is about: work overlaps, waits and takes time.
TEST(EnginesAgree, TheRandomProgramsAreNotTrivial) {
  double longest = 0;
  bool not_uniform = false;
  for (unsigned seed = 0; seed < 20; ++seed) {
    const Timeline timeline = run_reference(RandomProgram(seed).build()).timeline;
    longest = std::max(longest, timeline.makespan().value());
    for (std::int32_t op = 0; op < timeline.ops(); ++op) not_uniform = not_uniform || !timeline.uniform(op);
  }
  EXPECT_GT(longest, 20e-6);
  EXPECT_TRUE(not_uniform);
}

/// All flows cross one link, so every start and end moves every other.
Program contended(unsigned seed) {
  Program program = RandomProgram(seed).build();
  for (Communicator& communicator : program.communicators) {
    for (ProgramGroup& group : communicator.groups) {
      for (Flow& flow : group.flows) flow.links.push_back(0);
    }
  }
  return program;
}

TEST(EnginesAgree, ContentionOnlySlowsCollectivesDown) {
  int slower = 0;
  for (unsigned seed = 0; seed < 20; ++seed) {
    const Program program = contended(seed);
    const Spans spans = run_in_child(program, EngineKind::simgrid);
    for (std::int32_t op = 0; op < static_cast<std::int32_t>(program.ops.size()); ++op) {
      const ProgramOp& program_op = program.ops[static_cast<std::size_t>(op)];
      if (program_op.kind != ProgramOp::Kind::collective) continue;
      const double taken = spans.end(op) - spans.start(op);
      ASSERT_GE(taken, program_op.closed_form.value() - 1e-11) << "seed " << seed << " op " << op;
      slower += taken > 1.5 * program_op.closed_form.value() ? 1 : 0;
    }
  }
  EXPECT_GT(slower, 20);
}

/// Flows over several links that others use too, of different capacities, some crossed twice.
Program entangled(unsigned seed) {
  Program program = RandomProgram(seed).build();
  std::mt19937 random(seed);
  for (auto& link : program.links) link = link * (1 + static_cast<double>(random() % 4));
  for (Communicator& communicator : program.communicators) {
    for (ProgramGroup& group : communicator.groups) {
      for (Flow& flow : group.flows) {
        for (int more = 0; more < 3; ++more)
          flow.links.push_back(static_cast<std::int32_t>(random() % program.links.size()));
      }
    }
  }
  return program;
}

// Max-min fair shares of the links are unique, whoever computes them.
TEST(EnginesAgree, MaxMinSharingIsThatOfSimGrid) {
  int slower = 0;
  for (unsigned seed = 0; seed < 200; ++seed) {
    const Program program = seed % 2 == 0 ? contended(seed) : entangled(seed);
    const Spans simgrid = run_in_child(program, EngineKind::simgrid);
    const Spans max_min = run_in_child(program, EngineKind::max_min);
    const double makespan = *std::max_element(simgrid.values().begin(), simgrid.values().end());
    for (std::size_t i = 0; i < simgrid.values().size(); ++i) {
      ASSERT_NEAR(max_min.values()[i], simgrid.values()[i], 1e-9 * makespan)
          << "seed " << seed << " op " << i / 2 / rank_count << "\n"
          << program.to_string();
    }
    const Spans alone = run_in_child(RandomProgram(seed).build(), EngineKind::max_min);
    slower += *std::max_element(alone.values().begin(), alone.values().end()) < makespan * 0.99 ? 1 : 0;
  }
  EXPECT_GT(slower, 50) << "sharing decides";
}

TEST(EnginesAgree, RunsAreBitIdentical) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    const Program program = contended(seed);
    EXPECT_EQ(run_in_child(program, EngineKind::simgrid).values(), run_in_child(program, EngineKind::simgrid).values());
  }
}

}  // namespace
}  // namespace lockstep::test
