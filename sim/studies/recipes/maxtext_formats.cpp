// In what MaxText multiplies and stores: quantization, dtype and weight_dtype. Words: src/maxtext/configs/types.py and
// layers/quantizations.py, and those of earlier releases.
#include <algorithm>
#include <iterator>

#include "sim/studies/recipes/dialects_private.hpp"

namespace lockstep::recipes {
namespace {

struct Quantization {
  std::string_view theirs, ours;
  std::string_view left_out = {};  ///< why `ours` is not the same
};
constexpr std::string_view integers = "training.precision has no such integers; products count as in bf16";
constexpr std::string_view weights_alone = "only weights are integers; products count as in bf16";
constexpr Quantization quantizations[] = {
    {"int8", "int8"},
    {"int4", "bf16", integers},
    {"intmp", "bf16", integers},
    {"int8w", "bf16", weights_alone},
    {"int4w", "bf16", weights_alone},
    {"fp8", "fp8"},
    {"fp8_full", "fp8"},
    {"fp8_gpu", "fp8"},
    {"fp8_nanoo", "fp8"},
    {"nanoo_fp8", "fp8"},
    {"fp8_e4m3", "fp8"},
    {"fp8_e5m2", "fp8"},
    {"aqt", "int8"},
    {"aqt_fp8", "fp8"},
    {"aqt_fp8_full", "fp8"},
    {"te_fp8_delayedscaling", "fp8"},
    {"te_fp8_currentscaling", "fp8"},
    {"te_mxfp8", "mxfp8"},
    {"te_nvfp4", "nvfp4"},
    {"te_nvfp4_no_rht", "nvfp4"},
};
constexpr std::string_view types[] = {"bfloat16", "float32", "float16"};

std::vector<std::string_view> words_of_quantization() {
  std::vector<std::string_view> words;
  for (const auto& each : quantizations) words.push_back(each.theirs);
  return words;
}

}  // namespace

void maxtext_formats(Recipe& recipe) {
  auto& o = recipe.options;
  auto& d = recipe.draft;
  if (const auto word = o.one_of("quantization", words_of_quantization())) {
    const auto& option = *o.find("quantization");
    const auto& made = *std::find_if(std::begin(quantizations), std::end(quantizations),
                                     [&](const auto& each) { return each.theirs == *word; });
    d.set("training.precision", std::string(made.ours), option);
    if (*word == "te_nvfp4_no_rht") d.set("training.hadamard_transform", "false", option);
    if (!made.left_out.empty()) d.leave_out(option, std::string(made.left_out));
  } else {
    d.set("training.precision", "bf16", std::string("MaxText's dtype"));
  }
  if (o.one_of("dtype", types).value_or("bfloat16") != "bfloat16")
    d.leave_out(*o.find("dtype"), "activations and products that are not quantised count as in bf16");
  const auto stored = o.one_of("weight_dtype", types).value_or("float32");
  if (stored == "float32")
    d.set("training.weight_precision", "fp32", std::string("weight_dtype: weights are stored in fp32 alone"));
  else if (stored == "float16")
    d.leave_out(*o.find("weight_dtype"), "weights in 16 bits count as bf16");
}

}  // namespace lockstep::recipes
