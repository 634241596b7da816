// Text in a picture: XML takes < > & and quotes as entities, and control characters not at all.
#include "tools/output/elements/svg.hpp"

#include <gmock/gmock.h>

#include <random>

#include "sim/core/visible_text.hpp"
#include "tests/unit/output/hostile_name.hpp"
#include "tests/unit/output/picture_reading.hpp"

namespace lockstep {
namespace {

using test::elements_of;

TEST(Svg, MarkupBecomesEntities) {
  EXPECT_EQ(output::svg::escaped("a < b && \"c\" > 'd'"), "a &lt; b &amp;&amp; &quot;c&quot; &gt; 'd'");
}

TEST(Svg, AHostileNameIsTextAndNothingElse) {
  const auto read =
      elements_of(output::svg::open(10, 20) + output::svg::text_at(1, 2, "start", test::hostile_name) + "</svg>");
  ASSERT_EQ(read.size(), 2U);
  EXPECT_EQ(read[1].text, test::hostile_name_shown);
  EXPECT_EQ(read[0].attributes.at("viewBox"), "0 0 10 20");
}

// Random bytes, as text and as an attribute: the reader sees what visible() shows.
TEST(Svg, TextsOfAnyBytesReadBack) {
  std::mt19937 random(1);
  for (int round = 0; round < 1000; ++round) {
    std::string text;
    for (auto letters = random() % 12; letters > 0; --letters) {
      const bool special = random() % 2 == 0;
      text += special ? "<>&\"'/="[random() % 7] : static_cast<char>(random() % 256);
    }
    const auto read = elements_of("<svg class=\"" + output::svg::escaped(text) + "\">" +
                                  output::svg::text_at(0, 0, "end", text) + "</svg>");
    ASSERT_EQ(read.size(), 2U);
    EXPECT_EQ(read[0].attributes.at("class"), visible(text));
    EXPECT_EQ(read[1].text, visible(text));
    EXPECT_EQ(read[1].attributes.at("text-anchor"), "end");
  }
}

}  // namespace
}  // namespace lockstep
