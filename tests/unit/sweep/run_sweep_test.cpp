// Which process simulates a point does not show in its result, and a process that dies costs one point.
#include <gtest/gtest.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>

#include "sim/studies/isolated.hpp"
#include "tests/unit/scratch_folder.hpp"
#include "tools/sweep/outputs.hpp"
#include "tools/sweep/run_sweep.hpp"

namespace lockstep {
namespace {

constexpr std::int64_t points = 40;

/// Ends the process when its engine says that a step had so many operations.
class Trap final : public spdlog::sinks::base_sink<std::mutex> {
 public:
  explicit Trap(std::string ops) : ops_(std::move(ops)) {}

 private:
  void sink_it_(const spdlog::details::log_msg& message) override {
    if (std::string(message.payload.begin(), message.payload.end()).starts_with("engine: " + ops_ + " ops "))
      ::_exit(3);
  }
  void flush_() override {}
  std::string ops_;
};

/// Point n has a model of n + 1 layers, so that its number of operations is its own.
class RunSweep : public test::ScratchFolder {
 protected:
  RunSweep() {
    make("sweep.yaml",
         "format: 1\nmodel: {type: two-matmul, layers: 1, d_model: 64, d_ff: 128}\ncluster: tpu-v5p:2\n"
         "parallel: {fsdp: 2}\nbatch: {sequences: 2, sequence_length: 8}\n"
         "sweep: {zip: {model.layers: {from: 1, to: 40, step: 1}, batch.sequences: [" +
             sequences() + "]}}\n");
    sweep_ = sweep::load_sweep(place("sweep.yaml"));
    for (std::int64_t point = 0; point < points; ++point) all_.push_back(point);
  }

  /// The results as text, by point.
  [[nodiscard]] std::map<std::int64_t, std::string> results(int jobs, engine::EngineKind engine,
                                                            const std::string& deadly_ops = "no") const {
    spdlog::logger log("test", std::make_shared<Trap>(deadly_ops));
    log.set_level(spdlog::level::debug);
    sweep::SweepOptions options;
    options.jobs = jobs;
    options.engine = engine;
    std::map<std::int64_t, std::string> made;
    simulate_points(sweep_, all_, options, log, [&](std::int64_t point, const sweep::PointResult& result) {
      EXPECT_TRUE(made.emplace(point, to_text(result)).second) << "point " << point << " twice";
    });
    return made;
  }

  sweep::Sweep sweep_;
  std::vector<std::int64_t> all_;

 private:
  /// 2 for every point but point 20, which is refused.
  static std::string sequences() {
    std::string text;
    for (std::int64_t point = 0; point < points; ++point)
      text += (point == 0 ? "" : ", ") + std::string(point == 20 ? "0" : "2");
    return text;
  }
};

TEST_F(RunSweep, OneProcessForManyPointsIsAsOneForEach) {
  const auto many = results(1, engine::EngineKind::max_min);     // 10 points a process
  const auto each = results(1000, engine::EngineKind::max_min);  // a process for each
  EXPECT_EQ(many.size(), 40u);
  EXPECT_EQ(many, each);
  EXPECT_EQ(sweep::result_in(many.at(20)).status, sweep::PointResult::Status::refused);
  EXPECT_EQ(sweep::result_in(many.at(21)).status, sweep::PointResult::Status::done);
}

// A process that dies over point 6 takes points 0 to 9 along, which then run by themselves.
TEST_F(RunSweep, ADeathCostsOnePoint) {
  auto expected = results(1, engine::EngineKind::max_min);
  const auto step = preparation::prepare_step(sweep_.scenario_at(6)).step;
  auto found = results(1, engine::EngineKind::max_min, std::to_string(step.size()));
  EXPECT_EQ(found.size(), 40u);
  EXPECT_EQ(sweep::result_in(found.at(6)).status, sweep::PointResult::Status::crashed);
  found.erase(6);
  expected.erase(6);
  EXPECT_EQ(found, expected);
}

// What a sweep prints does not depend on whether it keeps the whole results, bubbles of a pipeline included.
TEST_F(RunSweep, OutputsAreTheSameWithWholeResults) {
  make("pipeline.yaml",
       "format: 1\nmodel: {type: two-matmul, layers: 4, d_model: 64, d_ff: 128}\ncluster: tpu-v5p:2\n"
       "parallel: {pipeline: 2}\nbatch: {sequences: 8, sequence_length: 8, microbatches: 4}\n"
       "sweep: {grid: {batch.microbatches: [4, 8]}}\n");
  const auto pipeline = sweep::load_sweep(place("pipeline.yaml"));
  spdlog::logger log("test");
  const auto outputs = [&](bool keep_results) {
    sweep::SweepOptions options;
    options.keep_results = keep_results;
    std::map<std::int64_t, std::vector<double>> made;
    simulate_points(pipeline, {0, 1}, options, log,
                    [&](std::int64_t point, const sweep::PointResult& result) { made[point] = result.outputs; });
    return made;
  };
  const auto whole = outputs(true);
  EXPECT_EQ(outputs(false), whole);
  const auto names = sweep::sweep_outputs();
  const auto bubble = std::find_if(names.begin(), names.end(),
                                   [](const auto& output) { return output.name == "bubble_fraction_step"; });
  for (const auto& [point, values] : whole)
    EXPECT_GT(values.at(static_cast<std::size_t>(bubble - names.begin())), 0.05) << "point " << point;
}

}  // namespace
}  // namespace lockstep
