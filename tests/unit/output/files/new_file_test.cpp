// Files appear whole or not at all: they are written beside their place and renamed when all is there. Whatever ends
// the program before, an error or a signal, leaves the folder as it was.
#include "tools/output/files/new_file.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <functional>

#include "tests/unit/scratch_folder.hpp"
#include "tools/output/files/out_of_room.hpp"

namespace lockstep {
namespace {

using testing::HasSubstr;
using Names = std::vector<std::string>;

class NewFileTest : public test::ScratchFolder {
 protected:
  /// How a process of its own ends that does the work: its status as waitpid gives it.
  [[nodiscard]] static int status_of(const std::function<void()>& work) {
    const auto child = ::fork();
    if (child == 0) {
      work();
      ::_exit(0);
    }
    int status = -1;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    return status;
  }
};

TEST_F(NewFileTest, StandsBesideItsPlaceUntilItIsNamed) {
  output::NewFile file(place("a"));
  file.write("first, ");
  file.write("second");
  EXPECT_EQ(file.written_at().parent_path(), folder_);
  EXPECT_EQ(names(), Names{file.written_at().filename().string()});
  EXPECT_NE(names(), Names{"a"});
  file.close();
  file.name();
  EXPECT_EQ(names(), Names{"a"});
  EXPECT_EQ(content("a"), "first, second");
}

TEST_F(NewFileTest, AnUnnamedOneLeavesTheOlder) {
  make("a", "old");
  {
    output::NewFile file(place("a"));
    file.write("new");
    file.close();
    EXPECT_EQ(content("a"), "old");
  }
  EXPECT_EQ(names(), Names{"a"});
  EXPECT_EQ(content("a"), "old");
}

TEST_F(NewFileTest, FilesThatBelongTogetherAppearTogether) {
  make("a", "old");
  EXPECT_THAT(refusal([&] {
                output::NewFiles files;
                files.write(place("a"), "new");
                files.write(place("missing/b"), "new");
                files.finish();
              }),
              HasSubstr(place("missing/b").string() + ": cannot be written"));
  EXPECT_EQ(names(), Names{"a"});
  EXPECT_EQ(content("a"), "old");

  output::NewFiles files;
  files.write(place("a"), "new");
  auto& open = files.open(place("b"));
  open.write("also new");
  EXPECT_EQ(content("a"), "old");
  files.finish();
  EXPECT_EQ(names(), (Names{"a", "b"}));
  EXPECT_EQ(content("a") + ", " + content("b"), "new, also new");
}

TEST_F(NewFileTest, AFolderGoesWithWhatCameToNothing) {
  std::filesystem::create_directory(place("kept"));
  {
    output::NewFiles files(place("kept/a/b"));
    files.write(place("kept/a/b/c"), "content");
    EXPECT_EQ(names().size(), 4U);
  }
  EXPECT_EQ(names(), Names{"kept"}) << "only folders that were made go";
  {
    output::NewFiles files(place("kept/a/b"));
    files.write(place("kept/a/b/c"), "content");
    files.finish();
  }
  EXPECT_EQ(names(), (Names{"kept", "kept/a", "kept/a/b", "kept/a/b/c"}));
}

TEST_F(NewFileTest, AFolderOnAFileIsRefusedWithoutATrace) {
  make("file", "");
  EXPECT_THAT(refusal([&] { output::NewFiles files(place("file")); }), HasSubstr("cannot be made a folder"));
  EXPECT_THAT(refusal([&] { output::NewFiles files(place("file/a/b")); }), HasSubstr("cannot be made a folder"));
  EXPECT_EQ(names(), Names{"file"});
}

TEST_F(NewFileTest, AFolderIsNotReplaced) {
  std::filesystem::create_directory(place("a"));
  EXPECT_THAT(refusal([&] {
                output::NewFile file(place("a"));
                file.close();
                file.name();
              }),
              HasSubstr("cannot be written"));
  EXPECT_EQ(names(), Names{"a"});
  EXPECT_TRUE(std::filesystem::is_directory(place("a")));
}

TEST_F(NewFileTest, ALinkStaysALink) {
  make("target", "old");
  std::filesystem::create_symlink(place("target"), place("link"));
  output::NewFiles files;
  files.write(place("link"), "new");
  files.finish();
  EXPECT_TRUE(std::filesystem::is_symlink(place("link")));
  EXPECT_EQ(content("target"), "new");
  EXPECT_EQ(names(), (Names{"link", "target"}));
}

// A pipe, like /dev/null, is neither a file nor free: it takes the content and stays a pipe.
TEST_F(NewFileTest, APipeIsWrittenAsItStands) {
  ASSERT_EQ(::mkfifo(place("pipe").c_str(), 0600), 0);
  const int reader = ::open(place("pipe").c_str(), O_RDONLY | O_NONBLOCK);
  output::NewFiles files;
  files.write(place("pipe"), "seven b");
  files.finish();
  std::array<char, 16> read{};
  EXPECT_EQ(::read(reader, read.data(), read.size()), 7);
  EXPECT_STREQ(read.data(), "seven b");
  ::close(reader);
  EXPECT_TRUE(std::filesystem::is_fifo(place("pipe")));
  EXPECT_EQ(names(), Names{"pipe"});
}

TEST_F(NewFileTest, AFullDeviceIsOutOfRoom) {
  ASSERT_TRUE(std::filesystem::exists("/dev/full"));
  try {
    output::NewFile file("/dev/full");
    file.write("more than it takes");
    FAIL() << "was written";
  } catch (const output::OutOfRoom& error) {
    EXPECT_THAT(error.what(), HasSubstr("/dev/full: the disk is full"));
  }
}

// Only what more room would mend is OutOfRoom; everything else is for the user to put right.
TEST_F(NewFileTest, ErrorsOfTheSystem) {
  for (const int error : {ENOSPC, EDQUOT, EFBIG, EIO})
    EXPECT_THROW(output::refuse_to_write("a", error), output::OutOfRoom) << error;
  for (const int error : {EACCES, ENOENT, EROFS, EISDIR})
    EXPECT_THROW(output::refuse_to_write("a", error), ConfigError);
  EXPECT_THAT(refusal([] { output::refuse_to_write("a.json", EACCES); }),
              testing::StartsWith("a.json: cannot be written: "));
}

TEST_F(NewFileTest, ASignalTakesTheTemporaryFilesWithIt) {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGXCPU}) {
    const int status = status_of([&] {
      const ::rlimit none{0, 0};
      ::setrlimit(RLIMIT_CORE, &none);
      std::signal(signal, SIG_DFL);
      output::NewFiles files;
      files.write(place("a"), "half");
      files.open(place("b")).write("half");
      ::raise(signal);
    });
    ASSERT_TRUE(WIFSIGNALED(status)) << signal;
    EXPECT_EQ(WTERMSIG(status), signal) << "whoever waits sees the signal";
    EXPECT_EQ(names(), Names{}) << signal;
  }
}

// nohup: a signal that whoever started the program wants ignored does not end it.
TEST_F(NewFileTest, AnIgnoredSignalStaysIgnored) {
  const int status = status_of([&] {
    std::signal(SIGHUP, SIG_IGN);
    output::NewFiles files;
    files.write(place("a"), "whole");
    ::raise(SIGHUP);
    files.finish();
  });
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(content("a"), "whole");
}

TEST_F(NewFileTest, AForkedProcessRemovesNothingOfItsParents) {
  output::NewFile file(place("a"));
  file.write("of the parent");
  const int status = status_of([] { ::raise(SIGTERM); });
  EXPECT_TRUE(WIFSIGNALED(status));
  file.close();
  file.name();
  EXPECT_EQ(content("a"), "of the parent");
}

TEST_F(NewFileTest, ALimitOnFileSizesIsAnErrorLikeAFullDisk) {
  const int status = status_of([&] {
    const ::rlimit limit{1000, 1000};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    output::survive_file_size_limit();
    try {
      output::NewFiles files;
      files.write(place("a"), std::string(2000, 'x'));
      files.finish();
    } catch (const output::OutOfRoom& error) {
      ::_exit(std::string(error.what()).find("limit on file sizes") != std::string::npos ? 7 : 8);
    }
  });
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 7);
}

}  // namespace
}  // namespace lockstep
