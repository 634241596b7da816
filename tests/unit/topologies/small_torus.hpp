#pragma once
/// Chips, tori and meshes for tests, in one line each.
#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "tests/source_dir.hpp"
#include "topologies/placement/mesh.hpp"
#include "topologies/torus/torus.hpp"

namespace lockstep::test {

inline constexpr topologies::WrapRule never{};
inline constexpr topologies::WrapRule multiple_of_four{.multiple_of = 4};
inline constexpr topologies::WrapRule always{.multiple_of = 1};

/// Round numbers: links of 100 GB/s and 1 us, hosts of 2x2x1.
inline topologies::Chip chip(topologies::WrapRule wrap) {
  topologies::Chip chip;
  chip.name = "test-chip";
  chip.title = "Test chip";
  chip.peak = {{topologies::Precision::bf16, FlopsPerSecond(1e14)}};
  chip.memory = Bytes(16'000'000'000);
  chip.memory_bandwidth = BytesPerSecond(1e12);
  chip.torus = topologies::TorusFabric{{64, 64, 64}, {2, 2, 1}, BytesPerSecond(100e9), Seconds(1e-6), wrap, {}};
  chip.pcie = BytesPerSecond(15e9);
  chip.dcn_per_host = BytesPerSecond(25e9);
  return chip;
}

inline topologies::Cluster torus(std::vector<int> shape, topologies::WrapRule wrap) {
  return topologies::build_torus({chip(wrap), std::move(shape), {}});
}

inline topologies::Chip catalog_chip(const std::string& name) {
  Problems problems;
  topologies::Chip chip = topologies::load_chip(std::string(source_dir) + "/topologies/catalog", name, problems);
  problems.throw_if_any();
  return chip;
}

inline topologies::AxisRequest on(std::string name, std::vector<std::string> place) {
  return {std::move(name), 0, std::move(place)};
}
inline topologies::AxisRequest sized(std::string name, int size) { return {std::move(name), size, std::nullopt}; }

inline topologies::Mesh placed(const topologies::Cluster& cluster,
                               const std::vector<topologies::AxisRequest>& requests) {
  auto result = place_as_requested(cluster, requests);
  if (const auto* error = std::get_if<topologies::PlacementError>(&result))
    throw std::runtime_error(error->axis + ": " + error->what);
  return topologies::Mesh(cluster, std::get<std::vector<topologies::MeshAxis>>(std::move(result)), "");
}

}  // namespace lockstep::test
