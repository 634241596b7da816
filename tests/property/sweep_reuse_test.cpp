// What the points of a sweep share does not show: for random sweeps, a point that is read and simulated after others,
// by one Sweep and with their machines known, has the spans, the memory and the machine of the same point by itself,
// bit for bit, and the same refusal where it is refused.
#include <gtest/gtest.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <random>

#include "sim/simulate.hpp"
#include "sim/studies/sweep/sweep.hpp"
#include "tests/unit/scratch_folder.hpp"

namespace lockstep {
namespace {

struct Swept {
  std::string key;
  std::vector<std::string> values;
};

/// A small scenario and values for some of its keys: of the model and the batch alone, and of all that machines are
/// made of. Some points are refused: a slow chip or a link that is not there, sequences that do not divide.
struct Base {
  std::string scenario;
  std::vector<Swept> keys;
};

std::vector<Base> bases() {
  const std::string model =
      "format: 1\nmodel: {layers: 2, d_model: 32, d_ff: 128, heads: 8, kv_heads: 4, head_size: 4, vocabulary: 96}\n";
  const Swept lengths{"batch.sequence_length", {"16", "64", "4096"}}, sequences{"batch.sequences", {"16", "64", "3"}},
      layers{"model.layers", {"1", "3"}}, rings{"communication.rings", {"rank_order", "topology_aware"}};
  return {{model + "cluster: {chip: tpu-v5p, shape: [4, 4]}\nparallel: {tensor: 4, fsdp: 4}\n"
                   "batch: {sequences: 16, sequence_length: 16}\n",
           {lengths,
            sequences,
            layers,
            {"cluster.chip", {"tpu-v5e", "tpu-v5p", "tpu-v6e"}},
            {"mesh", {"{tensor: [x], fsdp: [y]}", "{tensor: [y], fsdp: rest}", "{tensor: [x/2, y/2], fsdp: rest}"}},
            {"perturbations",
             {"[]", "[{chip: [1, 1], slowdown: 2}]", "[{link: [[0, 0], [1, 0]], bandwidth: 0}]",
              "[{chip: [9, 9], slowdown: 2}]"}}}},
          {model + "cluster: {node: h100, nodes: 4, order: {scattered: 3}}\nparallel: {tensor: 8, fsdp: 4, zero: 3}\n"
                   "batch: {sequences: 16, sequence_length: 16}\n",
           {lengths,
            sequences,
            layers,
            rings,
            {"cluster.order", {"packed", "round-robin", "{scattered: 1}", "{scattered: 2}"}},
            {"cluster.node", {"h100", "h200"}},
            {"mesh", {"{tensor: [gpu], fsdp: [node]}", "{fsdp: [node], tensor: rest}"}},
            {"perturbations",
             {"[]", "[{links_of: \"nic(1,2)\", bandwidth: 0.5}]", "[{random_chips: 2, seed: 1, slowdown: 1.5}]",
              "[{links_of: \"nic(9,9)\", bandwidth: 0.5}]"}}}}};
}

/// A sweep of a list of points, each of which sets one to three of the keys.
std::string sweep_text(const Base& base, std::uint64_t seed, int points) {
  std::mt19937_64 random(seed);
  std::string text = "scenario: base.yaml\nsweep:\n  list:\n";
  for (int point = 0; point < points; ++point) {
    std::string settings;
    auto keys = base.keys;
    for (auto left = 1 + random() % 3; left > 0; --left) {
      const auto at = keys.begin() + static_cast<std::ptrdiff_t>(random() % keys.size());
      settings += (settings.empty() ? "" : ", ") + at->key + ": " + at->values[random() % at->values.size()];
      keys.erase(at);
    }
    text += "    - {" + settings + "}\n";
  }
  return text;
}

/// All that a simulation says that a double's rounding could show, or the refusal.
struct Said {
  std::string refusal, machine;
  std::vector<timeline::Interval> spans;
  std::vector<std::int64_t> peaks;
  friend bool operator==(const Said&, const Said&) = default;
};

template <class Read>
Said said_by(const Read& read, preparation::KnownMachines& known) {
  Said said;
  try {
    spdlog::logger silent("test");
    SimulateOptions options;
    options.engine = engine::EngineKind::max_min;
    const auto made = simulate(read(), options, silent, known);
    said.machine = made.preparation.machine.cluster->to_string() + made.preparation.machine.mesh->to_string();
    const auto& timeline = made.run.timeline;
    for (std::int32_t op = 0; op < timeline.ops(); ++op) {
      for (const auto rank : timeline.ranks_of(op)) said.spans.push_back(timeline.simulated(op, rank));
    }
    for (const auto& stage : made.metrics.stages) said.peaks.push_back(stage.memory.peak.value());
  } catch (const ConfigError& error) {
    for (const auto& problem : error.problems()) said.refusal += problem.key + ": " + problem.what + "\n";
  }
  return said;
}

/// Of the file, with the point's settings; maps before the keys inside them.
scenario::Scenario alone(const sweep::Sweep& sweep, std::int64_t point, const std::filesystem::path& file) {
  std::vector<scenario::KeyOverride> overrides;
  for (const auto* setting : sweep.settings(point)) overrides.push_back({setting->key, setting->value});
  std::sort(overrides.begin(), overrides.end(), [](const auto& a, const auto& b) { return a.path < b.path; });
  return scenario::load_scenario(file, overrides);
}

class SweepReuse : public test::ScratchFolder {};

TEST_F(SweepReuse, APointAfterOthersIsThePointByItself) {
  int refused = 0, done = 0;
  for (const auto& base : bases()) {
    for (std::uint64_t seed = 1; seed <= 6; ++seed) {
      const auto text = sweep_text(base, seed, 12);
      make("base.yaml", base.scenario);
      make("sweep.yaml", text);
      const auto together = sweep::load_sweep(place("sweep.yaml"));
      preparation::KnownMachines known;
      for (std::int64_t point = 0; point < together.points(); ++point) {
        preparation::KnownMachines none;
        const auto expected = said_by([&] { return alone(together, point, place("base.yaml")); }, none);
        const auto found = said_by([&] { return together.scenario_at(point); }, known);
        EXPECT_TRUE(found == expected) << text << "point " << point << "\n" << found.refusal << expected.refusal;
        expected.refusal.empty() ? ++done : ++refused;
      }
    }
  }
  EXPECT_GT(done, 60);
  EXPECT_GT(refused, 10);
}

}  // namespace
}  // namespace lockstep
