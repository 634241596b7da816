// Engines have the names that --engine takes: each name leads to its engine and back.
#include <gmock/gmock.h>
#include <spdlog/logger.h>

#include "sim/core/errors.hpp"
#include "sim/engine/engine.hpp"
#include "tests/unit/engine/small_program.hpp"

namespace lockstep::test {
namespace {

TEST(EngineNames, LeadThereAndBack) {
  EXPECT_THAT(engine::engine_names(), testing::ElementsAre("automatic", "simgrid", "max_min", "reference"));
  for (const auto& word : engine::engine_names()) EXPECT_EQ(name(engine::engine_named(word)), word);
  EXPECT_THROW((void)engine::engine_named("fast"), InternalError);
}

TEST(EngineNames, StandInTheResult) {
  spdlog::logger silent("test");
  program::Program program;
  program.streams = {"compute"};
  program.stage_of_rank = {0};
  program.slowdown_of_rank = {1};
  for (const auto kind : {engine::EngineKind::max_min, engine::EngineKind::reference})
    EXPECT_EQ(engine::run(program, {kind, {}, false}, silent).kind, kind);
}

// Up to eight ranks a stage are regular: of 16 ranks all in one stage are not, in two stages they are.
TEST(EngineNames, AutomaticTakesMaxMinWhereRanksDiffer) {
  spdlog::logger silent("test");
  program::Program program = ranks(16);
  EXPECT_TRUE(engine::is_irregular(program));
  EXPECT_EQ(engine::run(program, {engine::EngineKind::automatic, {}, false}, silent).kind, engine::EngineKind::max_min);
  for (std::size_t rank = 0; rank < 8; ++rank) program.stage_of_rank[rank] = 1;
  EXPECT_FALSE(engine::is_irregular(program));
}

}  // namespace
}  // namespace lockstep::test
