// The pipeline of Megatron's arguments (megatron/training/arguments.py, core/transformer/transformer_block.py).
#include "sim/core/yaml_text.hpp"
#include "sim/studies/recipes/dialects_private.hpp"
#include "workloads/pipeline/layout.hpp"

namespace lockstep::recipes {
namespace {

/// A layout as a list of lists of words, as Megatron Bridge writes it, in letters; "" if it is none.
std::string letters_of_lists(const std::string& lists) {
  std::string letters, word;
  int depth = 0;
  const auto add_word = [&] {
    if (word == "embedding") letters += 'E';
    if (word == "decoder") letters += 't';
    if (word == "mtp") letters += 'm';
    if (word == "loss") letters += 'L';
    word.clear();
  };
  for (const char c : lists) {
    if (c >= 'a' && c <= 'z') {
      word += c;
      continue;
    }
    add_word();
    if (c == '[' && ++depth > 0 && !letters.empty() && letters.back() != '|') letters += '|';
  }
  add_word();
  return letters;
}

void set_layout(Recipe& recipe, const RecipeOption& option, std::int64_t pipeline) {
  auto text = option.text();
  if (text.find("decoder") != std::string::npos) text = letters_of_lists(text);
  const auto parsed = workloads::parse_layout(text);
  if (const auto* problem = std::get_if<workloads::LayoutProblem>(&parsed))
    return recipe.options.problem(option, problem->what, problem->expected);
  const auto& layout = std::get<workloads::PipelineLayout>(parsed);
  if (layout.count() > pipeline) recipe.draft.set("pipeline.schedule", "interleaved", option);
  recipe.draft.set("pipeline.layout", in_one_line(workloads::layout_text(layout)), option);
}

/// Layers of the chunks where the embedding or the loss stands for one (--account-for-embedding-in-pipeline-split), or
/// where the first and the last stage have their own number.
void set_uneven_layers(Recipe& recipe, std::int64_t layers, std::int64_t pipeline, std::int64_t chunks) {
  auto& o = recipe.options;
  const bool with_embedding = o.flag("account-for-embedding-in-pipeline-split");
  const bool with_loss = o.flag("account-for-loss-in-pipeline-split");
  const auto first = o.number("decoder-first-pipeline-num-layers"), last = o.number("decoder-last-pipeline-num-layers");
  if (!with_embedding && !with_loss && !first && !last) return;
  const auto* because = with_embedding ? o.find("account-for-embedding-in-pipeline-split")
                        : with_loss    ? o.find("account-for-loss-in-pipeline-split")
                        : first        ? o.find("decoder-first-pipeline-num-layers")
                                       : o.find("decoder-last-pipeline-num-layers");
  const auto others = pipeline - (first ? 1 : 0) - (last ? 1 : 0);
  const auto shared = layers - first.value_or(0) - last.value_or(0) + (with_embedding ? 1 : 0) + (with_loss ? 1 : 0);
  const auto divides = [&](std::int64_t number, std::int64_t parts) {
    return parts > 0 ? number % parts == 0 : number == 0;
  };
  if (shared < 0 || !divides(shared, others) || (others > 0 && !divides(shared / others, chunks)) ||
      !divides(first.value_or(0), chunks) || !divides(last.value_or(0), chunks))
    return o.problem(*because,
                     std::to_string(shared) + " layers do not divide over " + std::to_string(others) + " stages of " +
                         std::to_string(chunks) + " chunks",
                     "another number of layers on the first or last stage");
  std::vector<std::int64_t> list;
  for (std::int64_t chunk = 0; chunk < chunks; ++chunk) {
    for (std::int64_t stage = 0; stage < pipeline; ++stage) {
      const auto on_stage = stage == 0 && first             ? *first
                            : stage + 1 == pipeline && last ? *last
                            : others > 0                    ? shared / others
                                                            : 0;
      list.push_back(on_stage / chunks);
    }
  }
  if (with_embedding) --list.front();
  if (with_loss) --list.back();
  recipe.draft.set("pipeline.layers", list_of(list), *because);
}

}  // namespace

void megatron_pipeline(Recipe& recipe, std::int64_t pipeline) {
  auto& o = recipe.options;
  auto& d = recipe.draft;
  if (pipeline <= 1) return;
  const auto layers = whole_number(d.value("model.layers")).value_or(recipe.layers);
  d.set("pipeline.schedule", "1f1b", *o.find({"pipeline-model-parallel-size"}));
  const auto* layout = o.find("pipeline-model-parallel-layout");
  const auto per_chunk = o.number("num-layers-per-virtual-pipeline-stage");
  auto chunks = o.number({"num-virtual-stages-per-pipeline-rank", "virtual-pipeline-model-parallel-size"});
  const auto* because = o.find({"num-virtual-stages-per-pipeline-rank", "virtual-pipeline-model-parallel-size"});
  if (per_chunk && !chunks) {
    because = o.find("num-layers-per-virtual-pipeline-stage");
    if (layers == 0) {
      d.leave_out(*because, "the number of chunks follows from layers, which --model has; pipeline.chunks says it");
    } else if (layers % (pipeline * *per_chunk) != 0) {
      o.problem(*because,
                std::to_string(layers) + " layers do not divide over " + std::to_string(pipeline) +
                    " stages in chunks of " + std::to_string(*per_chunk),
                "a number of which the layers of a stage are a multiple");
    } else {
      chunks = layers / pipeline / *per_chunk;
    }
  }
  if (layout != nullptr && layout->text() != "null") {
    set_layout(recipe, *layout, pipeline);
  } else {
    if (chunks.value_or(1) > 1) {
      d.set("pipeline.schedule", "interleaved", *because);
      d.set("pipeline.chunks", *chunks, *because);
    }
    set_uneven_layers(recipe, layers, pipeline, chunks.value_or(1));
  }
  const bool is_interleaved = d.value("pipeline.schedule") == "interleaved";
  if (const auto* overlap = o.find("overlap-moe-expert-parallel-comm");
      overlap != nullptr && is_interleaved && o.flag("overlap-moe-expert-parallel-comm"))
    d.set("pipeline.schedule", "overlap-1f1b", *overlap);
  // Only interleaved schedules run transfers beside computation; batch_p2p_sync, which others have, is always on.
  const auto* apart = o.find({"no-overlap-p2p-communication", "overlap-p2p-comm"});
  const bool turned_off =
      o.flag("no-overlap-p2p-communication") || (o.find("overlap-p2p-comm") != nullptr && !o.flag("overlap-p2p-comm"));
  if (!is_interleaved || turned_off)
    d.set("communication.host_waits_for_transfers", "true",
          turned_off ? *apart : *o.find({"pipeline-model-parallel-size"}));
  if (o.flag("delay-wgrad-compute")) d.set("pipeline.weight_gradients", "delayed", *o.find("delay-wgrad-compute"));
  const auto group = o.number("microbatch-group-size-per-virtual-pipeline-stage");
  if (group && is_interleaved)
    d.set("pipeline.group", *group, *o.find("microbatch-group-size-per-virtual-pipeline-stage"));
}

}  // namespace lockstep::recipes
