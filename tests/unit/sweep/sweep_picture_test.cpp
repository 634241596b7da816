// What the picture of a sweep shows.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>

#include "tools/sweep/sweep_table.hpp"

namespace lockstep {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

class SweepPicture : public testing::Test {
 protected:
  SweepPicture()
      : folder_(std::filesystem::temp_directory_path() /
                (std::string("lockstep_picture_") + testing::UnitTest::GetInstance()->current_test_info()->name())) {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
    std::ofstream(folder_ / "sweep.yaml")
        << "format: 1\nmodel: {type: two-matmul, layers: 2, d_model: 64, d_ff: 128}\ncluster: tpu-v5p:4x4\nbatch: "
           "{sequences: 16, sequence_length: 8}\n"
           "sweep: {grid: {batch.sequences: [16, 128], training.optimizer: [sgd, adam], model.layers: [2, 3]}}\n";
    const auto sweep = sweep::load_sweep(folder_ / "sweep.yaml");
    sweep::SweepStore store(folder_ / "a.db", header_of(sweep));
    // 10 s or 5 s by layers, whatever the rest; the last point is not known.
    for (std::int64_t point = 0; point < 7; ++point) {
      sweep::PointResult result;
      for (const auto& output : sweep::sweep_outputs())
        result.outputs.push_back(output.name == "step_time_s" || output.name == "mfu" ? (point % 2 == 0 ? 10 : 5) : 1);
      store.add(sweep, point, result);
    }
    store.add(sweep, 7, {sweep::PointResult::Status::refused, "no", {}, ""});
    store.finish();
    table_ = read_table(store.database(), header_of(sweep));
  }
  ~SweepPicture() override { std::filesystem::remove_all(folder_); }

  std::filesystem::path folder_;
  sweep::SweepTable table_;
};

TEST_F(SweepPicture, NumbersAreInTheirOrder) {
  EXPECT_EQ(table_.points(), 7U);
  EXPECT_THAT(table_.keys[0].values, ElementsAre("16", "128"));
  EXPECT_TRUE(table_.keys[0].numbers);
  EXPECT_FALSE(table_.keys[1].numbers);
}

TEST_F(SweepPicture, TheFirstVariedKeysAreShownUnlessOthersAreNamed) {
  const auto usual = axes_named(table_, "", "", "");
  EXPECT_EQ(usual.y, 0U);
  EXPECT_EQ(usual.x, 0U);
  EXPECT_EQ(usual.by, 1U);
  const auto named = axes_named(table_, "mfu", "model.layers", "batch.sequences");
  EXPECT_EQ(sweep::sweep_outputs()[named.y].name, "mfu");
  EXPECT_EQ(named.x, 2U);
  EXPECT_EQ(named.by, 0U);
  EXPECT_THROW((void)axes_named(table_, "mfuu", "", ""), ConfigError);
  EXPECT_THROW((void)axes_named(table_, "", "model.depth", ""), ConfigError);
}

// Of 2 and 3 layers the better one is drawn: 5 s of the step time, 10 of the utilisation. The axis ends at 10, a whole
// number of steps of 2; it reaches from y = 398 up to 44, so 5 lies in the middle, at 221.
TEST_F(SweepPicture, OfOtherKeysTheBestIsShown) {
  const auto times =
      sweep_picture(table_, axes_named(table_, "step_time_s", "batch.sequences", "training.optimizer"), "t");
  EXPECT_THAT(times, AllOf(HasSubstr("cy=\"221.00\""), HasSubstr(">sgd<"), HasSubstr(">adam<"), HasSubstr(">128<"),
                           HasSubstr(">10.00 s<")));
  const auto shares = sweep_picture(table_, axes_named(table_, "mfu", "batch.sequences", "training.optimizer"), "t");
  EXPECT_THAT(shares, AllOf(HasSubstr("cy=\"44.00\""), Not(HasSubstr("cy=\"221.00\""))));
}

}  // namespace
}  // namespace lockstep
