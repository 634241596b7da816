// Megatron's options in YAML: the arguments themselves under MODEL_ARGS (Megatron's functional tests), or the fields of
// its configuration classes (Megatron Bridge, NeMo, --yaml-cfg), whose names are those of the arguments but for these.
#include <algorithm>

#include "sim/studies/recipes/dialects_private.hpp"

namespace lockstep::recipes {
namespace {

struct Renamed {
  std::string_view field, argument;
};
constexpr Renamed fields[] = {{"num-moe-experts", "num-experts"},
                              {"encoder-seq-length", "seq-length"},
                              {"sequence-length", "seq-length"},
                              {"virtual-pipeline-model-parallel-size", "num-virtual-stages-per-pipeline-rank"},
                              {"num-layers-in-first-pipeline-stage", "decoder-first-pipeline-num-layers"},
                              {"num-layers-in-last-pipeline-stage", "decoder-last-pipeline-num-layers"},
                              {"gradient-clip-val", "clip-grad"},
                              {"grad-clip", "clip-grad"},
                              {"activations-checkpoint-granularity", "recompute-granularity"},
                              {"activations-checkpoint-num-layers", "recompute-num-layers"},
                              {"cpu-offloading-layers", "cpu-offloading-num-layers"},
                              {"mcore-gpt", "use-mcore-models"},
                              {"precision", "mixed-precision"},
                              {"num-nodes", "nnodes"},
                              {"devices", "nproc-per-node"}};

std::string argument_of(const std::string& path) {
  const auto last = path.rfind('.');
  auto name = path.substr(last == std::string::npos ? 0 : last + 1);
  if (path.find("--") != std::string::npos) name = path.substr(path.find("--") + 2);
  if (path.find("optimizer.optimizer") != std::string::npos || path.ends_with("optim.name")) return "optimizer";
  if (path.starts_with("ENV_VARS") || path.starts_with("METRICS")) name = path;
  std::replace(name.begin(), name.end(), '_', '-');
  const auto* found =
      std::find_if(std::begin(fields), std::end(fields), [&](const auto& each) { return each.field == name; });
  return found == std::end(fields) ? name : std::string(found->argument);
}

}  // namespace

std::vector<RecipeOption> as_megatron_arguments(std::vector<RecipeOption> options) {
  for (auto& option : options) {
    option.name = argument_of(option.name);
    if (const auto at = option.shown.find("--"); at != std::string::npos) option.shown = option.shown.substr(at);
    // "--recompute-modules: [core_attn moe]" is one text of several words.
    if (option.values.size() == 1 && option.values.front().starts_with("[") && option.name == "recompute-modules")
      option.values.front() = option.values.front().substr(1, option.values.front().size() - 2);
  }
  return options;
}

}  // namespace lockstep::recipes
