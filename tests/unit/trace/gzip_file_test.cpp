#include "tools/trace/gzip_file.hpp"

#include <gtest/gtest.h>

#include <fstream>

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
  output::NewFiles files;
  trace::GzipFile file(files.open(folder / "a.gz"));
  for (int i = 0; i < 100'000; ++i) {
    const auto piece = std::to_string(i) + (i % 7 == 0 ? "" : std::string("\n\0x", 3));
    file.write(piece);
    expected += piece;
  }
  file.write("");
  file.finish();
  files.finish();
  EXPECT_EQ(gunzip(folder / "a.gz"), expected);
  EXPECT_EQ(files_in(folder), 1u);
}

TEST(GzipFile, AppearsOnlyWhenFinished) {
  const auto folder = empty_folder("unfinished");
  std::ofstream(folder / "a.gz") << "the older one";
  {
    output::NewFiles files;
    trace::GzipFile file(files.open(folder / "a.gz"));
    file.write("half");
    EXPECT_EQ(bytes_of(folder / "a.gz"), "the older one");
  }
  EXPECT_EQ(bytes_of(folder / "a.gz"), "the older one");
  EXPECT_EQ(files_in(folder), 1u);
  output::NewFiles files;
  trace::GzipFile file(files.open(folder / "a.gz"));
  file.write("whole");
  file.finish();
  EXPECT_EQ(bytes_of(folder / "a.gz"), "the older one");
  files.finish();
  EXPECT_EQ(gunzip(folder / "a.gz"), "whole");
}

}  // namespace
}  // namespace lockstep
