// A picture's file is SVG, in a folder that is there; anything else is refused before work is done for it.
#include <gmock/gmock.h>

#include "tests/unit/scratch_folder.hpp"
#include "tools/output/elements/svg.hpp"

namespace lockstep {
namespace {

using testing::HasSubstr;

class PictureFiles : public test::ScratchFolder {};

TEST_F(PictureFiles, OtherEndsOfNamesAreRefused) {
  const auto place_of = [&](const std::string& name) {
    return refusal([&] { output::svg::check_place(place(name)); });
  };
  EXPECT_EQ(place_of("a.svg"), "");
  EXPECT_EQ(refusal([&] { output::svg::check_place(""); }), "");
  for (const auto* name : {"a.jpg", "a.png", "a", "a.svg.txt", ".svg"})
    EXPECT_THAT(place_of(name), HasSubstr("is not .svg; expected a picture's name")) << name;
  EXPECT_THAT(place_of("missing/a.svg"), HasSubstr("there is no folder"));
}

}  // namespace
}  // namespace lockstep
