#include "tests/property/plan_spaces.hpp"

#include <spdlog/logger.h>

#include <cstdio>
#include <cstring>
#include <thread>

#include "sim/studies/isolated.hpp"
#include "tests/source_dir.hpp"

namespace lockstep::test {
namespace {

const std::string dense = "model: {layers: 4, d_model: 512, d_ff: 2048, heads: 8, kv_heads: 4, vocabulary: 4096}\n";
const std::string deeper = "model: {layers: 8, d_model: 1024, d_ff: 4096, heads: 16, kv_heads: 8, vocabulary: 16384}\n";
const std::string mixed =
    "model: {layers: 4, d_model: 512, heads: 8, kv_heads: 4, vocabulary: 4096, moe: {experts: 8, experts_per_token: 2, "
    "d_ff: 512}}\n";

const std::string hybrid =
    "model: {layers: 4, layer_pattern: 'M*M-', d_model: 512, d_ff: 2048, heads: 8, kv_heads: 4, vocabulary: 4096, "
    "recurrence: {rule: mamba2, heads: 16, key_heads: 4, key_size: 32, value_size: 64}}\n";
const std::string sparse =
    "model: {layers: 4, d_model: 512, d_ff: 2048, heads: 8, vocabulary: 4096, latent_attention: {q_rank: 128, kv_rank: "
    "64, nope_head_size: 32, rope_head_size: 32, value_head_size: 64, indexer: {heads: 4, head_size: 32, top_k: "
    "128}}}\n";

// Products so large that collectives beside them take a share of their time that counts.
const std::string wide = "model: {layers: 8, d_model: 4096, d_ff: 16384, heads: 32, kv_heads: 8, vocabulary: 16384}\n";
const std::string wide_mixed =
    "model: {layers: 8, d_model: 4096, heads: 32, kv_heads: 8, vocabulary: 16384, moe: {experts: 16, "
    "experts_per_token: 2, d_ff: 4096}}\n";
const std::string calibrated = "model_of_time: calibrated\n";

std::string batch(int sequences) {
  return "batch: {sequences: " + std::to_string(sequences) + ", sequence_length: 512}\n";
}

const std::string documents = "batch: {sequences: 32, sequence_length: 4096, lengths: " + std::string(source_dir) +
                              "/tests/data/lengths_of_documents.csv}\n";

}  // namespace

scenario::Scenario SpaceCase::load() const {
  const std::string rates = text.find("model_of_time") == std::string::npos ? "model_of_time: ideal\n" : "";
  return scenario::scenario_of_text("format: 1\n" + rates + text, name, source_dir);
}

std::vector<SpaceCase> small_spaces() {
  const std::vector<std::string> clusters{"cluster: tpu-v5p:4\n", "cluster: tpu-v5p:4x2\n",
                                          "cluster: {node: dgx-h100, nodes: 1}\n", "cluster: tpu-v5e:2x2\n",
                                          "cluster: {node: gb200-nvl72, nodes: 1}\n"};
  const std::vector<std::string> searches{
      "search: {tensor: [1, 2], pipeline: [1, 2], zero: [0, 3], recompute: none, microbatches: [2, 4], schedules: "
      "1f1b}\n",
      "search: {pipeline: 1, zero: [1, 2], recompute: [none, full], microbatches: [1, 2]}\n",
      "search: {tensor: 2, pipeline: [2, 4], zero: 1, recompute: none, microbatches: [4], schedules: [1f1b, gpipe, "
      "zb-h1]}\n",
      "search: {tensor: [2, 4], pipeline: [1, 2], zero: 3, recompute: [none, selective], microbatches: [2], memory: "
      "900 MB}\n",
      "search: {tensor: 1, pipeline: 2, zero: [0, 1], recompute: none, microbatches: [4, 8], schedules: [interleaved, "
      "zb-v, dualpipe-v], chunks: 2}\n"};
  const std::vector<std::string> models{dense, deeper, mixed, dense};
  const std::vector<std::string> times{"model_of_time: ideal\n", "model_of_time: roofline\n"};
  std::vector<SpaceCase> cases;
  for (std::size_t c = 0; c < clusters.size(); ++c) {
    for (std::size_t s = 0; s < searches.size(); ++s) {
      for (std::size_t m = 0; m < models.size(); ++m) {
        // A rack has 72 chips.
        const int sequences = c == 4 ? 288 : m == 3 ? 64 : 32;
        cases.push_back({"space " + std::to_string(cases.size()),
                         models[m] + clusters[c] + batch(sequences) + times[(c + s + m) % 2] + searches[s]});
      }
    }
  }
  const std::string ahead = "communication: {updated_weights: ahead}\n";
  const std::string replicas =
      "search: {tensor: [1, 2], pipeline: [1, 2], zero: [0, 1, 2], recompute: none, microbatches: [2, 4], schedules: "
      "[1f1b, gpipe, zb-h1]}\n";
  cases.push_back({"weights ahead on a torus", dense + clusters[1] + batch(32) + times[1] + ahead + replicas});
  cases.push_back({"weights ahead on a network", deeper + clusters[2] + batch(32) + times[0] + ahead + replicas});
  cases.push_back({"experts' weights ahead", mixed + clusters[2] + batch(32) + times[1] +
                                                 "training: {optimizer_barrier: false}\n" + ahead + replicas});
  cases.push_back({"recurrences on a network", hybrid + clusters[2] + batch(32) + times[1] + searches[0]});
  cases.push_back({"recurrences on a torus", hybrid + clusters[1] + batch(32) + times[0] + searches[1]});
  cases.push_back({"chosen tokens", sparse + clusters[2] + batch(32) + times[1] + searches[0]});
  cases.push_back({"chosen tokens on a torus", sparse + clusters[1] + batch(32) + times[0] + searches[4]});
  cases.push_back({"Muon", dense + clusters[2] + batch(32) + times[1] + "training: {optimizer: muon}\n" + searches[0]});
  cases.push_back({"Muon on a torus", mixed + clusters[1] + batch(32) + times[0] +
                                          "training: {optimizer: muon, optimizer_barrier: false}\n" + searches[1]});
  const std::string overlapping =
      "search: {tensor: [2, 4], pipeline: [2, 4], zero: [1], recompute: none, microbatches: [8], schedules: "
      "[interleaved, zb-h1, overlap-1f1b, dualpipe, dualpipe-v], chunks: 2}\n";
  cases.push_back({"calibrated", wide + clusters[2] + batch(64) + calibrated + searches[0]});
  cases.push_back({"calibrated, overlapping", wide + clusters[2] + batch(64) + calibrated + overlapping});
  cases.push_back({"calibrated experts, overlapping", wide_mixed + clusters[2] + batch(64) + calibrated + overlapping});
  cases.push_back({"calibrated, without a barrier", wide + clusters[2] + batch(64) + calibrated +
                                                        "training: {optimizer_barrier: false}\n" + overlapping});
  cases.push_back(
      {"calibrated, wide experts, chunks", wide_mixed + clusters[2] + batch(64) + calibrated + searches[4]});
  cases.push_back({"chunks' weights ahead", deeper + clusters[0] + batch(32) + times[1] + ahead + searches[4]});
  return cases;
}

std::vector<SpaceCase> wide_spaces() {
  const std::string schedules =
      "schedules: [1f1b, gpipe, interleaved, bfs, zb-h1, zb-h2, zb-1p, interleaved-zb, zb-v, v-half, v-min, v-1f1b, "
      "wave, dualpipe, dualpipe-v, overlap-1f1b], chunks: [2, 4]";
  return {{"dense on a network", deeper + "cluster: h100:2\n" + batch(128) + "search: {" + schedules + "}\n"},
          {"dense on a torus",
           deeper + "cluster: tpu-v5p:4x4\n" + batch(128) + "model_of_time: roofline\nsearch: {" + schedules + "}\n"},
          {"sequences split", dense + "cluster: tpu-v5p:2x2x2\n" + batch(64) +
                                  "search: {context: [1, 2, 4], pipeline: [1, 2], " + schedules + "}\n"},
          {"experts on a network", mixed + "cluster: h100:2\n" + batch(128) + "search: {" + schedules + "}\n"},
          {"experts on a torus", mixed + "cluster: tpu-v5p:4x2\n" + batch(64) +
                                     "training: {master_weights: true, gradient_precision: fp32}\nsearch: {" +
                                     schedules + "}\n"},
          {"calibrated kernels",
           deeper + "cluster: h100:1\n" + batch(64) + "model_of_time: calibrated\nsearch: {" + schedules + "}\n"},
          {"calibrated, large products",
           wide + "cluster: h100:2\n" + batch(128) + calibrated + "search: {context: [1, 2, 4], " + schedules + "}\n"},
          {"calibrated, experts",
           wide_mixed + "cluster: h100:2\n" + batch(128) + calibrated + "search: {" + schedules + "}\n"},
          {"calibrated, no barrier", wide + "cluster: h100:2\n" + batch(128) + calibrated +
                                         "training: {optimizer_barrier: false}\ncommunication: {collective_matmul: "
                                         "true, updated_weights: ahead}\nsearch: {" +
                                         schedules + "}\n"},
          {"no barrier", deeper + "cluster: h100:1\n" + batch(64) +
                             "training: {optimizer_barrier: false, step_overhead: 1 ms}\ncommunication: "
                             "{gradient_buckets: 25 MB, prefetch: 2}\nsearch: {" +
                             schedules + "}\n"},
          {"arrays one by one", deeper + "cluster: tpu-v5p:4x2\n" + batch(64) +
                                    "training: {gradient_clipping: true}\ncommunication: {gradient_buckets: matrix, "
                                    "weight_buckets: matrix, collective_matmul: true}\nsearch: {" +
                                    schedules + "}\n"},
          {"pods",
           deeper + "cluster: {chip: tpu-v5p, shape: [4, 2], pods: 2}\n" + batch(64) + "search: {" + schedules + "}\n"},
          {"several microbatches",
           dense + "cluster: h100:1\n" + batch(64) +
               "training: {gradient_precision: fp32}\nsearch: {microbatches: [4, 8], zero: [0, 2, 3], " + schedules +
               "}\n"},
          {"weights ahead on a network", deeper + "cluster: h100:2\n" + batch(128) +
                                             "communication: {updated_weights: ahead}\nsearch: {zero: [0, 1, 2], " +
                                             schedules + "}\n"},
          {"experts' weights ahead", mixed + "cluster: tpu-v5p:4x2\n" + batch(64) +
                                         "training: {optimizer_barrier: false}\ncommunication: {updated_weights: "
                                         "ahead, weight_buckets: matrix}\nsearch: {zero: [1, 2, 3], " +
                                         schedules + "}\n"},
          {"recurrences", hybrid + "cluster: h100:1\n" + batch(64) +
                              "model_of_time: roofline\nsearch: {context: [1, 2, 4], " + schedules + "}\n"},
          {"documents", deeper + "cluster: h100:1\n" + documents + "search: {context: [1, 2, 4], " + schedules + "}\n"},
          {"documents, calibrated",
           wide_mixed + "cluster: h100:2\n" + documents + calibrated + "search: {" + schedules + "}\n"},
          {"chosen tokens", sparse + "cluster: tpu-v5p:4x2\n" + batch(64) +
                                "search: {context: [1, 2], tensor: [1, 2], " + schedules + "}\n"},
          {"Muon", deeper + "cluster: h100:1\n" + batch(64) +
                       "model_of_time: roofline\ntraining: {optimizer: muon}\nsearch: {zero: 0, " + schedules + "}\n"},
          {"sends in a queue", dense + "cluster: h100:1\n" + batch(64) +
                                   "pipeline: {sends: in_order}\nparallel: {sequence_parallel: false}\nsearch: {" +
                                   schedules + "}\n"}};
}

std::vector<planning::RankedPlan> all_simulated(const planning::PlanSpace& space,
                                                const std::vector<planning::PlanChoice>& plans) {
  std::fflush(stdout);  // children would write again what waits in it
  spdlog::logger silent("test");
  std::vector<planning::RankedPlan> result(plans.size());
  const auto jobs = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  engine::load(engine::EngineKind::simgrid);
  studies::in_children(
      plans.size(), jobs,
      [&](std::size_t index) {
        const auto scenario = space.scenario(space.node_of(plans[index]), plans[index]);
        const auto figures = planning::simulated_figures(scenario, engine::EngineKind::simgrid, silent);
        return std::string(reinterpret_cast<const char*>(&figures), sizeof figures);
      },
      [&](std::size_t index, const studies::Answer& answer) {
        const auto text = answer.text();
        result[index].choice = plans[index];
        std::memcpy(&result[index].figures, text.data(), std::min(text.size(), sizeof(planning::PlanFigures)));
      });
  return result;
}

}  // namespace lockstep::test
