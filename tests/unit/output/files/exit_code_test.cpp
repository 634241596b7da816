// How the program ends: 2 is the user's mistake, 70 ours, 71 a machine that is used up, 74 a full disk (sysexits.h has
// the last ones as EX_SOFTWARE, EX_OSERR and EX_IOERR). Every message is one on stderr that steers no terminal.
#include "tools/output/files/exit_code.hpp"

#include <gtest/gtest.h>

#include <new>
#include <system_error>

#include "sim/core/errors.hpp"
#include "sim/studies/isolated.hpp"
#include "tools/output/files/out_of_room.hpp"

namespace lockstep {
namespace {

struct Ending {
  int code;
  std::string told;
};

template <class Error>
Ending ending_of(const Error& error) {
  testing::internal::CaptureStderr();
  int code = 0;
  try {
    throw error;
  } catch (...) {
    code = output::exit_code_of_error("lockstep");
  }
  return {code, testing::internal::GetCapturedStderr()};
}

TEST(ExitCode, AMistakeOfTheUserStandsAtItsPlace) {
  const auto ending = ending_of(ConfigError({{{"a.yaml", 3, 5}, "model.layers", "is zero", "at least 1"}}));
  EXPECT_EQ(ending.code, 2);
  EXPECT_EQ(ending.told, "a.yaml:3:5: model.layers: is zero; expected at least 1\n");
}

TEST(ExitCode, OursIsAnInternalError) {
  for (const auto& ending :
       {ending_of(InternalError("a hole in a timeline")), ending_of(std::out_of_range("a hole in a timeline"))}) {
    EXPECT_EQ(ending.code, 70);
    EXPECT_EQ(ending.told, "lockstep: internal error: a hole in a timeline\n");
  }
}

TEST(ExitCode, AMachineThatIsUsedUp) {
  EXPECT_EQ(ending_of(std::bad_alloc()).code, 71);
  EXPECT_EQ(ending_of(std::bad_alloc()).told, "lockstep: out of memory\n");
  EXPECT_EQ(ending_of(studies::OutOfResources("no process left")).code, 71);
  EXPECT_EQ(ending_of(studies::OutOfResources("no process left")).told, "lockstep: no process left\n");
  for (const auto why : {std::errc::resource_unavailable_try_again, std::errc::not_enough_memory})
    EXPECT_EQ(ending_of(std::system_error(std::make_error_code(why))).code, 71);
  EXPECT_EQ(ending_of(std::system_error(std::make_error_code(std::errc::bad_file_descriptor))).code, 70);
}

TEST(ExitCode, AFullDisk) {
  const auto ending = ending_of(output::OutOfRoom("a.json: the disk is full"));
  EXPECT_EQ(ending.code, 74);
  EXPECT_EQ(ending.told, "a.json: the disk is full\n");
}

TEST(ExitCode, MessagesSteerNoTerminal) {
  EXPECT_EQ(ending_of(InternalError("\x1b[2Jwiped")).told, "lockstep: internal error: \\x1b[2Jwiped\n");
  testing::internal::CaptureStderr();
  output::tell("two\nlines\a");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "two\nlines\\x07");
}

}  // namespace
}  // namespace lockstep
