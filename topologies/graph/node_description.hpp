#pragma once
/// The inside of a node as its own tools describe it: GPUs, NICs and how they are joined.
#include <optional>
#include <string>
#include <vector>

#include "sim/core/units.hpp"

namespace lockstep::topologies {

struct NodeNic {
  std::string name;                    ///< "mlx5_0", or its bus id where the file has no name
  std::optional<BytesPerSecond> rate;  ///< one way; none: the file does not say
};

/// How far a NIC is from a GPU on PCIe, nearest first, in the words of `nvidia-smi topo`.
enum class PcieDistance {
  pix,   ///< through one PCIe switch
  pxb,   ///< through several PCIe switches
  phb,   ///< through the host bridge of a CPU
  node,  ///< through several host bridges of one NUMA node
  sys    ///< through the link between CPUs
};
[[nodiscard]] const char* name(PcieDistance distance);

struct NodeGpu {
  std::string name;  ///< "GPU0", or its bus id where the file has no number
  std::string kind;  ///< "sm_90", "gfx942" or the device's PCI number; empty: the file does not say
  int links = 0;     ///< NVLinks or xGMI links to other GPUs or their switches
  std::optional<BytesPerSecond> port, uplink;  ///< one way, of its PCIe port and of the PCIe switch above it
  std::optional<std::size_t> nearest_nic;      ///< index in `nics`; none without NICs
  PcieDistance nic_distance = PcieDistance::sys;
  std::size_t equally_near = 0;  ///< NICs at that distance
};

/// A PCIe switch that a GPU and a NIC share: traffic between them does not pass the CPU.
struct SharedPcieSwitch {
  std::string bus_id;
  std::vector<std::size_t> gpus, nics;  ///< directly or further below it
};

struct NodeDescription {
  std::string format;               ///< "NCCL topology XML"
  std::vector<std::string> makers;  ///< of the GPUs that such files describe, as chips' titles begin: "NVIDIA"
  std::string link_kind;            ///< "NVLink", "xGMI"; empty: GPUs have no links of their own
  std::vector<NodeGpu> gpus;
  std::vector<NodeNic> nics;
  std::vector<std::vector<PcieDistance>> between_gpus;  ///< over PCIe, whatever links they have besides
  std::vector<SharedPcieSwitch> shared_switches;
  std::vector<std::string> notes;  ///< sentences: what was assumed or left out
};

/// Gives each GPU its nearest NIC by the distances of all NICs; among equally near ones the fastest, then that which
/// serves the fewest GPUs so far, then the first.
void choose_nearest_nics(NodeDescription& node, const std::vector<std::vector<PcieDistance>>& distance_of_gpu_to_nic);

}  // namespace lockstep::topologies
