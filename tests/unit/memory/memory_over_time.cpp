#include "tests/unit/memory/memory_over_time.hpp"
#include "tests/source_dir.hpp"

#include <spdlog/logger.h>

#include <algorithm>

#include "sim/program/lower.hpp"

namespace lockstep::test {
namespace {

program::Program alone(const scenario::Scenario& scenario, const preparation::PreparedStep& preparation) {
  return program::lower_one_rank_per_stage(preparation.step, *preparation.machine.collectives,
                                           preparation::rates_of(scenario));
}

timeline::Timeline run_alone(const program::Program& program) {
  spdlog::logger silent("test");
  return engine::run(program, {engine::EngineKind::reference, {}}, silent).timeline;
}

}  // namespace

std::filesystem::path test_scenario(const std::string& file) {
  return std::filesystem::path(source_dir) / "tests/data/scenarios" / file;
}

OneRank::OneRank(const std::string& file, const std::vector<scenario::KeyOverride>& overrides)
    : scenario(load_scenario(test_scenario(file), overrides)),
      preparation(preparation::prepare_step(scenario)),
      program(alone(scenario, preparation)),
      timeline(run_alone(program)),
      memory(metrics::memory_of(preparation.step, program, timeline, 0, preparation.machine.cluster->chip().memory)) {}

Bytes OneRank::held(workloads::MemoryKind kind, Seconds time) const {
  Bytes sum(0);
  for (const auto& buffer : step().buffers) {
    if (buffer.kind != kind) continue;
    const auto span = timeline.span(buffer.producer, 0);
    Seconds until = span.end;
    for (const auto reader : buffer.readers) until = std::max(until, timeline.span(reader, 0).end);
    if (span.start <= time && time < until) sum += buffer.size;
  }
  return sum;
}

std::vector<Seconds> OneRank::ends_of(workloads::StepPass pass) const {
  std::vector<Seconds> ends;
  for (workloads::OpId id = 0; id < step().size(); ++id) {
    const auto& op = step().op(id);
    if (op->kind == workloads::StepOp::Kind::compute && op.pass == pass) ends.push_back(timeline.span(id, 0).end);
  }
  std::sort(ends.begin(), ends.end());
  return ends;
}

Bytes OneRank::accumulated_gradients() const {
  Bytes sum(0);
  for (const auto& buffer : step().buffers) {
    const bool updated = std::any_of(buffer.readers.begin(), buffer.readers.end(), [&](workloads::OpId reader) {
      return step().op(reader).pass == workloads::StepPass::update;
    });
    if (buffer.kind == workloads::MemoryKind::gradients && buffer.stage == 0 && updated) sum += buffer.size;
  }
  return sum;
}

}  // namespace lockstep::test
