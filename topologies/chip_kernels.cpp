#include "topologies/chip_kernels.hpp"

namespace lockstep {
namespace {

double share(const YamlView& view) { return view.number(0.01, 1); }

void read_units(const YamlView& view, ChipKernels& kernels) {
  const auto waves = view["waves"];
  const auto systolic = view["systolic"];
  if (waves.exists() == systolic.exists()) view.problem("not one kind of matrix unit", "either waves (GPUs) or systolic (TPUs)");
  if (systolic.exists()) kernels.systolic = static_cast<int>(systolic.integer(1, 4096));
  if (!waves.exists() || !waves.expect_map("a map, as {units: 132, tile_edge: 8}")) return;
  kernels.units = static_cast<int>(waves.require("units", "the chip's multiprocessors, as 132").integer(1, 100'000));
  kernels.tile_edge = waves.require("tile_edge", "elements, as 8").number(0, 1000);
  waves.refuse_unknown_keys();
}

void read_attention(const YamlView& view, ChipKernels& kernels) {
  if (!view.expect_map("a map, as {forward: 0.7, backward: 0.6, softmax: 50, block: 128}")) return;
  kernels.attention_forward = share(view.require("forward", "a share of the matrix rate, as 0.7"));
  kernels.attention_backward = share(view.require("backward", "a share of the matrix rate, as 0.6"));
  kernels.softmax = view.require("softmax", "elements of the head size, as 50").number(0, 10'000);
  kernels.attention_block = view.require("block", "keys, as 128").number(0, 100'000);
  view.refuse_unknown_keys();
}

void read_communication(const YamlView& view, ChipKernels& kernels) {
  if (!view.exists() || !view.expect_map("a map, as {units: 20, memory: 0.1}")) return;
  const auto units = view.require("units", "multiprocessors that collectives hold, as 20");
  if (kernels.units == 0) {
    units.problem("stands on a chip without multiprocessors", "waves beside it");
  } else {
    kernels.communication_units = static_cast<int>(units.integer(0, kernels.units - 1));
  }
  kernels.communication_memory = view.require("memory", "a share of the memory bandwidth, as 0.1").number(0, 0.9);
  view.refuse_unknown_keys();
}

}  // namespace

ChipKernels read_chip_kernels(const YamlView& view) {
  ChipKernels kernels;
  if (!view.expect_map("what its kernels reach")) return kernels;
  const auto matrix = view.require("matrix", "shares of the peak, as {bf16: 0.85}");
  if (matrix.expect_map("shares of the peak, as {bf16: 0.85}")) {
    for (const auto& key : matrix.keys()) {
      if (const auto precision = precision_named(key)) {
        kernels.matrix[*precision] = share(matrix[key]);
      } else {
        matrix[key].problem("unknown precision", "one of fp32, bf16, fp16, fp8, int8, fp4");
      }
    }
  }
  if (const auto sustained = view["sustained"]; sustained.exists()) kernels.sustained = share(sustained);
  kernels.memory = share(view.require("memory", "a share of the memory bandwidth, as 0.9"));
  read_units(view, kernels);
  kernels.depth = view.require("depth", "elements, as 64").number(0, 100'000);
  kernels.staging = view.require("staging", "a size, as 4 MB").bytes(true);
  kernels.gap = view.require("gap", "a time, as 1 us").seconds(true);
  kernels.host = view.require("host", "a time, as 5 us").seconds(true);
  read_attention(view.require("attention", "a map, as {forward: 0.7, backward: 0.6, softmax: 50, block: 128}"), kernels);
  read_communication(view["communication"], kernels);
  for (const auto& source : view["sources"].items()) kernels.sources.push_back(source.text());
  view.refuse_unknown_keys();
  return kernels;
}

}  // namespace lockstep
