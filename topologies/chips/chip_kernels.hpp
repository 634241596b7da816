#pragma once
/// How a chip's kernels fall short of its data sheet: the parameters of sim/cost/kernel_time.hpp, fitted to
/// measurements that the chip's file names.
#include <map>
#include <string>
#include <vector>

#include "sim/core/units.hpp"
#include "sim/core/yaml_view.hpp"
#include "topologies/chips/precision.hpp"

namespace lockstep {

struct ChipKernels {
  std::map<Precision, double> matrix;  ///< of the peak: what very large products reach
  double sustained = 1;                ///< clock under the load of whole steps, over that of a benchmark of one kernel
  double memory = 1;                   ///< of the memory bandwidth: what a long copy reaches
  double indexed = 1;                  ///< of that: what rows that are read or written where an index says reach
  int units = 0;                       ///< GPUs: multiprocessors, which share out the tiles of a product in waves
  double tile_edge = 0;                ///< GPUs: elements that an edge of a tile costs beyond its own
  int systolic = 0;                    ///< TPUs: side of the matrix unit, to which n and k are padded
  int grouped_tile = 0;  ///< TPUs: rows of a tile of grouped products; one that two experts share runs for each
  double depth = 0;      ///< elements of k that filling and draining a product's pipeline costs
  Bytes staging{0};      ///< first loads and last stores of a kernel, which nothing hides
  Seconds gap{0};        ///< between two kernels, however many are queued
  Seconds host{0};       ///< that the host takes for an operation: to launch its kernels, and for all around them
  double attention_forward = 1;  ///< of the matrix rate, before softmax
  double attention_backward = 1;
  double softmax = 0;               ///< what a score costs beside its products, in elements of the head size
  double attention_block = 0;       ///< keys of a block: those on a causal mask's diagonal are computed whole
  int communication_units = 0;      ///< GPUs: multiprocessors that collectives hold while they run
  double communication_memory = 0;  ///< share of the memory bandwidth that they take
  std::vector<std::string> sources;
};

/// The chip's key `kernels`; problems go to the view's sink. `base` says what holds where the view is silent.
[[nodiscard]] ChipKernels read_chip_kernels(const YamlView& view, const ChipKernels* base = nullptr);

}  // namespace lockstep
