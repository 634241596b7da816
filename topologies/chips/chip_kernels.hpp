#pragma once
/// Parameters of sim/cost/kernel_time.hpp, which describe how far a chip's kernels stay below its data sheet. They are
/// fitted to measurements that the chip's file names.
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/units.hpp"
#include "sim/core/yaml_view.hpp"
#include "topologies/chips/precision.hpp"

namespace lockstep::topologies {

/// A library's kernels of fused attention.
struct AttentionKernels {
  std::string name;         ///< the library and its generation: flash-attention-2
  double forward = 1;       ///< shares of the rate of products, before softmax
  double backward = 1;      ///< counted as twice the forward's FLOPs
  double softmax = 0;       ///< cost of a score in addition to its products, in elements of the head size
  double block = 0;         ///< keys of a block: those on a causal mask's diagonal are computed whole
  double unlike_heads = 1;  ///< share of the backward's rate where values are not as wide as queries and keys
  double random = 1;        ///< cost of a score's random number (dropout), over its share of softmax
  double power = 1;         ///< dynamic power over that of products
  friend bool operator==(const AttentionKernels&, const AttentionKernels&) = default;
};

struct ChipKernels {
  std::map<Precision, double> matrix;  ///< shares of the peak that very large products reach
  double sustained = 1;                ///< clock under the load of whole steps, over that of a benchmark of one kernel
  double memory = 1;                   ///< share of the memory bandwidth that a long copy reaches
  double accumulation = 0;     ///< share of the memory bandwidth at which a product adds its result to one in memory,
                               ///< after its multiplications; 0: beside them
  double indexed = 1;          ///< share of that for rows that an index selects for reading or writing
  int units = 0;               ///< GPUs: multiprocessors, which share out the tiles of a product in waves
  double tile_edge = 0;        ///< GPUs: elements that an edge of a tile costs beyond its own
  int systolic = 0;            ///< TPUs: side of the matrix unit, to which n and k are padded
  int grouped_tile = 0;        ///< TPUs: rows of a tile of grouped products; one that two experts share runs for each
  double depth = 0;            ///< elements of k that filling and draining a product's pipeline costs
  Bytes staging{0};            ///< first loads and last stores of a kernel, which nothing hides
  Seconds gap{0};              ///< between two kernels, however many are queued
  Seconds host{0};             ///< time that the host takes for an operation, including the launches of its kernels
  AttentionKernels attention;  ///< of the library that is usual today
  std::vector<AttentionKernels> other_attention;  ///< of other libraries and earlier ones
  int communication_units = 0;                    ///< GPUs: multiprocessors that collectives hold while they run
  double communication_memory = 0;                ///< share of the memory bandwidth that they take
  int own_steps = 0;  ///< whole steps on this very machine to which `sustained` and `host` were fitted
  std::vector<std::string> sources;
  friend bool operator==(const ChipKernels&, const ChipKernels&) = default;
};

/// The kernels of attention of that name, the usual ones or others; nullptr if there are none.
[[nodiscard]] const AttentionKernels* attention_called(const ChipKernels& kernels, std::string_view name);
/// "cudnn-9, flash-attention-2"; "" if they have no names.
[[nodiscard]] std::string attention_names(const ChipKernels& kernels);

/// Reads the chip's key `kernels`; problems go to the view's sink. `base` has the values of keys that the view does not
/// give.
[[nodiscard]] ChipKernels read_chip_kernels(const YamlView& view, const ChipKernels* base = nullptr);

}  // namespace lockstep::topologies
