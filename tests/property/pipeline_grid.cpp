#include "tests/property/pipeline_grid.hpp"

#include <cctype>

#include "workloads/pipeline/schedules/schedules.hpp"

namespace lockstep::test {
namespace {

constexpr const char* scenario = "validation_grid_two_matmul.yaml";
constexpr std::int32_t sequences_of_microbatch = 8;  // every layout's data and fsdp axes divide it

std::string text(std::int64_t number) { return std::to_string(number); }

struct Layout {
  std::string cluster, mesh, parallel;  ///< parallel without the pipeline
};

/// Pipelines of P ranks: rings (v5p closes axes of four and eight), lines, parts of an axis, remainders.
std::vector<Layout> layouts(int p) {
  const auto P = text(p);
  return {{"tpu-v5p:" + P, "{pipeline: [x]}", ""},
          {"tpu-v5p:" + P + "x2", "{tensor: [y], pipeline: [x]}", ", tensor: 2"},
          {"tpu-v5p:2x" + P, "{fsdp: [x], pipeline: [y]}", ", fsdp: 2"},
          {"tpu-v5p:" + text(2 * p), "{pipeline: [x/" + P + "], data: rest}", ", data: 2, zero: 2"},
          {"tpu-v5p:" + text(2 * p), "{tensor: [x/2], pipeline: rest}", ", tensor: 2"},
          {"tpu-v5e:" + P + "x2", "{data: [y], pipeline: [x]}", ", data: 2, zero: 3"},
          {"tpu-v5p:" + P + "x2x2", "{tensor: [y], data: [z], pipeline: [x]}", ", tensor: 2, data: 2, zero: 1"},
          {"tpu-v5p:2x" + P, "", ", data: 2"}};
}

/// `per_stage` layers on every stage, or one more or less here and there.
std::string layers_of_stages(std::int32_t stages, bool even) {
  std::string list;
  for (std::int32_t stage = 0; stage < stages; ++stage)
    list += (stage == 0 ? "" : ", ") + text(even ? 1 : 1 + stage % 2);
  return "[" + list + "]";
}

std::string model(std::int32_t stages, std::size_t turn) {
  const bool even = turn % 3 != 1;
  const auto layers = text(even ? stages : stages + stages / 2);
  if (turn % 2 == 0) return "{type: two-matmul, layers: " + layers + ", d_model: 512, d_ff: 2048}";
  return "{layers: " + layers +
         ", d_model: 512, d_ff: 2048, heads: 8, kv_heads: 4, vocabulary: 2048, tied_embeddings: " +
         (turn % 4 == 1 ? "true" : "false") + "}";
}

Case made(const workloads::Schedule& schedule, std::int32_t p, std::int32_t m, const Layout& layout, std::size_t turn) {
  const auto stages = p * schedule.usual_chunks;
  Case result{scenario, {{"cluster", layout.cluster}}};
  const auto set = [&](const std::string& path, const std::string& value) {
    result.overrides.push_back({path, value});
  };
  set("model", model(stages, turn));
  if (!layout.mesh.empty()) set("mesh", layout.mesh);
  set("parallel", "{pipeline: " + text(p) + layout.parallel + "}");
  set("pipeline", "{schedule: " + std::string(schedule.name) + ", layers: " + layers_of_stages(stages, turn % 3 != 1) +
                      ", sends: " + (turn % 5 < 3 ? "own_streams" : "in_order") + "}");
  set("batch", "{sequences: " + text(std::int64_t{m} * sequences_of_microbatch) +
                   ", sequence_length: 64, microbatches: " + text(m) + "}");
  set("training.optimizer_barrier", turn % 4 < 2 ? "true" : "false");
  set("communication.gradient_buckets", turn % 3 == 0 ? "layer" : turn % 3 == 1 ? "matrix" : "6 MB");
  set("communication.prefetch", text(static_cast<std::int64_t>(turn % 3)));
  set("communication.collective_matmul", turn % 7 == 3 ? "true" : "false");
  set("model_of_time", turn % 2 == 0 ? "ideal" : "roofline");
  return result;
}

bool legal(const workloads::Schedule& schedule, std::int32_t p, std::int32_t m) {
  workloads::ScheduleRequest request;
  request.name = schedule.name;
  request.ranks = p;
  request.microbatches = m;
  try {
    (void)make_order(request);
  } catch (const workloads::ScheduleError&) {
    return false;
  }
  return true;
}

template <class Visit>
void for_each_legal(Visit visit) {
  for (const workloads::Schedule& schedule : workloads::schedules()) {
    if (schedule.takes_slices) continue;  // these models have no sequence to cut
    for (const std::int32_t p : {1, 2, 3, 4, 8}) {
      for (const std::int32_t m : {p, 2 * p, 2 * p + 1, 3 * p}) {
        if ((p < 8 || m == 2 * p) && legal(schedule, p, m)) visit(schedule, p, m);
      }
    }
  }
}

}  // namespace

const std::vector<PipelineRow>& pipeline_grid() {
  static const auto rows = [] {
    std::vector<PipelineRow> result;
    std::size_t turn = 0;
    for_each_legal([&](const workloads::Schedule& schedule, std::int32_t p, std::int32_t m) {
      if (result.empty() || result.back().schedule != schedule.name) {
        result.push_back({{}, std::string(schedule.name), {}});
        for (const char letter : schedule.name) {
          if (std::isalnum(static_cast<unsigned char>(letter)) != 0) result.back().name += letter;
        }
      }
      const auto all = layouts(p);
      // Strides without a common factor: settings and layouts meet in all combinations.
      result.back().cases.push_back(made(schedule, p, m, all[turn * 3 % all.size()], turn * 5 + turn / all.size()));
      ++turn;
    });
    return result;
  }();
  return rows;
}

const std::vector<Case>& lone_pipelines() {
  static const auto cases = [] {
    std::vector<Case> result;
    for_each_legal([&](const workloads::Schedule& schedule, std::int32_t p, std::int32_t m) {
      const bool neighbours_only = schedule.placement == workloads::StagePlacement::linear ||
                                   schedule.placement == workloads::StagePlacement::v ||
                                   schedule.placement == workloads::StagePlacement::wave;
      const bool closed = schedule.placement == workloads::StagePlacement::loop && (p == 4 || p == 8);
      const bool small = p == 4 || (p == 3 && m == 2 * p);
      if (!small || (!neighbours_only && !closed)) return;
      auto one =
          made(schedule, p, m, layouts(p).front(), 6 + 2 * static_cast<std::size_t>(m % 2));  // without embeddings
      one.overrides.push_back({"pipeline.sends", "own_streams"});
      result.push_back(std::move(one));
    });
    return result;
  }();
  return cases;
}

}  // namespace lockstep::test
