// The key `routing`: how tokens come to experts.
#include <algorithm>
#include <map>
#include <set>

#include "sim/core/csv_table.hpp"
#include "sim/core/quantity_text.hpp"
#include "sim/scenario/reading_private.hpp"

namespace lockstep::scenario {
namespace {

/// A column's number of at least 0; nothing, with a problem, for anything else.
std::optional<std::int64_t> number_from_0(const CsvRow& row, const char* column, std::int64_t most) {
  const auto text = row.text(column);
  const bool digits = !text.empty() && text.size() <= 15 && text.find_first_not_of("0123456789") == std::string::npos;
  if (digits && std::stoll(text) <= most) return std::stoll(text);
  row.problem(column, "'" + text + "' is no whole number from 0 to " + std::to_string(most), "such a number");
  return std::nullopt;
}

/// Counted tokens: a line for each expert, with its layer where layers differ. Experts without a line got none.
std::vector<std::vector<double>> read_loads(const std::filesystem::path& file, std::int64_t experts,
                                            Problems& problems) {
  const auto before = problems.size();
  const CsvTable table(file, problems);
  if (problems.size() > before || !table.require({"expert", "tokens"})) return {};
  std::map<std::int64_t, std::vector<double>> by_layer;
  std::set<std::pair<std::int64_t, std::int64_t>> told;
  for (const auto& row : table.rows()) {
    const auto expert = number_from_0(row, "expert", experts - 1);
    const auto tokens = number_from_0(row, "tokens", 1'000'000'000'000);
    const auto layer = table.has("layer") ? number_from_0(row, "layer", 1'000'000) : std::optional<std::int64_t>(0);
    if (!expert || !tokens || !layer) continue;
    if (!told.emplace(*layer, *expert).second)
      row.problem("expert", "expert " + std::to_string(*expert) + " of this layer is told twice", "a line for each");
    auto& loads = by_layer.try_emplace(*layer, static_cast<std::size_t>(experts), 0.0).first->second;
    loads[static_cast<std::size_t>(*expert)] = static_cast<double>(*tokens);
  }
  std::vector<std::vector<double>> rows;
  for (auto& [layer, loads] : by_layer) {
    if (problems.size() == before && std::all_of(loads.begin(), loads.end(), [](double tokens) { return tokens == 0; }))
      problems.add({{file.string(), 0, 0},
                    "",
                    "no expert " + (by_layer.size() > 1 ? "of layer " + std::to_string(layer) + " " : std::string()) +
                        "has a token",
                    "the tokens that a router was counted to send"});
    rows.push_back(std::move(loads));
  }
  if (rows.empty() && problems.size() == before)
    problems.add({{file.string(), 0, 0}, "", "has no lines", "a line for each expert"});
  return rows;
}

void read_given_loads(const YamlView& view, const std::filesystem::path& folder, Scenario& scenario,
                      Problems& problems) {
  if (!expect_value(view, "the path of a CSV file with the columns expert and tokens")) return;
  const auto file = folder / view.text();
  std::error_code unreadable;
  if (!std::filesystem::is_regular_file(file, unreadable))
    return view.problem("there is no file '" + view.text() + "'",
                        "the path of a CSV file with the columns expert and tokens, seen from the scenario's folder");
  if (scenario.model.experts) scenario.routing.loads = read_loads(file, scenario.model.experts->count, problems);
}

/// Sets what Megatron Core does beside the products of a mixture, by the year of its releases, where the scenario says
/// nothing else. Until 2025 the router and the permutation of tokens are eager steps; rows in 8 bits are filled up by
/// copies, as long as recipes leave moe_router_padding_for_quantization off.
void read_software(const YamlView& view, Scenario& scenario) {
  if (!view.exists()) return;
  constexpr double eager_traffic = 2.2;  // docs/models/experts.md
  auto& derive = scenario.derive;
  const bool eager = view.choice({"megatron 2025", "megatron 2026"}) == 0;
  if (eager && !scenario.places.contains("training.elementwise_traffic")) derive.elementwise_traffic = eager_traffic;
  const auto precision = scenario.training.precision;
  if (!is_narrow(precision) || scenario.routing.capacity_factor) return;
  const bool scaled = precision == topologies::Precision::mxfp8 || precision == topologies::Precision::nvfp4;
  derive.rows_multiple = scaled ? 32 : 16;
  derive.filled_by_copies = true;
}

}  // namespace

void read_routing(const YamlView& view, const std::filesystem::path& folder, KeyReader& keys, Scenario& scenario,
                  Problems& problems) {
  if (!view.exists() || !view.expect_map("{variation: 0.3, seed: 1} or {capacity_factor: 1.25}")) return;
  if (!scenario.model.experts && !scenario.model.name.empty())
    view.problem("the model has no experts", "routing only with a mixture of experts");
  auto& routing = scenario.routing;
  const auto capacity = keys.optional(view, "capacity_factor");
  const auto variation = keys.optional(view, "variation");
  const auto loads = keys.optional(view, "loads");
  const auto seed = keys.optional(view, "seed");
  if (capacity.exists()) routing.capacity_factor = capacity.number(0.01, 1000);
  if (variation.exists()) routing.variation = variation.number(0, 100);
  if (seed.exists()) routing.seed = static_cast<std::uint64_t>(seed.integer(0, 1'000'000'000));
  if (loads.exists()) read_given_loads(loads, folder, scenario, problems);
  const auto dispatch = keys.optional(view, "dispatch");
  if (dispatch.exists() && dispatch.choice({"16-bit", "8-bit"}) == 1) scenario.derive.dispatch_element = Bytes(1);
  const auto slots = keys.optional(view, "slots");
  scenario.derive.counted_slots = !capacity.exists();
  scenario.derive.one_hot_slots = slots.exists() && slots.choice({"by index", "by mask"}) == 1;
  if (scenario.derive.one_hot_slots && !capacity.exists())
    slots.problem("masks need the same number of slots for every expert", "a capacity_factor");
  read_software(keys.optional(view, "software"), scenario);
  const auto products = keys.optional(view, "products");
  scenario.derive.grouped_products = products.exists() && products.choice({"one by one", "grouped"}) == 1;
  const auto multiple = keys.optional(view, "rows_multiple"), wait = keys.optional(view, "counts_wait");
  if (multiple.exists()) {
    scenario.derive.rows_multiple = multiple.integer(1, 4096);
    scenario.derive.filled_by_copies = scenario.derive.filled_by_copies && scenario.derive.rows_multiple > 1;
  }
  if (const auto padding = keys.optional(view, "padding"); padding.exists()) {
    scenario.derive.filled_by_copies = padding.choice({"as routed", "by copies"}) == 1;
    if (scenario.derive.filled_by_copies && scenario.derive.rows_multiple == 1)
      padding.problem("nothing fills rows up", "a rows_multiple, such as 16");
  }
  if (wait.exists()) scenario.derive.counts_wait = wait.seconds(true);
  if (capacity.exists() && scenario.derive.rows_multiple > 1)
    multiple.problem("cannot be given with a capacity factor", "slots of a capacity alone, filled or not");
  if (capacity.exists() && scenario.derive.counts_wait > Seconds(0))
    wait.problem("cannot be given with a capacity factor", "no wait: the host knows how many slots there are");
  if (capacity.exists() && variation.exists())
    variation.problem("cannot be given with a capacity factor",
                      "one of the two: with a capacity every expert computes the same number of slots");
  if (loads.exists() && (capacity.exists() || variation.exists()))
    loads.problem("cannot be given with a capacity factor or a variation", "counted loads alone");
  view.refuse_unknown_keys();
}

}  // namespace lockstep::scenario
