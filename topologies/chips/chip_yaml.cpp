#include <algorithm>

#include "topologies/chips/catalog_folder_private.hpp"
#include "topologies/chips/chip.hpp"

namespace lockstep::topologies {
namespace {

constexpr std::int64_t largest_axis = 1'000'000;

std::map<Precision, FlopsPerSecond> read_peaks(const YamlView& view) {
  std::map<Precision, FlopsPerSecond> peaks;
  if (!view.expect_map("a map of precisions to rates, such as {bf16: 459 TFLOP/s}")) return peaks;
  for (const std::string& key : view.keys()) {
    const YamlView value = view[key];
    if (const std::optional<Precision> precision = precision_named(key)) {
      peaks[*precision] = value.flops_per_second();
    } else {
      value.problem("unknown precision", "one of fp32, bf16, fp16, fp8, int8, fp4, mxfp8, nvfp4");
    }
  }
  if (view.keys().empty()) view.problem("no peak given", "at least one precision, such as {bf16: 459 TFLOP/s}");
  return peaks;
}

std::vector<int> read_sizes(const YamlView& view) {
  std::vector<int> sizes;
  const std::vector<YamlView> items = view.items();
  for (const YamlView& item : items) sizes.push_back(static_cast<int>(item.integer(1, largest_axis)));
  if (view.is_list() && (sizes.empty() || sizes.size() > 3)) view.problem("wrong number of axes", "one to three sizes");
  return sizes;
}

WrapRule read_wrap(const YamlView& view) {
  WrapRule rule;
  if (!view.expect_map("{multiple_of: N} or {exactly: N}")) return rule;
  const YamlView multiple = view["multiple_of"];
  const YamlView exactly = view["exactly"];
  if (multiple.exists() == exactly.exists()) view.problem("not one rule", "either multiple_of or exactly");
  if (multiple.exists()) rule.multiple_of = static_cast<int>(multiple.integer(1, largest_axis));
  if (exactly.exists()) rule.exactly = static_cast<int>(exactly.integer(1, largest_axis));
  view.refuse_unknown_keys();
  return rule;
}

SliceRules read_slices(const YamlView& view) {
  SliceRules rules;
  if (!view.expect_map("a map with most_chips, cube, listed")) return rules;
  if (const YamlView most = view["most_chips"]; most.exists())
    rules.most_chips = static_cast<int>(most.integer(1, 1'000'000'000));
  if (const YamlView cube = view["cube"]; cube.exists()) rules.cube = read_sizes(cube);
  if (const YamlView listed = view["listed"]; listed.exists()) {
    for (const YamlView& item : listed.items()) rules.listed.push_back(read_sizes(item));
  }
  view.refuse_unknown_keys();
  return rules;
}

/// One rate, or one for each axis.
void read_links(const YamlView& view, TorusFabric& torus) {
  if (!view.is_list()) {
    torus.link = view.bytes_per_second();
    return;
  }
  for (const YamlView& item : view.items()) torus.axis_links.push_back(item.bytes_per_second());
  if (torus.axis_links.size() != torus.pod.size()) {
    view.problem("has " + std::to_string(torus.axis_links.size()) + " rates",
                 "one rate, or one for each of the " + std::to_string(torus.pod.size()) + " axes of pod");
    torus.axis_links.clear();
    return;
  }
  if (torus.axis_links.empty()) return;
  torus.link = *std::min_element(torus.axis_links.begin(), torus.axis_links.end());
  const auto same = [&](BytesPerSecond link) { return link == torus.link; };
  if (std::all_of(torus.axis_links.begin(), torus.axis_links.end(), same)) torus.axis_links.clear();
}

TorusFabric read_torus(const YamlView& view) {
  TorusFabric torus;
  if (!view.expect_map("a map with pod, host, link, hop_latency and wrap")) return torus;
  torus.pod = read_sizes(view.require("pod", "the largest slice, such as [16, 20, 28]"));
  const YamlView host = view.require("host", "the chips of one host, such as [2, 2, 1]");
  torus.host = read_sizes(host);
  if (host.is_list() && torus.host.size() != torus.pod.size()) {
    host.problem("has " + std::to_string(torus.host.size()) + " axes", "the same number of axes as pod");
  }
  read_links(view.require("link", "the one-way rate of a link, such as 90 GB/s"), torus);
  torus.hop_latency = view.require("hop_latency", "the latency of a link, such as 1 us").seconds(true);
  torus.wrap = read_wrap(view.require("wrap", "{multiple_of: N} or {exactly: N}"));
  if (const YamlView slices = view["slices"]; slices.exists()) torus.slices = read_slices(slices);
  view.refuse_unknown_keys();
  return torus;
}

void read_scale_up(const YamlView& view, Chip& chip) {
  if (!view.expect_map("a map with bandwidth and domain")) return;
  chip.scale_up = view.require("bandwidth", "the one-way rate of a device, such as 450 GB/s").bytes_per_second();
  chip.scale_up_domain =
      static_cast<int>(view.require("domain", "the devices behind one switch, such as 8").integer(1, largest_axis));
  view.refuse_unknown_keys();
}

}  // namespace

Chip read_chip(const YamlView& view, std::string_view name, const Chip* base) {
  Chip chip = base != nullptr ? *base : Chip{};
  chip.name = name;
  if (base == nullptr) chip.measured_as = chip.generation = name;
  if (!view.expect_map("a chip")) return chip;
  (void)view["like"];  // the caller's
  const auto given = [&](std::string_view key, std::string_view expected) {
    return base != nullptr ? view[key] : view.require(key, expected);
  };
  if (const YamlView title = given("title", "the chip's name as its vendor writes it"); title.exists())
    chip.title = title.text();
  if (const YamlView generation = view["generation"]; generation.exists()) chip.generation = generation.text();
  if (const YamlView memory = given("memory", "the size of its memory, such as 96 GB"); memory.exists())
    chip.memory = memory.bytes(), chip.usable_memory.reset();
  if (const YamlView usable = view["usable_memory"]; usable.exists()) {
    constexpr double most = 1.1;  // data sheets write GB where they mean GiB
    chip.usable_memory = usable.bytes();
    if (*chip.usable_memory / chip.memory > most)
      usable.problem("is more than the chip has", "at most what a program can have of memory");
  }
  if (const YamlView rate = given("memory_bandwidth", "a rate, such as 2765 GB/s"); rate.exists())
    chip.memory_bandwidth = rate.bytes_per_second();
  if (const YamlView peak = given("peak", "a map of precisions to rates, such as {bf16: 459 TFLOP/s}"); peak.exists())
    chip.peak = read_peaks(peak);
  const YamlView torus = view["torus"];
  const YamlView scale_up = view["scale_up"];
  const bool over_pcie = !torus.exists() && !scale_up.exists() && view["pcie"].exists();
  if (torus.exists() == scale_up.exists() && !over_pcie && (base == nullptr || torus.exists()))
    view.problem("not one fabric", "either torus or scale_up, or pcie where chips have no other link");
  if (torus.exists() || scale_up.exists()) chip.torus.reset(), chip.scale_up.reset();
  if (torus.exists()) chip.torus = read_torus(torus);
  if (scale_up.exists()) read_scale_up(scale_up, chip);
  if (const YamlView pcie = view["pcie"]; pcie.exists()) chip.pcie = pcie.bytes_per_second();
  if (const YamlView dcn = view["dcn_per_host"]; dcn.exists()) {
    chip.dcn_per_host = dcn.bytes_per_second();
    if (chip.torus && !chip.pcie) dcn.problem("cannot be reached", "the rate of pcie as well, which leads to the host");
  }
  if (const YamlView kernels = view["kernels"]; kernels.exists())
    chip.kernels = read_chip_kernels(kernels, base != nullptr && base->kernels ? &*base->kernels : nullptr);
  for (const YamlView& source : view["sources"].items()) chip.sources.push_back(source.text());
  view.refuse_unknown_keys();
  return chip;
}

Chip read_chip_block(const YamlView& view, const std::filesystem::path& catalog) {
  const YamlView like = view["like"];
  if (!like.exists()) return read_chip(view, "inline");
  Problems of_base;
  const Chip base = load_chip(catalog, like.text(), of_base);
  for (const Problem& problem : of_base.list()) like.problem(problem.what, problem.expected);
  return read_chip(view, like.text(), &base);
}

std::vector<std::string> chip_names(const std::filesystem::path& catalog) { return catalog_entries(catalog / "chips"); }

Chip load_chip(const std::filesystem::path& catalog, std::string_view word, Problems& problems) {
  const std::filesystem::path folder = catalog / "chips";
  const std::string name = catalog_entry(folder, word);
  if (!is_catalog_entry(folder, "chip", name, problems)) {
    Chip unknown;
    unknown.name = name;
    return unknown;
  }
  const YamlView view = YamlView::from_file(catalog_file(folder, name), problems);
  const YamlView like = view["like"];
  if (!like.exists()) return read_chip(view, name);
  Problems of_base;
  const std::string other = like.text();
  if (!is_catalog_entry(folder, "chip", other, of_base)) {
    like.problem(of_base.list().front().what, of_base.list().front().expected);
    return read_chip(view, name);
  }
  const YamlView said_there = YamlView::from_file(catalog_file(folder, other), problems);
  if (said_there["like"].exists()) like.problem("is itself `like` another chip", "a chip with values of its own");
  const Chip base = read_chip(said_there, other);
  return read_chip(view, name, &base);
}

}  // namespace lockstep::topologies
