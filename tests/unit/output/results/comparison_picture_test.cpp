// A bar for each step; a second is equally long in all of them, and pieces follow one another without a gap.
#include <gmock/gmock.h>

#include "tests/unit/output/hostile_name.hpp"
#include "tests/unit/output/picture_reading.hpp"
#include "tools/output/results/scenario_comparison.hpp"

namespace lockstep {
namespace {

using test::Element;

output::ComparedScenario scenario(const std::string& name, const std::vector<output::StepPart>& parts) {
  output::ComparedScenario made;
  made.name = name;
  made.parts = parts;
  for (const auto& part : parts) made.step_s += part.seconds;
  return made;
}

/// The pieces of the bar number `bar` from above.
std::vector<Element> bar_of(const std::string& svg, int bar) {
  auto pieces = test::elements_of(svg, "rect");
  std::erase_if(pieces, [&](const Element& piece) { return piece.number("y") != 70 + 50 * bar; });
  return pieces;
}

const output::StepPart computing{"computing", "", 4}, gather{"exposed fsdp all_gather", "fsdp", 2},
    scatter{"exposed fsdp reduce_scatter", "fsdp", 1}, reduce{"exposed tensor all_reduce", "tensor", 1},
    idle{"idle (bubble)", "", 2};

// 4 + (2 + 1) + 1 + 2 = 10 s: kinds of one axis are one piece, and every piece is as long as its time.
TEST(ComparisonPicture, PiecesAreAsLongAsTheirTimes) {
  const auto svg = output::comparison_picture({scenario("a", {computing, gather, scatter, reduce, idle})});
  const auto bar = bar_of(svg, 0);
  ASSERT_EQ(bar.size(), 4U);
  const double second = bar[0].number("width") / 4;
  EXPECT_NEAR(bar[1].number("width"), 3 * second, 0.02);
  EXPECT_NEAR(bar[2].number("width"), 1 * second, 0.02);
  EXPECT_NEAR(bar[3].number("width"), 2 * second, 0.02);
  for (std::size_t i = 1; i < bar.size(); ++i)
    EXPECT_NEAR(bar[i].number("x"), bar[i - 1].number("x") + bar[i - 1].number("width"), 0.02);
  EXPECT_EQ(bar[1].title, "exposed fsdp 3.00 s");
}

// The second step is half the first and has no communication.
TEST(ComparisonPicture, BarsShareAScaleAndColours) {
  const auto svg =
      output::comparison_picture({scenario("a", {computing, reduce, gather, scatter, idle}),
                                  scenario("b", {{"computing", "", 3}, {"exposed x all_gather", "x", 0}, idle})});
  const auto first = bar_of(svg, 0), second = bar_of(svg, 1);
  ASSERT_EQ(second.size(), 2U) << "a part of no time has no piece";
  EXPECT_EQ(second[0].number("x"), first[0].number("x"));
  EXPECT_NEAR(second[0].number("width"), first[0].number("width") * 3 / 4, 0.02);
  EXPECT_EQ(second[0].attributes.at("fill"), first[0].attributes.at("fill"));
  EXPECT_EQ(second[1].attributes.at("fill"), first.back().attributes.at("fill"));
  EXPECT_NE(first[1].attributes.at("fill"), first[2].attributes.at("fill")) << "axes are told apart";
}

// The longest bar and its time end within the picture, however long the name.
TEST(ComparisonPicture, NamesOfAnyKindAndLength) {
  const auto svg =
      output::comparison_picture({scenario(test::hostile_name, {computing}), scenario(std::string(200, 'n'), {idle})});
  EXPECT_THAT(test::texts_of(svg), testing::Contains(test::hostile_name_shown));
  const auto bar = bar_of(svg, 0);
  EXPECT_LT(bar[0].number("x") + bar[0].number("width"), 1000 - 100);
}

}  // namespace
}  // namespace lockstep
