#include "sim/core/known_word.hpp"
#include "sim/scenario/reading_private.hpp"
#include "workloads/pipeline/schedules/schedules.hpp"

namespace lockstep::scenario {
namespace {

workloads::StagePlacement read_placement(const YamlView& view) {
  return workloads::all_stage_placements[view.choice({"linear", "loop", "v", "wave", "bidirectional"})];
}

void read_schedule(const YamlView& view, const YamlView& placement, PipelineSpec& pipeline) {
  const auto text = view.text();
  std::vector<std::string> names;
  for (const workloads::Schedule& schedule : workloads::schedules()) names.emplace_back(schedule.name);
  const auto known = known_word(text, names);
  pipeline.schedule = known.empty() ? text : known;
  if (known.empty())
    view.problem("'" + text + "' is not a schedule", catalog_name(text, names, "a CSV file with an order"));
  if (!placement.exists()) return;
  const auto* schedule = workloads::find_schedule(pipeline.schedule);
  if (schedule == nullptr || !schedule->designs)
    return placement.problem("schedule " + text + " has its own placement",
                             "placement only with a CSV file or schedule design");
  pipeline.placement = read_placement(placement);
}

void read_order_file(const YamlView& view, const YamlView& placement, const std::filesystem::path& folder,
                     PipelineSpec& pipeline) {
  const auto text = view.text();
  pipeline.schedule = std::filesystem::path(text).stem().string();
  pipeline.file = folder / text;
  std::error_code unreadable;
  if (!std::filesystem::is_regular_file(pipeline.file, unreadable))
    view.problem("there is no file '" + text + "'", "the path of a CSV file, seen from the scenario's folder");
  if (!placement.exists())
    return view.problem("a CSV file does not say on which ranks its stages are",
                        "placement: linear, loop, v, wave or bidirectional");
  pipeline.placement = read_placement(placement);
}

void read_schedule_or_file(const YamlView& view, const YamlView& placement, const std::filesystem::path& folder,
                           PipelineSpec& pipeline) {
  if (!view.exists()) {
    if (placement.exists())
      placement.problem("schedule 1f1b has its own placement", "placement only with a CSV file or schedule design");
    return;
  }
  if (!expect_value(view, "the name of a schedule, or a CSV file with an order")) return;
  if (view.text().ends_with(".csv")) {
    read_order_file(view, placement, folder, pipeline);
  } else {
    read_schedule(view, placement, pipeline);
  }
}

/// Stages on a line have one chunk each.
void read_chunks_of_line(const YamlView& placement, PipelineSpec& pipeline) {
  if (pipeline.placement != workloads::StagePlacement::linear) return;
  if (pipeline.chunks.value_or(1) > 1)
    placement.problem("stages on a line have one chunk each, not " + std::to_string(*pipeline.chunks),
                      "loop, v or wave, or chunks: 1");
  pipeline.chunks = 1;
}

/// Reads the options that schedules leave open; a file gives the whole order.
void read_schedule_options(const YamlView& view, KeyReader& keys, PipelineSpec& pipeline) {
  const auto small = [&](std::string_view key, std::optional<std::int32_t>& value) {
    const auto number = keys.optional(view, key);
    if (number.exists()) value = static_cast<std::int32_t>(number.integer(1, 1'000'000));
  };
  small("chunks", pipeline.chunks);
  small("group", pipeline.group);
  const auto slices = keys.optional(view, "slices");
  if (slices.exists()) pipeline.slices = static_cast<std::int32_t>(slices.integer(1, 1024));
  const auto lengths = keys.optional(view, "slice_lengths");
  if (lengths.exists()) pipeline.equal_work = lengths.choice({"equal", "equal_work"}) == 1;
  const auto* schedule = workloads::find_schedule(pipeline.schedule);
  if (schedule != nullptr && schedule->takes_slices && pipeline.file.empty() && !slices.exists())
    view["schedule"].problem("schedule " + pipeline.schedule + " needs the number of slices of a sequence",
                             "slices: 4 beside it");
  const auto limit = keys.optional(view, "memory_limit");
  if (limit.exists()) {
    for (const auto& item : limit.is_list() ? limit.items() : std::vector{limit})
      pipeline.memory_limit.push_back(item.number(0, 1e9));
    if (limit.is_list() && pipeline.memory_limit.empty())
      limit.problem("is empty", "one limit for all ranks, or one for each");
  }
  if (schedule != nullptr && schedule->designs && pipeline.file.empty())
    read_chunks_of_line(view["placement"], pipeline);
  if (pipeline.file.empty()) return;
  for (const auto* key : {"chunks", "group", "slices", "slice_lengths", "memory_limit"}) {
    const auto of_schedules = view[key];
    if (of_schedules.exists())
      of_schedules.problem("cannot be given with a CSV file", "nothing: the file gives the order");
  }
}

/// Which layers and other parts of the model stand on each stage.
void read_split(const YamlView& layers, const YamlView& layout, PipelineSpec& pipeline) {
  if (layers.is_scalar()) {
    pipeline.layers_by_speed = layers.text() == "by_speed";
    if (!pipeline.layers_by_speed)
      layers.problem("'" + layers.text() + "' is no split of the layers",
                     "the layers of each stage, such as [7, 8, 8, 7], or by_speed");
  } else if (layers.exists()) {
    for (const auto& item : layers.items()) pipeline.layers.push_back(item.integer(0, 1'000'000));
    if (layers.is_list() && pipeline.layers.empty())
      layers.problem("is empty", "the layers of each stage, such as [7, 8, 8, 7]");
  }
  if (!layout.exists()) return;
  if (layers.exists()) layout.problem("cannot be given beside layers", "one of the two");
  if (!expect_value(layout, "a layout such as Et*3|(tt|)*29,m|L")) return;
  const auto parsed = workloads::parse_layout(layout.text());
  if (const auto* problem = std::get_if<workloads::LayoutProblem>(&parsed))
    layout.problem(problem->what, problem->expected);
  else
    pipeline.layout = std::get<workloads::PipelineLayout>(parsed);
}

}  // namespace

void read_pipeline(const YamlView& view, const std::filesystem::path& folder, KeyReader& keys, Scenario& scenario) {
  if (!view.exists() || !view.expect_map("{schedule: 1f1b, ...}")) return;
  auto& pipeline = scenario.pipeline;
  const auto schedule = keys.optional(view, "schedule");
  read_schedule_or_file(schedule, keys.optional(view, "placement"), folder, pipeline);
  read_schedule_options(view, keys, pipeline);
  const auto* named = pipeline.file.empty() ? workloads::find_schedule(pipeline.schedule) : nullptr;
  if (named != nullptr && named->shares_attention && pipeline.slices > 1) {
    scenario.derive.sharing_slices = pipeline.slices;
    if (pipeline.equal_work)
      view["slice_lengths"].problem("slices of " + pipeline.schedule + " have one length", "equal");
  }
  const auto layers = keys.optional(view, "layers");
  read_split(layers, keys.optional(view, "layout"), pipeline);
  const auto sends = keys.optional(view, "sends");
  if (sends.exists()) scenario.lower.sends_in_order = sends.choice({"own_streams", "in_order"}) == 1;
  keys.flag(view, "scatter_gather", scenario.step.scatter_sends);
  const auto gradients = keys.optional(view, "weight_gradients");
  if (gradients.exists()) {
    scenario.step.delay_weight_gradients = gradients.choice({"in_place", "delayed"}) == 1;
    if (scenario.step.delay_weight_gradients && scenario.replay)
      gradients.problem("measured operations run in the order in which they are listed", "in_place");
  }
  view.refuse_unknown_keys();
}

}  // namespace lockstep::scenario
