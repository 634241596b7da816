// What a command wrote is its last line: files, and folders with a slash.
#include "tools/output/elements/answer.hpp"

#include <gtest/gtest.h>

#include "tests/unit/scratch_folder.hpp"

namespace lockstep {
namespace {

class Answers : public test::ScratchFolder {};

TEST_F(Answers, NameWhatWasWritten) {
  output::Answer answer;
  EXPECT_EQ(answer.written(), "");
  answer.write("", "nothing");
  answer.write("-", "nothing");
  EXPECT_EQ(answer.written(), "");
  answer.write(place("a.json"), "{}");
  EXPECT_EQ(answer.written(), "written: " + place("a.json").string() + "\n");
  output::NewFiles files(place("out"));
  files.write(place("out/b"), "b");
  EXPECT_EQ(answer.written().find("out"), std::string::npos) << "it has no name yet";
  answer.finish(files, place("out"));
  EXPECT_EQ(content("a.json"), "{}");
  EXPECT_EQ(content("out/b"), "b");
  EXPECT_EQ(answer.written(), "written: " + place("a.json").string() + ", " + place("out").string() + "/\n");
}

TEST_F(Answers, HideNothingInNames) {
  output::Answer answer;
  answer.add("a\nb");
  EXPECT_EQ(answer.written().find('\n'), answer.written().size() - 1);
}

}  // namespace
}  // namespace lockstep
