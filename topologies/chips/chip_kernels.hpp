#pragma once
/// Parameters of sim/cost/kernel_time.hpp, which describe how far a chip's kernels stay below its data sheet. They are
/// fitted to measurements that the chip's file names.
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sim/core/units.hpp"
#include "sim/core/yaml_view.hpp"
#include "topologies/chips/precision.hpp"

namespace lockstep::topologies {

/// Fused attention by kernels other than the chip's usual ones.
struct AttentionShares {
  double forward = 1;  ///< of the matrix rate, before softmax
  double backward = 1;
  double softmax = 0;  ///< elements of the head size
  double block = 0;    ///< keys
  friend bool operator==(const AttentionShares&, const AttentionShares&) = default;
};

struct ChipKernels {
  std::map<Precision, double> matrix;  ///< shares of the peak that very large products reach
  double sustained = 1;                ///< clock under the load of whole steps, over that of a benchmark of one kernel
  double memory = 1;                   ///< share of the memory bandwidth that a long copy reaches
  double indexed = 1;                  ///< share of that for rows that an index selects for reading or writing
  int units = 0;                       ///< GPUs: multiprocessors, which share out the tiles of a product in waves
  double tile_edge = 0;                ///< GPUs: elements that an edge of a tile costs beyond its own
  int systolic = 0;                    ///< TPUs: side of the matrix unit, to which n and k are padded
  int grouped_tile = 0;          ///< TPUs: rows of a tile of grouped products; one that two experts share runs for each
  double depth = 0;              ///< elements of k that filling and draining a product's pipeline costs
  Bytes staging{0};              ///< first loads and last stores of a kernel, which nothing hides
  Seconds gap{0};                ///< between two kernels, however many are queued
  Seconds host{0};               ///< time that the host takes for an operation, including the launches of its kernels
  double attention_forward = 1;  ///< of the matrix rate, before softmax
  double attention_backward = 1;
  double softmax = 0;          ///< cost of a score in addition to its products, in elements of the head size
  double attention_block = 0;  ///< keys of a block: those on a causal mask's diagonal are computed whole
  std::optional<AttentionShares> flash_attention_2{};  ///< where its kernels are slower than the usual ones
  int communication_units = 0;                         ///< GPUs: multiprocessors that collectives hold while they run
  double communication_memory = 0;                     ///< share of the memory bandwidth that they take
  int own_steps = 0;  ///< whole steps on this very machine to which `sustained` and `host` were fitted
  std::vector<std::string> sources;

  [[nodiscard]] AttentionShares usual_attention() const {
    return {attention_forward, attention_backward, softmax, attention_block};
  }
  void set_attention(const AttentionShares& shares) {
    attention_forward = shares.forward;
    attention_backward = shares.backward;
    softmax = shares.softmax;
    attention_block = shares.block;
  }
  friend bool operator==(const ChipKernels&, const ChipKernels&) = default;
};

/// Reads the chip's key `kernels`; problems go to the view's sink. `base` has the values of keys that the view does not
/// give.
[[nodiscard]] ChipKernels read_chip_kernels(const YamlView& view, const ChipKernels* base = nullptr);

}  // namespace lockstep::topologies
