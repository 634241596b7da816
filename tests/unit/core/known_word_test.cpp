// Words that users write for names, in whatever case; parts of names.
#include "sim/core/known_word.hpp"

#include <gmock/gmock.h>

namespace lockstep {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

const std::vector<std::string> names{"h100", "H200", "h200", "llama-3-70b", "llama-3-8b", "gpt3-175b"};

TEST(KnownWord, CaseDoesNotMatterButAnExactNameComesFirst) {
  EXPECT_EQ(known_word("h100", names), "h100");
  EXPECT_EQ(known_word("H100", names), "h100");
  EXPECT_EQ(known_word("LLaMA-3-70B", names), "llama-3-70b");
  EXPECT_EQ(known_word("h200", names), "h200") << "though H200 stands before it";
  EXPECT_EQ(known_word("h10", names), "");
  EXPECT_EQ(known_word("", names), "");
  EXPECT_EQ(known_word("h100 ", names), "");
}

TEST(NamesWith, SignsAndCaseDoNotMatter) {
  EXPECT_THAT(names_with("Llama3", names, 9), ElementsAre("llama-3-70b", "llama-3-8b"));
  EXPECT_THAT(names_with("llama_3", names, 1), ElementsAre("llama-3-70b"));
  EXPECT_THAT(names_with("GPT-3", names, 9), ElementsAre("gpt3-175b"));
  EXPECT_THAT(names_with("llama-2", names, 9), IsEmpty());
  EXPECT_THAT(names_with("--", names, 9), IsEmpty()) << "nothing is in every name";
}

}  // namespace
}  // namespace lockstep
