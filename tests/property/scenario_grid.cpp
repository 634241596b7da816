#include "tests/property/scenario_grid.hpp"

namespace lockstep::test {
namespace {

struct Layout {
  std::string mesh;  ///< "" leaves the placement to the search
  std::string parallel;
};

std::string number(int value) { return std::to_string(value); }

/// What can be laid on any torus of that many chips.
std::vector<Layout> default_layouts(int chips) {
  const std::string n = number(chips);
  std::vector<Layout> layouts;
  for (const char* zero : {"0", "1", "2", "3"}) layouts.push_back({"", "{data: " + n + ", zero: " + zero + "}"});
  layouts.push_back({"", "{fsdp: " + n + "}"});
  for (int tensor = 2; tensor <= 8 && tensor <= chips; tensor *= 2) {
    const std::string t = number(tensor);
    const std::string rest = number(chips / tensor);
    layouts.push_back({"", "{tensor: " + t + ", fsdp: " + rest + "}"});
    layouts.push_back({"", "{tensor: " + t + ", fsdp: " + rest + ", sequence_parallel: false}"});
    layouts.push_back({"", "{tensor: " + t + ", data: " + rest + ", zero: 1}"});
    if (chips / tensor >= 4)
      layouts.push_back({"", "{tensor: " + t + ", fsdp: 2, data: " + number(chips / tensor / 2) + ", zero: 2}"});
  }
  return layouts;
}

/// Blocks, lines and strided remainders.
std::vector<Layout> placed_on_4x4() {
  return {{"{tensor: [x/2, y/2], fsdp: rest}", "{tensor: 4, fsdp: 4}"},
          {"{tensor: [x/2], fsdp: rest}", "{tensor: 2, fsdp: 8}"},
          {"{fsdp: [x/2], tensor: [x], data: [y]}", "{fsdp: 2, tensor: 2, data: 4, zero: 1}"},
          {"{tensor: [x/2, y/2], data: [x, y/2]}", "{tensor: 4, data: 4, sequence_parallel: false}"},
          {"{data: [x/2, y/2], fsdp: rest}", "{data: 4, fsdp: 4, zero: 2}"},
          {"{tensor: [y], fsdp: [x]}", "{tensor: 4, fsdp: 4}"}};
}

std::vector<Layout> placed_on_4x2x2() {
  return {{"{tensor: [y, z], fsdp: [x]}", "{tensor: 4, fsdp: 4}"},
          {"{tensor: [x/2, z], fsdp: rest}", "{tensor: 4, fsdp: 4, sequence_parallel: false}"},
          {"{tensor: [x/2], fsdp: [x, y], data: [z]}", "{tensor: 2, fsdp: 4, data: 2}"}};
}

using Setting = std::vector<scenario::KeyOverride>;

/// Settings of the schedule; a layout takes every seventh, so neighbours in the grid differ.
std::vector<Setting> settings() {
  std::vector<Setting> all;
  const std::vector<Setting> grouping{
      {{"communication.weight_buckets", "layer"}, {"communication.gradient_buckets", "layer"}},
      {{"communication.weight_buckets", "matrix"}, {"communication.gradient_buckets", "matrix"}},
      {{"communication.gradient_buckets", "40 MB"}}};
  for (const char* microbatches : {"1", "2", "3"}) {
    for (const char* prefetch : {"0", "1", "2"}) {
      for (const auto& group : grouping) {
        for (const char* flag : {"true", "false"}) {
          Setting setting{{"batch.microbatches", microbatches}, {"communication.prefetch", prefetch}};
          setting.insert(setting.end(), group.begin(), group.end());
          const std::string other = all.size() % 3 == 0 ? "true" : "false";
          setting.push_back({"communication.collective_matmul", flag});
          setting.push_back({"training.optimizer_barrier", other});
          setting.push_back({"communication.regather_weights", all.size() % 4 < 2 ? "true" : "false"});
          setting.push_back({"communication.share_activation_gathers", all.size() % 5 < 3 ? "true" : "false"});
          setting.push_back({"model_of_time", all.size() % 2 == 0 ? "ideal" : "roofline"});
          all.push_back(std::move(setting));
        }
      }
    }
  }
  return all;
}

GridRow row(const std::string& cluster, int chips, const std::vector<Layout>& placed, std::size_t& turn) {
  static const auto all = settings();
  constexpr std::size_t settings_each = 2;
  constexpr std::size_t stride = 7;
  GridRow result;
  for (const char letter : cluster) {
    if (std::isalnum(static_cast<unsigned char>(letter)) != 0) result.name += letter;
  }
  result.cluster = cluster;
  auto layouts = default_layouts(chips);
  layouts.insert(layouts.end(), placed.begin(), placed.end());
  for (const auto& layout : layouts) {
    for (const char* file : {"validation_grid_transformer.yaml", "validation_grid_two_matmul.yaml"}) {
      for (std::size_t i = 0; i < settings_each; ++i) {
        Case made{file, {{"cluster", cluster}, {"parallel", layout.parallel}}};
        if (!layout.mesh.empty()) made.overrides.push_back({"mesh", layout.mesh});
        const auto& setting = all[turn % all.size()];
        turn += stride;
        made.overrides.insert(made.overrides.end(), setting.begin(), setting.end());
        result.cases.push_back(std::move(made));
      }
    }
  }
  return result;
}

/// Context and expert axes, alone and with the others, under recomputation and uneven loads.
GridRow mixture_row(const std::string& name, const std::string& cluster) {
  GridRow result{name, cluster, {}};
  const std::vector<std::string> layouts{
      "{expert: 8, zero: 1}",
      "{expert: 4, data: 2}",
      "{expert: 4, fsdp: 2}",
      "{context: 8, zero: 1}",
      "{context: 2, fsdp: 4, context_attention: all_gather}",
      "{context: 4, data: 2, context_attention: all_to_all}",
      "{context: 2, fsdp: 4, context_order: contiguous}",
      "{tensor: 2, expert: 4}",
      "{tensor: 2, expert: 4, sequence_parallel: false}",
      "{tensor: 2, expert: 4, experts_over: [expert, tensor]}",
      "{tensor: 4, expert: 2, experts_over: [expert, tensor], expert_tensor: 2}",
      "{tensor: 2, expert: 2, context: 2, zero: 2}",
      "{tensor: 2, expert: 2, context: 2, experts_over: [expert, context]}",
      "{tensor: 2, context: 2, fsdp: 2, context_attention: all_to_all}",
  };
  const std::vector<Setting> settings{
      {{"batch.microbatches", "2"}, {"model.mtp_modules", "0"}},
      {{"training.recompute", "full"}, {"model_of_time", "roofline"}},
      {{"training.recompute", "{mode: selective, parts: [norms, latent_projections, activations]}"},
       {"routing", "{variation: 0.4, seed: 3}"},
       {"batch.microbatches", "3"}},
      {{"training.recompute", "{mode: selective, parts: [core_attention, mlp, experts], layers: 2}"},
       {"training.attention", "unfused"},
       {"training.dropout", "true"}},
      {{"routing", "{capacity_factor: 1.25, slots: by mask}"},
       {"communication.collective_matmul", "true"},
       {"model_of_time", "roofline"}},
  };
  std::size_t turn = 0;
  for (const auto& layout : layouts) {
    for (int i = 0; i < 2; ++i) {
      Case made{"validation_grid_mixture.yaml", {{"cluster", cluster}, {"parallel", layout}}};
      const auto& setting = settings[turn++ % settings.size()];
      made.overrides.insert(made.overrides.end(), setting.begin(), setting.end());
      result.cases.push_back(std::move(made));
    }
  }
  return result;
}

/// Recurrences and attention to chosen tokens under every axis, with Muon and with ZeRO stages of single axes.
GridRow hybrid_row(const std::string& name, const std::string& cluster) {
  GridRow result{name, cluster, {}};
  const std::vector<std::string> layouts{
      "{context: 8, zero: 1}",
      "{tensor: 2, context: 2, fsdp: 2}",
      "{tensor: 4, data: 2, zero: 1}",
      "{expert: 4, data: 2}",
      "{context: 4, data: 2, context_order: contiguous}",
      "{data: 2, fsdp: 4, zero: {fsdp: 1}}",
      "{tensor: 2, data: 2, fsdp: 2, zero: {data: 1, fsdp: 3}}",
  };
  const std::vector<Setting> settings{
      {{"batch.microbatches", "2"}, {"training.optimizer", "muon"}},
      {{"training.recompute", "full"}, {"model_of_time", "roofline"}, {"training.optimizer", "muon"}},
      {{"training.recompute", "{mode: selective, parts: [norms, latent_projections, activations]}"},
       {"communication.collective_matmul", "true"}},
  };
  std::size_t turn = 0;
  const auto add = [&](const std::string& file, const std::string& layout) {
    Case made{file, {{"cluster", cluster}, {"parallel", layout}}};
    const auto& setting = settings[turn++ % settings.size()];
    made.overrides.insert(made.overrides.end(), setting.begin(), setting.end());
    result.cases.push_back(std::move(made));
  };
  for (const auto& layout : layouts) {
    for (const char* file : {"validation_grid_hybrid.yaml", "validation_grid_sparse.yaml"}) add(file, layout);
  }
  add("validation_grid_hybrid.yaml", "{context: 4, data: 2, context_attention: all_to_all}");
  add("validation_grid_hybrid.yaml", "{tensor: 2, context: 2, fsdp: 2, context_attention: all_gather}");
  return result;
}

std::vector<GridRow> every_row() {
  std::size_t turn = 0;
  std::vector<GridRow> rows;
  rows.push_back(row("tpu-v5p:2", 2, {}, turn));  // a line
  rows.push_back(row("tpu-v5p:4", 4, {{"{tensor: [x/2], fsdp: rest}", "{tensor: 2, fsdp: 2}"}}, turn));
  rows.push_back(row(
      "tpu-v5p:8", 8,
      {{"{tensor: [x/4], data: rest}", "{tensor: 4, data: 2}"}, {"{fsdp: [x/2], tensor: [x]}", "{fsdp: 2, tensor: 4}"}},
      turn));
  rows.push_back(row("tpu-v5p:4x2", 8, {}, turn));
  rows.push_back(row("tpu-v5p:2x2x2", 8, {}, turn));  // no wraps at all
  rows.push_back(row("tpu-v5p:4x4", 16, placed_on_4x4(), turn));
  rows.push_back(row("tpu-v5e:4x4", 16, placed_on_4x4(), turn));  // no wraps: v5e closes only axes of 16
  rows.push_back(row("tpu-v5p:4x2x2", 16, placed_on_4x2x2(), turn));
  rows.push_back(row("tpu-v5e:16", 16, {{"{tensor: [x/4], fsdp: rest}", "{tensor: 4, fsdp: 4}"}}, turn));
  rows.push_back(mixture_row("mixturev5p", "tpu-v5p:4x2"));
  rows.push_back(mixture_row("mixturecube", "tpu-v5p:2x2x2"));
  rows.push_back(hybrid_row("hybridv5p", "tpu-v5p:4x2"));
  return rows;
}

}  // namespace

const std::vector<GridRow>& grid() {
  static const auto rows = every_row();
  return rows;
}

}  // namespace lockstep::test
