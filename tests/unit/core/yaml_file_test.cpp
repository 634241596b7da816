#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "sim/core/yaml_view.hpp"

namespace lockstep {
namespace {

/// A folder of this test alone, gone with it.
class YamlFile : public testing::Test {
 protected:
  YamlFile() { std::filesystem::create_directories(folder_); }
  ~YamlFile() override { std::filesystem::remove_all(folder_); }

  [[nodiscard]] std::filesystem::path write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name, std::ios::binary) << text;
    return folder_ / name;
  }

  /// The problems of reading a file, with its folder left out.
  [[nodiscard]] std::string refusal(const std::filesystem::path& file, bool json = false) const {
    Problems problems;
    const YamlView view = json ? YamlView::from_json_file(file, problems) : YamlView::from_file(file, problems);
    EXPECT_FALSE(view.exists());
    std::string lines;
    for (const Problem& problem : problems.list()) lines += problem.to_string();
    const std::size_t at = lines.find(folder_.string() + '/');
    return at == std::string::npos ? lines : lines.erase(at, folder_.string().size() + 1);
  }

  const std::filesystem::path folder_ =
      std::filesystem::path(testing::TempDir()) /
      (std::string("lockstep_yaml_file_") + testing::UnitTest::GetInstance()->current_test_info()->name());
};

TEST_F(YamlFile, IsReadWithItsNameInPlaces) {
  Problems problems;
  const std::filesystem::path file = write("s.yaml", "a: 3\n");
  const YamlView view = YamlView::from_file(file, problems);
  EXPECT_EQ(view["a"].integer(), 3);
  EXPECT_EQ(view["a"].where().to_string(), file.string() + ":1:4");
  EXPECT_TRUE(problems.empty());
}

// A file that is read again is parsed again if its text has changed, and what one reader asked for is no other's.
TEST_F(YamlFile, IsReadAsItIsNow) {
  Problems problems;
  const auto file = write("s.yaml", "a: 3\nb: 4\n");
  EXPECT_EQ(YamlView::from_file(file, problems)["a"].integer(), 3);
  const auto again = YamlView::from_file(file, problems);
  EXPECT_EQ(again["b"].integer(), 4);
  EXPECT_TRUE(problems.empty());
  again.refuse_unknown_keys();
  ASSERT_EQ(problems.list().size(), 1U) << "`a` was asked for by the reader before";
  EXPECT_EQ(problems.list().front().key, "a");
  (void)write("s.yaml", "a: 5\n");
  EXPECT_EQ(YamlView::from_file(file, problems)["a"].integer(), 5);
}

TEST_F(YamlFile, MustExistAndBeAFile) {
  EXPECT_EQ(refusal(folder_ / "none.yaml"), "none.yaml: no such file");
  EXPECT_EQ(refusal(folder_ / "none" / "none.yaml"), "none/none.yaml: no such file");
  std::filesystem::create_directory(folder_ / "d.yaml");
  EXPECT_EQ(refusal(folder_ / "d.yaml"), "d.yaml: is a directory; expected a file");
  EXPECT_EQ(refusal("/dev/null"), "/dev/null: is not a regular file; expected a file");
}

TEST_F(YamlFile, MustBeSmall) {
  const std::string four_mib(4u << 20, '#');
  EXPECT_EQ(refusal(write("big.yaml", four_mib + '#')), "big.yaml: the file is too large; expected at most 4 MiB");
  EXPECT_EQ(refusal(write("fits.yaml", four_mib)), "fits.yaml: the file is empty; expected a YAML document");
}

TEST_F(YamlFile, MustBeText) {
  EXPECT_EQ(refusal(write("b.yaml", std::string("\x7f"
                                                "ELF\0",
                                                5))),
            "b.yaml:1:1: has a control character; expected a text file in UTF-8");
}

TEST_F(YamlFile, JsonIsReadWithPlacesEvenWithTabs) {
  Problems problems;
  const std::filesystem::path file = write(
      "c.json", "{\n\t\"hidden_size\": 4096,\n\t\"rope\":\t{ \"theta\": 1e+6 },\n\t\"x\": null, \"y\": true\n}\n");
  const YamlView view = YamlView::from_json_file(file, problems);
  EXPECT_EQ(view["hidden_size"].integer(), 4096);
  EXPECT_EQ(view["hidden_size"].where().to_string(), file.string() + ":2:17");
  EXPECT_EQ(view["rope"]["theta"].number(0, 1e9), 1e6);
  EXPECT_EQ(view["rope"]["theta"].where().to_string(), file.string() + ":3:21");
  EXPECT_TRUE(view["x"].is_null());
  EXPECT_TRUE(view["y"].boolean());
  EXPECT_TRUE(problems.empty());
}

TEST_F(YamlFile, JsonMustBeStrict) {
  const auto json = [&](const std::string& text) { return refusal(write("c.json", text), true); };
  const std::string place = ": malformed JSON: syntax error while parsing ";
  EXPECT_EQ(json("{\"a\": 1,}"), "c.json:1:9" + place + "object key - unexpected '}'; expected string literal");
  EXPECT_EQ(json("{\"a\": 1"), "c.json:1:8" + place + "object - unexpected end of input; expected '}'");
  EXPECT_EQ(json("{\"a\":\n [1 2]}"), "c.json:2:5" + place + "array - unexpected number literal; expected ']'");
  EXPECT_EQ(json("a: 1\n"), "c.json:1:1" + place + "value - invalid literal; last read: 'a'");
  EXPECT_EQ(json("{\"a\": 1e999}"), "c.json: malformed JSON: number overflow parsing '1e999'");
  EXPECT_EQ(json(" \n"), "c.json: the file is empty; expected a JSON document");
  EXPECT_EQ(json("{\"a\": 1} {}").substr(0, 11), "c.json:1:10");
}

TEST_F(YamlFile, JsonKeysComeOnce) {
  Problems problems;
  const YamlView view = YamlView::from_json_file(write("c.json", "{\"a\": 1,\n\"a\": 2}"), problems);
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_EQ(problems.list()[0].what, "duplicate key");
  EXPECT_EQ(problems.list()[0].where.line, 2);
}

TEST_F(YamlFile, JsonMustNotBeDeep) {
  std::string text;
  for (int i = 0; i < 100'000; ++i) text += "[";
  for (int i = 0; i < 100'000; ++i) text += "]";
  EXPECT_NE(refusal(write("c.json", text), true).find("nested too deeply"), std::string::npos);
}

}  // namespace
}  // namespace lockstep
