#include "sim/scenario/reading_private.hpp"

#include <algorithm>
#include <array>
#include <cctype>

#include "sim/core/known_word.hpp"
#include "sim/core/quantity_text.hpp"
#include "sim/core/visible_text.hpp"
#include "sim/core/yaml_view.hpp"
#include "sim/scenario/limits.hpp"
#include "sim/scenario/scenario_of_document.hpp"
#include "topologies/cluster/least_capacity.hpp"
#include "workloads/model/huggingface/import_hf.hpp"

namespace lockstep::scenario {
namespace {

constexpr std::int64_t most_tokens = 100'000'000'000;  // keeps every size in bytes far inside 64 bits

class Reader {
 public:
  Reader(const YamlView& root, std::filesystem::path folder, Problems& problems, LastParts& last)
      : root_(root), folder_(std::move(folder)), problems_(problems), last_(last) {}

  Scenario read() {
    format();
    model();
    cluster();
    mesh();
    parallel();
    read_pipeline(optional(root_, "pipeline"), folder_, keys_, scenario_);
    plan();
    batch();
    training();
    read_routing(optional(root_, "routing"), folder_, keys_, scenario_, problems_);
    read_communication(optional(root_, "communication"), keys_, scenario_);
    search();
    model_of_time();
    const auto perturbations = optional(root_, "perturbations");
    if (perturbations.exists()) {
      scenario_.perturbations = read_perturbations(perturbations);
      for (const auto& item : perturbations.items()) note(item);
    }
    const auto variations = optional(root_, "variations");
    if (variations.exists()) scenario_.variations = read_variations(variations);
    const auto reliability = optional(root_, "reliability");
    if (reliability.exists()) scenario_.reliability = read_reliability(reliability, keys_);
    root_.refuse_unknown_keys();
    return std::move(scenario_);
  }

 private:
  void search() {
    const auto view = optional(root_, "search");
    read_search(view, keys_, scenario_.derive.recompute, scenario_.search);
    if (!scenario_.search.memory) return;
    const auto least = least_capacity(scenario_.cluster);
    if (least > Bytes(0) && *scenario_.search.memory > least)  // 0: the cluster was not read
      view["memory"].problem(
          "is more than the " + lockstep::format(least) + " that a program can have of the chip's memory",
          "at most that");
  }

  YamlView note(YamlView view) { return keys_.note(std::move(view)); }
  YamlView optional(const YamlView& parent, std::string_view key) { return keys_.optional(parent, key); }
  YamlView require(const YamlView& parent, std::string_view key, std::string_view expected) {
    return keys_.require(parent, key, expected);
  }
  void flag(const YamlView& parent, std::string_view key, bool& value) { keys_.flag(parent, key, value); }

  void format() {
    const auto view = require(root_, "format", "1, the format of scenario files that this version reads");
    if (view.exists() && view.integer() != 1) view.problem("format " + view.text() + " is not known", "1");
  }

  void model() {
    const std::string expected =
        "a catalog name, a path to a Hugging Face config.json, or a block that describes the model";
    const auto view = require(root_, "model", expected);
    if (!view.exists()) return;
    if (view.is_map()) {
      if (const auto replay = view["replay"]; replay.exists()) {
        scenario_.model.name = "replay of measured operations";
        scenario_.replay = workloads::read_replay(note(replay));
        view.refuse_unknown_keys();
        return;
      }
    } else if (!expect_value(view, expected)) {
      return;
    }
    scenario_.model = last_.model.value_of(view, problems_, [&] { return model_of(view); });
  }

  workloads::Model model_of(const YamlView& view) {
    if (view.is_map()) return workloads::read_model(view, "inline");
    const auto text = view.text();
    if (text.ends_with(".json") || text.find('/') != std::string::npos) return config_json(view);
    const auto catalog = data_root() / "workloads" / "catalog";
    const auto names = workloads::model_names(catalog);
    if (const auto name = known_word(text, names); !name.empty())
      return workloads::load_model(catalog, name, problems_);
    view.problem("model '" + text + "' is not in the catalog", catalog_name(text, names, "a path to a config.json"));
    return {};
  }

  workloads::Model config_json(const YamlView& view) {
    std::error_code unreadable;
    if (std::filesystem::is_regular_file(folder_ / view.text(), unreadable))
      return workloads::import_hf_config(folder_ / view.text(), problems_);
    view.problem("there is no file '" + view.text() + "'",
                 "the path of a config.json, seen from the scenario's folder");
    return {};
  }

  void cluster() {
    const std::string expected =
        "CHIP:SHAPE such as tpu-v5p:16x20x28, NODE:NODES such as h100:64, or a map {chip: ..., shape: [...]} or {node: "
        "..., nodes: ...}";
    const auto view = require(root_, "cluster", expected);
    if (!view.exists()) return;
    if (!view.is_map() && !expect_value(view, expected)) return;
    scenario_.cluster = last_.cluster.value_of(view, problems_, [&] {
      return view.is_map() ? read_cluster(view, folder_, problems_)
                           : parse_cluster(view.text(), view.where(), view.path(), problems_);
    });
    if (!view.is_map()) return;
    for (const auto& key : view.keys()) note(view[key]);  // after the unknown ones were refused
    if (const auto background = view["background"]; background.is_list()) {
      for (const auto& item : background.items()) note(item);
    }
  }

  void mesh() {
    const auto view = optional(root_, "mesh");
    if (!view.exists() || !view.expect_map("logical axes and where they lie, such as {tensor: [x/2, y/2], fsdp: rest}"))
      return;
    for (const auto& name : view.keys()) {
      const auto place = optional(view, name);
      topologies::AxisRequest request;
      request.name = name;
      request.place.emplace();
      const std::string expected = "parts of physical axes such as [x, y/2], or rest";
      for (const auto& part : place.is_list() ? place.items() : std::vector{place}) {
        if (expect_value(part, expected)) request.place->push_back(part.text());
      }
      if (name.empty() ||
          !std::all_of(name.begin(), name.end(), [](unsigned char c) { return std::isalnum(c) != 0; }) ||
          name == "compute") {
        place.problem("'" + name + "' cannot name a mesh axis", "letters and digits only, and not 'compute'");
      }
      scenario_.mesh.push_back(std::move(request));
    }
  }

  /// Sizes of the standard axes; joined with what `mesh` places. Innermost (most bandwidth) first.
  void parallel() {
    scenario_.derive.context_attention = scenario_.model.indexer || scenario_.model.compressed
                                             ? workloads::ContextAttention::all_gather
                                             : workloads::ContextAttention::ring;
    const auto view = optional(root_, "parallel");
    if (!view.exists() || !view.expect_map("sizes of the standard axes, such as {tensor: 4, fsdp: 2240}")) return;
    for (const auto* name : {"tensor", "context", "expert", "fsdp", "data", "pipeline"}) {
      const auto size = optional(view, name);
      if (!size.exists()) continue;
      const auto value = static_cast<int>(size.integer(1, 1'000'000));
      const auto known =
          std::find_if(scenario_.mesh.begin(), scenario_.mesh.end(), [&](const auto& r) { return r.name == name; });
      if (known != scenario_.mesh.end()) {
        known->size = value;
      } else if (value > 1) {
        scenario_.mesh.push_back({name, value, std::nullopt});
      }
    }
    const auto zero = optional(view, "zero");
    if (zero.is_map()) {
      for (const auto* axis : {"data", "fsdp", "context", "expert"}) {
        const auto stage = optional(zero, axis);
        if (!stage.exists()) continue;
        scenario_.parallel.zero_of[axis] = static_cast<int>(stage.integer(0, 3));
        const bool there = std::any_of(scenario_.mesh.begin(), scenario_.mesh.end(),
                                       [&](const auto& request) { return request.name == axis; });
        if (!there) stage.problem("there is no axis " + std::string(axis), "an axis with a size in parallel");
      }
      zero.refuse_unknown_keys();
    } else if (zero.exists()) {
      scenario_.parallel.zero = static_cast<int>(zero.integer(0, 3));
    }
    flag(view, "sequence_parallel", scenario_.parallel.sequence_parallel);
    const auto over = optional(view, "experts_over");
    if (over.exists()) {
      scenario_.parallel.experts_over.clear();
      for (const auto& item : over.is_list() ? over.items() : std::vector{over}) {
        const std::vector<std::string_view> axes{"expert", "tensor", "context"};
        scenario_.parallel.experts_over.emplace_back(axes[item.choice({"expert", "tensor", "context"})]);
      }
    }
    const auto inside = optional(view, "expert_tensor");
    if (inside.exists()) scenario_.parallel.expert_tensor = inside.integer(1, 1'000'000);
    const auto attention = optional(view, "context_attention");
    if (attention.exists()) {
      scenario_.derive.context_attention =
          std::array{workloads::ContextAttention::ring, workloads::ContextAttention::all_gather,
                     workloads::ContextAttention::all_to_all}[attention.choice({"ring", "all_gather", "all_to_all"})];
    }
    const auto tokens = optional(view, "context_tokens");
    if (tokens.exists()) scenario_.lengths.tokens_of_rank = tokens.integer(1, most_tokens);
    const auto order = optional(view, "context_order");
    if (order.exists()) scenario_.derive.balanced_context = order.choice({"balanced", "contiguous"}) == 0;
    view.refuse_unknown_keys();
  }

  void plan() {
    const auto view = optional(root_, "plan");
    if (!view.exists() || !view.expect_map("shardings of activations, weights, gradients, optimizer")) return;
    if (scenario_.replay) return view.problem("replayed operations have no tensors", "no plan with model.replay");
    workloads::AxisNames axes;
    for (const auto& request : scenario_.mesh) {
      if (request.name != "pipeline") axes.push_back(request.name);  // it splits the model, not its arrays
    }
    auto tensors = [&](std::string_view key, std::vector<workloads::ShardedTensor>& into) {
      const auto list = optional(view, key);
      if (!list.exists()) return;
      for (const auto& item : list.items()) {
        if (!expect_value(item, "a sharding such as Win[D_X, F_Y]")) continue;
        try {
          into.push_back(workloads::parse_tensor(item.text(), axes));
          const auto [first, is_new] = scenario_.places.emplace(list.path() + "." + into.back().name, item.where());
          if (!is_new)
            item.problem(into.back().name + " is given twice",
                         "each tensor once; it is at " + first->second.to_string() + " already");
        } catch (const workloads::ShardingError& error) {
          item.problem(error.what_is_wrong(), error.expected());
        }
      }
    };
    tensors("activations", scenario_.plan.activations);
    tensors("weights", scenario_.plan.weights);
    tensors("gradients", scenario_.plan.gradients);
    tensors("optimizer", scenario_.plan.optimizer);
    view.refuse_unknown_keys();
  }

  void batch() {
    const auto view = require(root_, "batch", "{sequences: ..., sequence_length: ...}");
    if (!view.exists() || !view.expect_map("{sequences: ..., sequence_length: ...}")) return;
    auto& batch = scenario_.batch;
    const auto sequences = require(view, "sequences", "sequences of one step, over all ranks");
    const auto length = require(view, "sequence_length", "tokens of one sequence");
    if (sequences.exists()) batch.sequences = sequences.integer(1, most_tokens);
    if (length.exists()) batch.sequence_length = length.integer(1, most_tokens);
    const auto microbatches = optional(view, "microbatches");
    if (microbatches.exists()) batch.microbatches = microbatches.integer(1, most_microbatches_of_a_step);
    const auto size = optional(view, "microbatch_size");
    read_lengths(view, folder_, keys_, scenario_, problems_);
    view.refuse_unknown_keys();
    if (batch.sequences <= 0 || batch.sequence_length <= 0) return;
    if (size.exists()) count_microbatches(size, microbatches.exists());
    if (batch.sequences > most_tokens / batch.sequence_length) {
      sequences.problem("one step has more than 1e11 tokens", "at most 1e11 tokens in sequences x sequence_length");
    }
    if (batch.microbatches > 0 && batch.sequences % batch.microbatches != 0) {
      microbatches.problem("microbatches " + std::to_string(batch.microbatches) + " do not divide " +
                               std::to_string(batch.sequences) + " sequences",
                           "a number that divides " + std::to_string(batch.sequences));
    }
    scenario_.step.microbatches = batch.microbatches;
  }

  /// Computes the number of microbatches from the sequences of a microbatch on each rank that splits the batch.
  void count_microbatches(const YamlView& size, bool counted) {
    if (counted) return size.problem("the microbatches are given twice", "either microbatches or microbatch_size");
    auto& batch = scenario_.batch;
    std::int64_t in_one = size.integer(1, most_tokens);
    for (const auto* axis : {"data", "fsdp", "expert"}) {
      for (const auto& request : scenario_.mesh) {
        if (request.name != axis) continue;
        if (request.size == 0)
          return size.problem("how many ranks split the batch is not known before the cluster is built",
                              "a size of " + std::string(axis) + " in parallel");
        in_one = std::min(in_one * request.size, most_tokens);
      }
    }
    if (batch.sequences % in_one != 0 || batch.sequences / in_one > most_microbatches_of_a_step) {
      return size.problem("microbatches of " + std::to_string(in_one) + " sequences over all ranks do not make up " +
                              std::to_string(batch.sequences),
                          "microbatch_size x data x fsdp x expert to divide the sequences, in at most " +
                              std::to_string(most_microbatches_of_a_step) + " microbatches");
    }
    batch.microbatches = batch.sequences / in_one;
  }

  void training() {
    const auto view = optional(root_, "training");
    if (view.exists() && view.expect_map("{precision: bf16, optimizer: adam, ...}"))
      read_training(view, keys_, scenario_);
  }

  void model_of_time() {
    const auto view = optional(root_, "model_of_time");
    constexpr std::array models{cost::TimeModel::ideal, cost::TimeModel::roofline, cost::TimeModel::calibrated};
    scenario_.time_model_chosen = view.exists();
    if (view.exists()) {
      scenario_.time_model = models[view.choice({"ideal", "roofline", "calibrated"})];
    } else if (!scenario_.replay) {
      const auto chips = scenario_.cluster.chips();
      const bool measured = std::none_of(chips.begin(), chips.end(), [&](const topologies::Chip& chip) {
        return cost::unmeasured_precision(chip, scenario_.training.precision).has_value();
      });
      scenario_.time_model = measured ? cost::TimeModel::calibrated : cost::TimeModel::ideal;
    }
  }

  const YamlView& root_;
  std::filesystem::path folder_;
  Problems& problems_;
  LastParts& last_;
  Scenario scenario_;
  KeyReader keys_{scenario_.places};
};

}  // namespace

std::int64_t Scenario::chips() const { return cluster.devices(); }

Location Scenario::where(std::string key) const {
  while (true) {
    if (const auto found = places.find(key); found != places.end()) return found->second;
    const auto dot = key.rfind('.');
    if (dot == std::string::npos) {
      const auto root = places.find("");
      return root != places.end() ? root->second : Location{};
    }
    key.resize(dot);
  }
}

namespace {

/// Not one key is a scenario's, so each would be wrong.
bool is_another_kind_of_file(const YamlView& root) {
  const auto keys = root.keys(), known = scenario_keys();
  const auto is_known = [&](const auto& key) { return std::find(known.begin(), known.end(), key) != known.end(); };
  return !keys.empty() && std::none_of(keys.begin(), keys.end(), is_known);
}

Scenario read_scenario(YamlView root, const std::vector<KeyOverride>& overrides, const std::filesystem::path& folder,
                       Problems& problems, LastParts& last) {
  problems.throw_if_any();
  for (const auto& override_ : overrides) root = root.with_override(override_.path, override_.value);
  problems.throw_if_any();
  if (!root.expect_map("a mapping with the keys format, model, cluster, batch, ...")) problems.throw_if_any();
  if (is_another_kind_of_file(root)) {
    root.problem("is no scenario: it has none of a scenario's keys", "format, model, cluster, batch and so on");
    problems.throw_if_any();
  }
  auto scenario = Reader(root, folder, problems, last).read();
  problems.throw_if_any();
  return scenario;
}

}  // namespace

Scenario scenario_of_document(const YamlView& root, const std::vector<KeyOverride>& overrides, const std::string& name,
                              const std::filesystem::path& folder, Problems& problems, LastParts& last) {
  auto scenario = read_scenario(root, overrides, folder, problems, last);
  scenario.name = name;
  scenario.places[""] = {root.where().file, 1, 1};
  return scenario;
}

Scenario load_scenario(const std::filesystem::path& file, const std::vector<KeyOverride>& overrides) {
  Problems problems;
  LastParts none;
  return scenario_of_document(YamlView::from_file(file, problems), overrides, visible(file.stem().string()),
                              file.parent_path(), problems, none);
}

Scenario scenario_of_text(std::string_view text, const std::string& name, const std::filesystem::path& folder) {
  Problems problems;
  LastParts none;
  return scenario_of_document(YamlView::from_text(text, name, problems), {}, name, folder, problems, none);
}

}  // namespace lockstep::scenario
