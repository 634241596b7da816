// Children that simulate: what they answer, and what is said of machines that have no room for them.
#include "sim/studies/isolated.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

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

}  // namespace
}  // namespace lockstep
