// Children that simulate: what they answer, and what is said of machines that have no room for them.
#include "sim/studies/isolated.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spdlog/logger.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <new>

namespace lockstep {
namespace {

using testing::HasSubstr;

template <class Error>
std::string refusal(const std::function<std::string()>& work) {
  try {
    return "answered " + studies::in_child(work);
  } catch (const Error& error) {
    return error.what();
  }
}

/// Room in this process for so much and no more.
void limit(int what, rlim_t most) {
  const ::rlimit limits{most, most};
  ASSERT_EQ(::setrlimit(static_cast<decltype(RLIMIT_AS)>(what), &limits), 0);
}

TEST(Isolated, AnswersAndMistakesComeThrough) {
  EXPECT_EQ(studies::in_child([] { return std::string("forty-two"); }), "forty-two");
  EXPECT_EQ(refusal<ConfigError>([]() -> std::string {
              throw ConfigError({{{"a.yaml", 3, 5}, "key", "is wrong", "another"}});
            }),
            "a.yaml:3:5: key: is wrong; expected another");
  EXPECT_EQ(refusal<InternalError>([]() -> std::string { throw InternalError("a bug"); }), "a bug");
}

TEST(Isolated, TooLittleMemoryIsToldAsSuch) {
  EXPECT_THAT(refusal<studies::OutOfResources>([]() -> std::string { throw std::bad_alloc(); }),
              HasSubstr("not enough memory for a simulation"));
#if !defined(__SANITIZE_ADDRESS__)
  EXPECT_THAT(refusal<studies::OutOfResources>([] {
                limit(RLIMIT_AS, rlim_t{256} << 20);
                return std::string(std::size_t{1} << 30, 'x').substr(0, 1);
              }),
              HasSubstr("not enough memory for a simulation"));
#endif
}

// The kernel kills who has taken too much; whoever ends by another signal has a bug.
TEST(Isolated, KilledIsNotABugAbortedIs) {
  EXPECT_THAT(refusal<studies::OutOfResources>([]() -> std::string {
                std::raise(SIGKILL);
                return "";
              }),
              HasSubstr("was killed (signal 9)"));
  EXPECT_THAT(refusal<studies::ProcessDied>([]() -> std::string {
                limit(RLIMIT_CORE, 0);
                std::abort();
              }),
              HasSubstr("signal 6"));
}

// A child that may open no file more has no way to a child of its own, and says so to its parent.
TEST(Isolated, NoProcessLeftIsToldAsSuch) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "the undefined-behaviour sanitizer needs a pipe of its own to look at an exception";
#endif
  EXPECT_THAT(refusal<studies::OutOfResources>([] {
                limit(RLIMIT_NOFILE, 3);
                return studies::in_child([] { return std::string(); });
              }),
              AllOf(HasSubstr("the system starts no process for a simulation: "), HasSubstr("--jobs")));
}

/// What `count` pieces of work answer, one process at a time: of a piece without an answer what is thrown.
std::vector<std::string> answers(std::size_t count, const std::function<std::string(std::size_t)>& work) {
  std::vector<std::string> result(count);
  studies::in_children(count, 1, work, [&](std::size_t piece, const studies::Answer& answer) {
    try {
      result[piece] = answer.text();
    } catch (const std::exception& error) {
      result[piece] = error.what();
    }
  });
  return result;
}

// One process does all of the work, the memory of its last piece still in hand.
TEST(Isolated, ManyPiecesOfWorkShareAProcess) {
  const auto processes = answers(3, [](std::size_t) { return std::to_string(::getpid()); });
  EXPECT_EQ(processes[0], processes[1]);
  EXPECT_EQ(processes[0], processes[2]);
  EXPECT_NE(processes[0], std::to_string(::getpid()));
}

// A mistake ends a piece of work; a process that dies takes no other piece with it.
TEST(Isolated, EachPieceOfWorkFailsAlone) {
  const auto told = answers(4, [](std::size_t piece) -> std::string {
    if (piece == 0) throw ConfigError({{{"a.yaml", 3, 5}, "key", "is wrong", "another"}});
    if (piece == 2) std::raise(SIGKILL);
    return "answer " + std::to_string(piece);
  });
  EXPECT_EQ(told[0], "a.yaml:3:5: key: is wrong; expected another");
  EXPECT_EQ(told[1], "answer 1");
  EXPECT_THAT(told[2], HasSubstr("was killed (signal 9)"));
  EXPECT_EQ(told[3], "answer 3");
}

// Answers longer than what a pipe holds come through whole.
TEST(Isolated, LongAnswersComeThrough) {
  const auto told = answers(2, [](std::size_t piece) { return std::string(1'000'000 + piece, 'x'); });
  EXPECT_EQ(told[0].size(), 1'000'000U);
  EXPECT_EQ(told[1].size(), 1'000'001U);
}

// SimGrid runs once in a process, so each piece that runs it gets a process of its own.
TEST(Isolated, WorkOnSimGridGetsAProcessEach) {
  const auto scenario = scenario::load_scenario(scenario::data_root() / "scenarios/llama2-13b-dp.yaml");
  spdlog::logger silent("test");
  engine::load(engine::EngineKind::simgrid);
  const auto steps = answers(2, [&](std::size_t) {
    SimulateOptions options;
    options.engine = engine::EngineKind::simgrid;
    return std::to_string(simulate(scenario, options, silent).metrics.step_time.value());
  });
  EXPECT_EQ(steps[0], steps[1]);
  EXPECT_GT(std::stod(steps[0]), 0);
}

}  // namespace
}  // namespace lockstep
