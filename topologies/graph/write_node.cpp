#include "topologies/graph/write_node.hpp"

#include <algorithm>
#include <cstdio>
#include <set>

#include "sim/core/yaml_text.hpp"

namespace lockstep::topologies {
namespace {

/// Shares of a PCIe link that NCCL counts on: 12 GB/s of the 15.75 of 16 lanes of PCIe 3 (its topo.h).
constexpr double share_of_pcie = 0.76;
/// What NCCL counts on between two Xeons of the Sapphire Rapids generation (its topo.h).
constexpr BytesPerSecond between_cpus(22e9);

std::string rate_text(BytesPerSecond rate) {
  char text[40];
  static_cast<void>(std::snprintf(text, sizeof text, "%.9g GB/s", rate.value() / 1e9));
  return text;
}

/// GPUs that are at most so far from each other: how many there are in a run of neighbours; 0 if runs are not equal.
int equal_runs(const NodeDescription& node, PcieDistance most) {
  const auto& distances = node.between_gpus;
  std::size_t run = 1;
  while (run < distances.size() && distances[0][run] <= most) ++run;
  if (distances.size() % run != 0) return 0;
  for (std::size_t from = 0; from < distances.size(); ++from) {
    for (std::size_t to = 0; to < distances.size(); ++to) {
      if ((from / run == to / run) != (from == to || distances[from][to] <= most)) return 0;
    }
  }
  return static_cast<int>(run);
}

class NodeWriter {
 public:
  NodeWriter(const NodeDescription& node, const NodeKnowledge& known, const std::string& file, Problems& problems)
      : node_(node), known_(known), file_(file), problems_(problems) {}

  std::string text() {
    if (!node_.link_kind.empty())
      refuse("its GPUs have links of their own, " + node_.link_kind,
             "a node of the catalog, or a block that describes it");
    if (node_.gpus.empty()) refuse("it has no GPU", "a node with GPUs");
    if (known_.chip.empty()) refuse("the kind of its GPUs is not known", "--chip with a chip of the catalog");
    if (!problems_.empty()) return "";
    const std::string inside = scale_up(), outside = nics();
    return problems_.empty() ? head() + inside + outside : "";
  }

 private:
  void refuse(const std::string& what, const std::string& expected) {
    problems_.add({{file_, 0, 0}, "", what, expected});
  }

  [[nodiscard]] std::string head() const {
    return "# Made by lockstep import network.\nchip: " + known_.chip +
           "\nchips: " + std::to_string(node_.gpus.size()) + "\n";
  }

  std::string scale_up() {
    const auto said = node_.gpus.front().port;
    const auto port = said ? said : known_.pcie;
    if (!port) {
      refuse("the rate of PCIe is not known", "--chip with a chip that has a rate of pcie");
      return "";
    }
    std::string text = "scale_up:\n  kind: pcie\n  link: " + rate_text(*port) +
                       (said ? "" : "  # of the chip; the file does not say it") + "\n  efficiency: " + rate_share() +
                       "  # assumed: what NCCL counts on\n  latency: 2 us  # assumed\n";
    const std::string levels = uplinks(*port);
    return text + (levels.empty() ? "" : "  uplinks:\n" + levels);
  }

  [[nodiscard]] static std::string rate_share() {
    std::string text = std::to_string(share_of_pcie);
    return text.substr(0, text.find_last_not_of('0') + 1);
  }

  /// PCIe switches one below the other, then CPUs; what joins host bridges inside a CPU is taken to have no limit.
  std::string uplinks(BytesPerSecond port) {
    std::string text;
    int below = 1;
    for (const auto most : {PcieDistance::pix, PcieDistance::pxb, PcieDistance::node}) {
      const int run = equal_runs(node_, most);
      if (run == 0) {
        refuse("its GPUs are not in equal runs of neighbours at " + std::string(name(most)),
               "as many GPUs below each PCIe switch and each CPU, numbered one after the other");
        return "";
      }
      if (run == below || run == static_cast<int>(node_.gpus.size())) continue;
      text += "    - {chips: " + std::to_string(run) + ", link: ";
      if (most == PcieDistance::node) {
        text += rate_text(between_cpus) +
                "}  # between CPUs; assumed: what NCCL counts on between Xeons of Sapphire Rapids\n";
      } else {
        const auto said = node_.gpus.front().uplink;
        text +=
            rate_text(said ? *said : port) + "}  # of a PCIe switch" + (said ? "\n" : "; assumed: as a chip's port\n");
      }
      below = run;
    }
    return text;
  }

  /// The NICs nearest to GPUs, as many as divide the GPUs.
  std::string nics() {
    std::set<std::size_t> used;
    for (const NodeGpu& gpu : node_.gpus) {
      if (gpu.nearest_nic) used.insert(*gpu.nearest_nic);
    }
    std::size_t count = std::max<std::size_t>(1, used.size());
    while (node_.gpus.size() % count != 0) --count;
    auto rate = used.empty() ? std::nullopt : node_.nics[*used.begin()].rate;
    const bool said = rate.has_value();
    if (!rate) rate = known_.nic;
    if (!rate) {
      refuse("the rate of its NICs is not known", "--nic with a rate, such as 100 Gbps");
      return "";
    }
    const auto pcie = node_.gpus.front().port ? node_.gpus.front().port : known_.pcie;
    return "nics: {count: " + std::to_string(count) + ", rate: " + rate_text(*rate) + ", pcie: " + rate_text(*pcie) +
           "}" + (said ? "" : "  # the file does not say their rate") +
           (count == used.size() ? "\n" : "  # the file has " + std::to_string(used.size()) + " near GPUs\n") +
           "algorithms: [ring, tree, direct all-to-all, shift, hierarchical all-to-all]  # of NCCL\n" + "sources: [" +
           in_one_line(node_.format + ", " + file_) + "]\n";
  }

  const NodeDescription& node_;
  const NodeKnowledge& known_;
  const std::string& file_;
  Problems& problems_;
};

}  // namespace

std::string node_yaml(const NodeDescription& node, const NodeKnowledge& known, const std::string& file,
                      Problems& problems) {
  return NodeWriter(node, known, file, problems).text();
}

}  // namespace lockstep::topologies
