// A database in a few lines: how many points came to what, the best of them, and why others have no result.
#include "tools/sweep/summary.hpp"

#include <gmock/gmock.h>

#include <cmath>

#include "tests/unit/output/lines_of.hpp"
#include "tests/unit/scratch_folder.hpp"
#include "tools/sweep/outputs.hpp"

namespace lockstep {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class SweepSummary : public test::ScratchFolder {
 protected:
  SweepSummary() {
    make("sweep.yaml",
         "format: 1\nmodel: {type: two-matmul, layers: 2, d_model: 64, d_ff: 128}\ncluster: tpu-v5p:4x4\nbatch: "
         "{sequences: 16, sequence_length: 8}\nsweep: {grid: {parallel.fsdp: [4, 16], training.optimizer: [sgd, "
         "adam]}}\n");
    sweep_ = sweep::load_sweep(place("sweep.yaml"));
  }
  [[nodiscard]] static sweep::PointResult simulated(double rate, double peak_bytes) {
    sweep::PointResult made;
    for (const auto& output : sweep::sweep_outputs()) {
      made.outputs.push_back(output.name == "tokens_per_s_per_chip" ? rate
                             : output.name == "step_time_s"         ? 2
                             : output.name == "mfu"                 ? 0.25
                             : output.name == "fits"                ? (peak_bytes < does_not_fit ? 1 : 0)
                             : output.name == "peak_bytes"          ? peak_bytes
                             : output.name == "capacity_bytes"      ? 100
                                                                    : 1);
    }
    return made;
  }
  [[nodiscard]] static sweep::PointResult without_result(sweep::PointResult::Status status, const std::string& why) {
    return {status, why, {}, ""};
  }
  [[nodiscard]] std::string summary_of(const std::vector<sweep::PointResult>& results) const {
    const auto file = place("a.db");
    std::filesystem::remove(file);
    sweep::SweepStore store(file, header_of(sweep_));
    for (std::size_t point = 0; point < results.size(); ++point)
      store.add(sweep_, static_cast<std::int64_t>(point), results[point]);
    store.finish();
    return sweep_summary(store.database(), header_of(sweep_), "a.db");
  }
  static constexpr double fits = 50, may_not_fit = 100, does_not_fit = 300;  ///< peaks on a chip of 100 bytes
  sweep::Sweep sweep_;
};

// The third point is the fastest but does not fit; of the others the second is faster. Points: fsdp 4 sgd, 4 adam, 16
// sgd, 16 adam.
TEST_F(SweepSummary, TheBestPointFits) {
  EXPECT_EQ(
      summary_of({simulated(1000, fits), simulated(1500, fits), simulated(9000, does_not_fit), simulated(1200, fits)}),
      "a.db: 4 points, 4 done\nmost tokens/s a chip: 1,500 (step 2.00 s, MFU 25.0 %) with parallel.fsdp 4, "
      "training.optimizer adam\n");
}

TEST_F(SweepSummary, WhereNoneFitsItIsSaid) {
  EXPECT_THAT(summary_of({simulated(1000, does_not_fit), simulated(1500, does_not_fit)}),
              HasSubstr("most tokens/s a chip: 1,500 (step 2.00 s, MFU "
                        "25.0 %, all points DO NOT FIT in memory) with "));
}

// A peak of all of the memory lies in the band of measured ones: an answer, with that said beside it.
TEST_F(SweepSummary, WhereTheBestMayNotFitItIsSaid) {
  EXPECT_THAT(summary_of({simulated(1000, fits), simulated(1500, may_not_fit), simulated(9000, does_not_fit)}),
              HasSubstr("most tokens/s a chip: 1,500 (step 2.00 s, MFU 25.0 %, MAY NOT FIT in memory) with "));
}

// Equal reasons are counted, the most frequent first; a reason is told by its first line.
TEST_F(SweepSummary, ReasonsOfPointsWithoutAResult) {
  using enum sweep::PointResult::Status;
  const auto text = summary_of({without_result(crashed, "signal 9"), without_result(refused, "too large\nand more"),
                                without_result(refused, "too large\nand more"), simulated(1, fits)});
  const auto lines = test::lines_of(text);
  ASSERT_EQ(lines.size(), 4U);
  EXPECT_EQ(lines[0], "a.db: 4 points, 1 done, 2 refused, 1 crashed");
  EXPECT_EQ(lines[2], "2 refused: too large");
  EXPECT_EQ(lines[3], "1 crashed: signal 9");
}

TEST_F(SweepSummary, ADatabaseWithoutResults) {
  EXPECT_EQ(summary_of({}), "a.db: 0 points, 0 done\n");
  EXPECT_THAT(summary_of({without_result(sweep::PointResult::Status::failed, "why")}),
              AllOf(StartsWith("a.db: 1 point, 0 done, 1 failed\n"), Not(HasSubstr("most tokens"))));
}

}  // namespace
}  // namespace lockstep
