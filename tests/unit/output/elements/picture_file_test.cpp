// Pictures go where they are sent, by the end of their names as SVG or as PNG.
#include <gmock/gmock.h>

#include <cstdlib>

#include "tests/unit/scratch_folder.hpp"
#include "tools/output/elements/png.hpp"

namespace lockstep {
namespace {

using testing::HasSubstr;
using testing::StartsWith;
using Names = std::vector<std::string>;

constexpr auto square =
    "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 7 5\" width=\"7\" height=\"5\"><rect width=\"7\" "
    "height=\"5\"/></svg>";

class PictureFiles : public test::ScratchFolder {
 protected:
  /// rsvg-convert is looked for in PATH.
  void without_converter() {
    path_ = std::getenv("PATH");
    ::setenv("PATH", folder_.c_str(), 1);
  }
  ~PictureFiles() override {
    if (!path_.empty()) ::setenv("PATH", path_.c_str(), 1);
  }

 private:
  std::string path_;
};

TEST_F(PictureFiles, OtherEndsOfNamesAreRefused) {
  EXPECT_EQ(refusal([&] { output::check_picture_place(place("a.svg")); }), "");
  EXPECT_EQ(refusal([&] { output::check_picture_place(""); }), "");
  for (const auto* name : {"a.jpg", "a", "a.svg.txt", ".png"})
    EXPECT_THAT(refusal([&] { output::check_picture_place(place(name)); }), HasSubstr("is neither .svg nor .png"))
        << name;
  EXPECT_THAT(refusal([&] { output::check_picture_place(place("missing/a.svg")); }), HasSubstr("there is no folder"));
}

TEST_F(PictureFiles, WithoutTheConverterOnlyPngIsRefused) {
  without_converter();
  EXPECT_EQ(refusal([&] { output::check_picture_place(place("a.svg")); }), "");
  EXPECT_EQ(refusal([&] { output::check_png_writer(""); }), "");
  EXPECT_THAT(refusal([&] { output::check_picture_place(place("a.png")); }),
              HasSubstr("rsvg-convert is not installed"));
  EXPECT_THAT(refusal([&] { output::write_picture_file(place("a.png"), square); }), HasSubstr("rsvg-convert"));
  EXPECT_EQ(names(), Names{});
}

TEST_F(PictureFiles, SvgIsWrittenAsItIs) {
  output::write_picture_file(place("a.svg"), square);
  EXPECT_EQ(content("a.svg"), square);
  output::NewFiles files;
  write_picture(files, place("b"), square, false);
  files.finish();
  EXPECT_EQ(content("b.svg"), square);
  EXPECT_EQ(names(), (Names{"a.svg", "b.svg"}));
}

// A PNG begins with its signature and a header with its width and height, which are twice the picture's: 14 by 10.
TEST_F(PictureFiles, PngIsTwiceTheSize) {
  ASSERT_EQ(refusal([&] { output::check_png_writer(place("a.png")); }), "")
      << "tools/install_prerequisites installs it";
  output::NewFiles files;
  write_picture(files, place("a"), square, true);
  files.finish();
  EXPECT_EQ(names(), (Names{"a.png", "a.svg"}));
  const auto png = content("a.png");
  ASSERT_GT(png.size(), 24U);
  EXPECT_THAT(png, StartsWith("\x89PNG\r\n"));
  EXPECT_EQ(png[19], 14);
  EXPECT_EQ(png[23], 10);
}

TEST_F(PictureFiles, APictureThatCannotBeConvertedLeavesNothing) {
  ASSERT_EQ(refusal([&] { output::check_png_writer(place("a.png")); }), "")
      << "tools/install_prerequisites installs it";
  EXPECT_THAT(refusal([&] { output::write_picture_file(place("a.png"), "this is no picture"); }),
              HasSubstr("rsvg-convert could not write it"));
  EXPECT_EQ(names(), Names{});
}

}  // namespace
}  // namespace lockstep
