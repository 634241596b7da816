#pragma once
/// An accelerator as its data sheet gives it. The catalog is YAML: topologies/catalog/chips/*.yaml,
/// one file per chip, every value with its source.
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/units.hpp"
#include "sim/core/yaml_view.hpp"
#include "topologies/chips/chip_kernels.hpp"

namespace lockstep::topologies {

/// When a slice's axis closes into a ring: only when its size is a multiple of `multiple_of`
/// (v4, v5p: 4, the optical cubes) or exactly `exactly` (v5e, v6e: 16). One of the two is set.
struct WrapRule {
  int multiple_of = 0;
  int exactly = 0;
  [[nodiscard]] bool wraps(int size) const;
  [[nodiscard]] std::string to_string() const;
  friend bool operator==(const WrapRule&, const WrapRule&) = default;
};

/// The slices of a pod that its vendor lets users have.
struct SliceRules {
  int most_chips = 0;                    ///< of the largest job
  std::vector<int> cube;                 ///< larger slices consist of such blocks; empty: only those listed exist
  std::vector<std::vector<int>> listed;  ///< further slices, their axes in any order
  friend bool operator==(const SliceRules&, const SliceRules&) = default;
};

/// The inter-chip interconnect of a torus machine.
struct TorusFabric {
  std::vector<int> pod;   ///< largest slice, e.g. 16 20 28; its length is the number of axes
  std::vector<int> host;  ///< chips of one host, e.g. 2 2 1
  BytesPerSecond link;    ///< one way, one link; of the slowest axis
  Seconds hop_latency;    ///< one link
  WrapRule wrap;
  std::optional<SliceRules> slices;             ///< none: the sources do not say
  std::vector<BytesPerSecond> axis_links = {};  ///< by axis, where they differ; empty: all are `link`
  [[nodiscard]] BytesPerSecond link_of(std::size_t axis) const { return axis_links.empty() ? link : axis_links[axis]; }
  friend bool operator==(const TorusFabric&, const TorusFabric&) = default;
};

struct Chip {
  std::string name;         ///< catalog name, e.g. tpu-v5p
  std::string title;        ///< as the vendor writes it
  std::string measured_as;  ///< the chip whose steps were measured: its own name, or that of the one it is like
  std::string generation;   ///< chips of one architecture, whose software is alike: "hopper"; else its own name
  std::map<Precision, FlopsPerSecond> peak;  ///< dense matrix peak
  Bytes memory;                              ///< as its data sheet says
  std::optional<Bytes> usable_memory;        ///< what driver, runtime and communication library leave to a program
  BytesPerSecond memory_bandwidth;
  std::optional<TorusFabric> torus;            ///< TPUs
  std::optional<BytesPerSecond> pcie;          ///< TPUs: one way between a chip and its host
  std::optional<BytesPerSecond> dcn_per_host;  ///< egress of one host's NIC, full duplex
  std::optional<BytesPerSecond> scale_up;      ///< GPUs: one way per device into the node's switch
  int scale_up_domain = 0;                     ///< GPUs: devices behind one switch (8, 72)
  std::optional<ChipKernels> kernels;          ///< none if its kernels have not been measured
  std::vector<std::string> sources;

  /// Into which a step has to fit: usable_memory, or all of it where that is not known.
  [[nodiscard]] Bytes capacity() const { return usable_memory.value_or(memory); }
  /// The chip's peak for a precision; empty when the data sheet has none.
  [[nodiscard]] std::optional<FlopsPerSecond> peak_for(Precision precision) const;
  friend bool operator==(const Chip&, const Chip&) = default;
};

[[nodiscard]] std::string by_axis(const std::vector<int>& sizes);  ///< "16x20x28"

/// Reads one chip from its YAML form; problems go to the view's sink. `base` has the values of keys that the view does
/// not give.
[[nodiscard]] Chip read_chip(const YamlView& view, std::string_view name, const Chip* base = nullptr);
/// Reads a block in a scenario: a chip of its own, or one that is `like` a chip from the catalog, with the keys that
/// differ.
[[nodiscard]] Chip read_chip_block(const YamlView& view, const std::filesystem::path& catalog);
[[nodiscard]] std::string to_string(const Chip& chip);

/// Names of all catalog chips, sorted. `catalog` is the data root's topologies/catalog folder.
[[nodiscard]] std::vector<std::string> chip_names(const std::filesystem::path& catalog);
[[nodiscard]] Chip load_chip(const std::filesystem::path& catalog, std::string_view name, Problems& problems);

}  // namespace lockstep::topologies
