#include "topologies/chips/chip_kernels.hpp"

#include <algorithm>

namespace lockstep::topologies {
namespace {

constexpr double least_share = 0.01;
constexpr double most_of_attention = 2;  // of the rate in 16 bits: kernels that multiply in 8 reach more than all of it
constexpr std::int64_t most_own_steps = 1'000'000;

/// A key that must be there, unless another chip's kernels hold where the view is silent.
struct Keys {
  const YamlView& view;
  bool silent_is_base;
  YamlView operator()(std::string_view key, std::string_view expected) const {
    return silent_is_base ? view[key] : view.require(key, expected);
  }
  void number(std::string_view key, std::string_view expected, double least, double most, double& value) const {
    if (const auto given = (*this)(key, expected); given.exists()) value = given.number(least, most);
  }
  void share_of(std::string_view key, std::string_view expected, double& value) const {
    number(key, expected, least_share, 1, value);
  }
  void time(std::string_view key, std::string_view expected, Seconds& value) const {
    if (const auto given = (*this)(key, expected); given.exists()) value = given.seconds(true);
  }
};

void read_matrix(const YamlView& matrix, ChipKernels& kernels) {
  if (!matrix.expect_map("shares of the peak, such as {bf16: 0.85}")) return;
  for (const auto& key : matrix.keys()) {
    if (const auto precision = precision_named(key)) {
      kernels.matrix[*precision] = matrix[key].number(least_share, 1);
    } else {
      matrix[key].problem("unknown precision", "one of fp32, bf16, fp16, fp8, int8, fp4");
    }
  }
}

/// 0, or a share of the memory bandwidth.
void read_accumulation(const YamlView& view, ChipKernels& kernels) {
  const double share = view.number(0, 10);
  if (share > 0 && share < least_share)
    return view.problem("`" + view.text() + "` is too small",
                        "0, which is beside the product, or a number from 0.01 to 10");
  kernels.accumulation = share;
}

void read_units(const YamlView& view, bool silent_is_base, ChipKernels& kernels) {
  const auto waves = view["waves"];
  const auto systolic = view["systolic"];
  if (!waves.exists() && !systolic.exists() && silent_is_base) return;
  if (waves.exists() == systolic.exists())
    view.problem("not one kind of matrix unit", "either waves (GPUs) or systolic (TPUs)");
  kernels.units = 0, kernels.systolic = 0;
  if (systolic.exists()) kernels.systolic = static_cast<int>(systolic.integer(1, 4096));
  if (!waves.exists() || !waves.expect_map("a map, such as {units: 132, tile_edge: 8}")) return;
  kernels.units =
      static_cast<int>(waves.require("units", "the chip's multiprocessors, such as 132").integer(1, 100'000));
  kernels.tile_edge = waves.require("tile_edge", "elements, such as 8").number(0, 1000);
  waves.refuse_unknown_keys();
}

void read_grouped_tile(const YamlView& view, ChipKernels& kernels) {
  if (!view.exists()) return;
  if (kernels.systolic == 0) return view.problem("is for chips with a systolic array", "systolic");
  kernels.grouped_tile = static_cast<int>(view.integer(0, 100'000));
}

constexpr std::string_view attention_map = "a map, such as {forward: 0.7, backward: 0.6, softmax: 50, block: 128}";

void read_attention(const YamlView& view, bool silent_is_base, AttentionKernels& kernels, bool usual) {
  if (!view.expect_map(std::string(attention_map))) return;
  if (usual && view["library"].exists()) kernels.name = view["library"].text();
  const Keys keys{view, silent_is_base};
  keys.number("forward", "a share of the matrix rate, such as 0.7", least_share, most_of_attention, kernels.forward);
  keys.number("backward", "a share of the matrix rate, such as 0.6", least_share, most_of_attention, kernels.backward);
  keys.number("softmax", "elements of the head size, such as 50", 0, 10'000, kernels.softmax);
  keys.number("block", "keys, such as 128", 0, 100'000, kernels.block);
  if (const auto share = view["unlike_heads"]; share.exists()) kernels.unlike_heads = share.number(least_share, 1);
  if (const auto cost = view["random"]; cost.exists()) kernels.random = cost.number(0, 100);
  if (const auto power = view["power"]; power.exists()) kernels.power = power.number(least_share, 1);
  view.refuse_unknown_keys();
}

/// Kernels of a name that the base has too stand over its values.
void read_other_attention(const YamlView& view, ChipKernels& kernels) {
  if (!view.exists() || !view.expect_map("a map of names, such as {flash-attention-2: {forward: 0.4, ...}}")) return;
  auto& all = kernels.other_attention;
  for (const auto& name : view.keys()) {
    if (name == kernels.attention.name) {
      view[name].problem("are the usual kernels", "its values under attention, or another name");
      continue;
    }
    const auto known = std::find_if(all.begin(), all.end(), [&](const auto& each) { return each.name == name; });
    auto& kernel = known != all.end() ? *known : all.emplace_back();
    const bool is_new = kernel.name.empty();
    kernel.name = name;
    read_attention(view[name], !is_new, kernel, false);
  }
}

void read_communication(const YamlView& view, ChipKernels& kernels) {
  if (!view.exists() ||
      !view.expect_map(kernels.units > 0 ? "a map, such as {units: 20, memory: 0.1}" : "a map, such as {memory: 0.4}"))
    return;
  if (kernels.units > 0) {
    const auto units = view.require("units", "multiprocessors that collectives hold, such as 20");
    kernels.communication_units = static_cast<int>(units.integer(0, kernels.units - 1));
  } else if (const auto units = view["units"]; units.exists()) {
    units.problem("is for chips with multiprocessors", "waves");
  }
  kernels.communication_memory = view.require("memory", "a share of the memory bandwidth, such as 0.1").number(0, 0.9);
  view.refuse_unknown_keys();
}

}  // namespace

const AttentionKernels* attention_called(const ChipKernels& kernels, std::string_view name) {
  if (kernels.attention.name == name) return &kernels.attention;
  const auto& others = kernels.other_attention;
  const auto found = std::find_if(others.begin(), others.end(), [&](const auto& each) { return each.name == name; });
  return found == others.end() ? nullptr : &*found;
}

std::string attention_names(const ChipKernels& kernels) {
  std::string names = kernels.attention.name;
  for (const auto& other : kernels.other_attention) names += (names.empty() ? "" : ", ") + other.name;
  return names;
}

ChipKernels read_chip_kernels(const YamlView& view, const ChipKernels* base) {
  ChipKernels kernels = base != nullptr ? *base : ChipKernels{};
  if (!view.expect_map("the parameters of its kernels")) return kernels;
  const Keys keys{view, base != nullptr};
  if (const auto matrix = keys("matrix", "shares of the peak, such as {bf16: 0.85}"); matrix.exists())
    read_matrix(matrix, kernels);
  if (const auto sustained = view["sustained"]; sustained.exists())
    kernels.sustained = sustained.number(least_share, 1);
  keys.share_of("memory", "a share of the memory bandwidth, such as 0.9", kernels.memory);
  if (const auto added = view["accumulation"]; added.exists()) read_accumulation(added, kernels);
  if (const auto indexed = view["indexed"]; indexed.exists()) kernels.indexed = indexed.number(least_share, 1);
  read_units(view, base != nullptr, kernels);
  read_grouped_tile(view["grouped_tile"], kernels);
  keys.number("depth", "elements, such as 64", 0, 100'000, kernels.depth);
  if (const auto staging = keys("staging", "a size, such as 4 MB"); staging.exists())
    kernels.staging = staging.bytes(true);
  keys.time("gap", "a time, such as 1 us", kernels.gap);
  keys.time("host", "a time, such as 5 us", kernels.host);
  if (const auto attention = keys("attention", attention_map); attention.exists())
    read_attention(attention, base != nullptr, kernels.attention, true);
  read_other_attention(view["other_attention"], kernels);
  read_communication(view["communication"], kernels);
  for (const auto& source : view["sources"].items()) kernels.sources.push_back(source.text());
  if (const auto steps = view["own_steps"]; steps.exists())
    kernels.own_steps = static_cast<int>(steps.integer(0, most_own_steps));
  view.refuse_unknown_keys();
  return kernels;
}

}  // namespace lockstep::topologies
