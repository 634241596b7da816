// A Program that breaks an invariant is refused before an engine sees it; each case breaks one.
#include "sim/program/program.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <limits>

#include "sim/core/errors.hpp"
#include "tests/unit/engine/small_program.hpp"

namespace lockstep::test {
namespace {

using ::testing::HasSubstr;

program::Program valid() {
  program::Program program = ranks(2);
  add_link(program, 1e9);
  const std::int32_t pair = add_communicator(program, 1, {{{0, 1}, {{0, {0}}}}});
  const std::int32_t compute = add_compute(program, 1);
  add_collective(program, pair, {{Seconds(1e-6), {1e6}}}, {compute});
  return program;
}

TEST(ProgramCheck, AcceptsAValidProgram) { EXPECT_NO_THROW(check(valid())); }

struct Breakage {
  const char* message;
  std::function<void(program::Program&)> apply;
};

/// Breaks the one phase of the one collective.
std::function<void(program::Program&)> with_phase(const std::function<void(collectives::Phase&)>& change) {
  return [change](program::Program& program) {
    auto phases = program.ops[1].phases.items();
    change(phases[0]);
    program.ops[1].phases = phases;
  };
}

TEST(ProgramCheck, RefusesEveryBrokenInvariant) {
  const double infinite = std::numeric_limits<double>::infinity();
  const std::vector<Breakage> breakages{
      {"streams: there are none", [](program::Program& p) { p.streams.clear(); }},
      {"slowdown_of_rank: not one entry per rank", [](program::Program& p) { p.slowdown_of_rank.pop_back(); }},
      {"shared_slowdown: is not a finite number from 1 up", [](program::Program& p) { p.shared_slowdown = {0.5}; }},
      {"rank 1: slowdown is not positive", [](program::Program& p) { p.slowdown_of_rank[1] = 0; }},
      {"link 0: capacity is not positive", [](program::Program& p) { p.links[0] = BytesPerSecond(-1); }},
      {"link 0: capacity is not positive", [&](program::Program& p) { p.links[0] = BytesPerSecond(infinite); }},
      {"communicator c0: a group has no members",
       [](program::Program& p) { p.communicators[0].groups[0].members.clear(); }},
      {"communicator c0: a member is not a rank",
       [](program::Program& p) { p.communicators[0].groups[0].members[1] = 2; }},
      {"communicator c0: a rank is a member twice",
       [](program::Program& p) { p.communicators[0].groups[0].members[1] = 0; }},
      {"communicator c0: a rank is a member twice",
       [](program::Program& p) {
         p.communicators[0].groups.push_back({{1}, {}});
       }},
      {"communicator c0: a flow's slot is out of range",
       [](program::Program& p) { p.communicators[0].groups[0].flows[0].slot = 1; }},
      {"communicator c0: a flow crosses no link",
       [](program::Program& p) { p.communicators[0].groups[0].flows[0].links.clear(); }},
      {"communicator c0: a flow crosses a link that does not exist",
       [](program::Program& p) { p.communicators[0].groups[0].flows[0].links[0] = 1; }},
      {"op 0: occupies no stream", [](program::Program& p) { p.ops[0].streams = {}; }},
      {"op 0: a stream does not exist", [](program::Program& p) { p.ops[0].streams = {3}; }},
      {"op 0: names a stream twice",
       [](program::Program& p) {
         p.ops[0].streams = {1, 1};
       }},
      {"op 1: a predecessor is not an earlier op", [](program::Program& p) { p.ops[1].predecessors[0] = 1; }},
      {"op 0: a predecessor is not an earlier op", [](program::Program& p) { p.ops[0].predecessors = {-1}; }},
      {"op 1: more than 65535 predecessors", [](program::Program& p) { p.ops[1].predecessors.assign(65536, 0); }},
      {"op 0: duration is not finite and non-negative",
       [&](program::Program& p) { p.ops[0].duration = Seconds(infinite); }},
      {"op 1: communicator does not exist", [](program::Program& p) { p.ops[1].communicator = -1; }},
      {"op 1: closed form is not finite and non-negative",
       [](program::Program& p) { p.ops[1].closed_form = Seconds(-1); }},
      {"op 1: a latency is not finite and non-negative",
       with_phase([](collectives::Phase& phase) { phase.latency = Seconds(-1); })},
      {"op 1: a phase does not have its communicator's slots",
       with_phase([](collectives::Phase& phase) { phase.slot_bytes.clear(); })},
      {"op 1: bytes are not finite and non-negative",
       with_phase([](collectives::Phase& phase) { phase.slot_bytes[0] = -1; })},
  };
  for (const Breakage& breakage : breakages) {
    program::Program program = valid();
    breakage.apply(program);
    try {
      check(program);
      ADD_FAILURE() << "accepted: " << breakage.message;
    } catch (const InternalError& error) {
      EXPECT_EQ(std::string(error.what()), std::string("program: ") + breakage.message);
    }
  }
}

TEST(ProgramDump, NamesEverythingOnce) {
  EXPECT_EQ(valid().to_string(),
            "ranks 2, links 1\n"
            "streams compute comm0 comm1\n"
            "communicator c0: 1 groups, 1 flows, 1 slots\n"
            "0: compute stage 0 1 s vertex 0 priority 0 streams [0] after []\n"
            "1: collective c0 closed form 0 s phases (1e-06 s + 1e+06 B) vertex 1 priority 0 streams [1] after [0]\n");
}

TEST(ProgramDump, StaysShort) {
  program::Program program = ranks(1);
  for (int op = 0; op < 1000; ++op) add_compute(program, 1);
  EXPECT_THAT(program.to_string(), HasSubstr("... 700 more ops\n"));
}

}  // namespace
}  // namespace lockstep::test
