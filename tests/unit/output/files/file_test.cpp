// Places for results are refused before any work is done for them, and looking at a place makes nothing there.
#include "tools/output/files/file.hpp"

#include <gmock/gmock.h>

#include "tests/unit/scratch_folder.hpp"

namespace lockstep {
namespace {

using testing::HasSubstr;
using testing::StartsWith;
using Names = std::vector<std::string>;

class FilePlaces : public test::ScratchFolder {
 protected:
  [[nodiscard]] static std::string file_refused(const std::filesystem::path& file) {
    return refusal([&] { output::check_file_place(file); });
  }
  [[nodiscard]] static std::string folder_refused(const std::filesystem::path& folder) {
    return refusal([&] { output::check_folder_place(folder); });
  }
};

TEST_F(FilePlaces, AFileMayBeNewOrOldAndIsNotMade) {
  make("old", "content");
  EXPECT_EQ(file_refused(place("new")), "");
  EXPECT_EQ(file_refused(place("old")), "");
  EXPECT_EQ(file_refused(""), "") << "no place was asked for";
  EXPECT_EQ(names(), Names{"old"});
  EXPECT_EQ(content("old"), "content");
}

TEST_F(FilePlaces, AFileNeedsAFolder) {
  make("file", "");
  EXPECT_THAT(file_refused(place("missing/a.json")), HasSubstr("there is no folder " + place("missing").string()));
  EXPECT_THAT(file_refused(place("file/a.json")), HasSubstr("cannot be written"));
  EXPECT_THAT(file_refused(folder_), HasSubstr("it is a folder"));
  EXPECT_THAT(file_refused("-"), AllOf(StartsWith("-: cannot be written"), HasSubstr("expected a file")));
}

// Parents that are missing will be made, so only the nearest one that exists matters.
TEST_F(FilePlaces, AFolderMayLackItsParents) {
  make("file", "");
  EXPECT_EQ(folder_refused(place("a/b/c")), "");
  EXPECT_EQ(folder_refused(folder_), "");
  EXPECT_EQ(folder_refused(""), "");
  EXPECT_THAT(folder_refused(place("file/a/b")), HasSubstr("is not a folder"));
  EXPECT_EQ(names(), Names{"file"});
}

// Its permissions let root write, and it takes neither files nor folders.
TEST_F(FilePlaces, AFolderThatTakesNothing) {
  EXPECT_THAT(file_refused("/proc/made"), HasSubstr("/proc/made"));
  EXPECT_THAT(folder_refused("/proc/made"), HasSubstr("/proc/made"));
}

/// Root may write everywhere, so a test run by root is somebody else for a while.
class NotRoot {
 public:
  NotRoot() : was_root_(::geteuid() == 0) {
    constexpr ::uid_t nobody = 65534;
    if (was_root_) {
      EXPECT_EQ(::setresuid(nobody, nobody, 0), 0);
    }
  }
  ~NotRoot() {
    if (was_root_) {
      EXPECT_EQ(::setresuid(0, 0, 0), 0);
    }
  }
  NotRoot(const NotRoot&) = delete;
  NotRoot& operator=(const NotRoot&) = delete;

 private:
  bool was_root_;
};

TEST_F(FilePlaces, AFolderThatMayNotBeWritten) {
  std::filesystem::permissions(folder_, std::filesystem::perms(0555));
  {
    const NotRoot somebody;
    EXPECT_THAT(file_refused(place("a")), HasSubstr("expected a folder that may be written"));
    EXPECT_THAT(folder_refused(place("a/b")), HasSubstr("expected a folder that may be written"));
  }
  std::filesystem::permissions(folder_, std::filesystem::perms::owner_all);
}

TEST_F(FilePlaces, WritingReplacesTheWholeFile) {
  make("a", "a longer text than the next");
  output::write_file(place("a"), "short");
  EXPECT_EQ(content("a"), "short");
  EXPECT_EQ(names(), Names{"a"});
}

TEST_F(FilePlaces, FoldersAreMadeWithTheirParents) {
  output::make_folder(place("a/b"));
  EXPECT_EQ(names(), (Names{"a", "a/b"}));
  make("file", "");
  EXPECT_THAT(refusal([&] { output::make_folder(place("file")); }), HasSubstr("cannot be made a folder"));
}

TEST(Print, ShowsControlCharactersAsTheirCodes) {
  testing::internal::CaptureStdout();
  output::print("one\ntwo\t\x1b[0m\xff");
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "one\ntwo\t\\x1b[0m\\xff");
}

}  // namespace
}  // namespace lockstep
