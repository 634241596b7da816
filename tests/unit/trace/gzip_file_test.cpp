#include "tools/trace/gzip_file.hpp"

#include <gtest/gtest.h>

#include <fstream>

#include "sim/core/errors.hpp"
#include "tests/unit/trace/simulated.hpp"
#include "tests/unit/trace/trace_reader.hpp"

namespace lockstep {
namespace {

std::size_t files_in(const std::filesystem::path& folder) {
  return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(folder), {}));
}

std::filesystem::path empty_folder(const std::string& name) {
  const auto folder = scratch(name);
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  return folder;
}

TEST(GzipFile, HoldsWhatWasWritten) {
  const auto folder = empty_folder("whole");
  std::string expected;
  GzipFile file(folder / "a.gz");
  for (int i = 0; i < 100'000; ++i) {
    const auto piece = std::to_string(i) + (i % 7 == 0 ? "" : std::string("\n\0x", 3));
    file.write(piece);
    expected += piece;
  }
  file.write("");
  file.finish();
  EXPECT_EQ(gunzip(folder / "a.gz"), expected);
  EXPECT_EQ(files_in(folder), 1u);
}

TEST(GzipFile, AppearsOnlyWhenFinished) {
  const auto folder = empty_folder("unfinished");
  std::ofstream(folder / "a.gz") << "the older one";
  {
    GzipFile file(folder / "a.gz");
    file.write("half");
    EXPECT_EQ(bytes_of(folder / "a.gz"), "the older one");
  }
  EXPECT_EQ(bytes_of(folder / "a.gz"), "the older one");
  EXPECT_EQ(files_in(folder), 1u);
  GzipFile file(folder / "a.gz");
  file.write("whole");
  file.finish();
  EXPECT_EQ(gunzip(folder / "a.gz"), "whole");
}

TEST(GzipFile, AFolderThatIsNotThereIsTheUsersProblem) {
  const auto folder = empty_folder("missing");
  try {
    GzipFile file(folder / "nowhere" / "a.gz");
    FAIL() << "no error";
  } catch (const ConfigError& error) {
    ASSERT_EQ(error.problems().size(), 1u);
    EXPECT_EQ(error.problems().front().where.file, (folder / "nowhere" / "a.gz").string());
  }
}

TEST(GzipFile, AFolderInItsPlaceLeavesNothingBehind) {
  const auto folder = empty_folder("taken");
  std::filesystem::create_directories(folder / "a.gz" / "full");
  GzipFile file(folder / "a.gz");
  file.write("text");
  EXPECT_THROW(file.finish(), ConfigError);
  EXPECT_EQ(files_in(folder), 1u);
}

}  // namespace
}  // namespace lockstep
