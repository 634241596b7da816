#include "tests/metamorphic/random_scenario.hpp"
#include "topologies/fabrics/fabric.hpp"

namespace lockstep::test {
namespace {

std::string rate(const std::string& mark, std::int64_t number, const std::string& unit) {
  return "@" + mark + "(" + std::to_string(number) + " " + unit + ")";
}
std::string time(const std::string& mark, std::int64_t tenths, const std::string& unit) {
  return "@" + mark + "(" + std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + " " + unit + ")";
}

/// A chip of its own, or one of the catalog with all rates and times written out, so that they can be varied.
void add_chip(Draft& draft, const std::string& at, const std::string& like, Random& random) {
  const bool calibrated = random.percent(25);
  if (calibrated) {
    draft.set(at + ".like", like);
    draft.set(at + ".kernels.gap", time("fixed", random.between(5, 30), "us"));
    draft.set(at + ".kernels.host", time("fixed", random.between(0, 200), "us"));
    draft.set("model_of_time", "calibrated");
  } else {
    draft.set(at + ".title", "a chip");
    draft.set("model_of_time", random.one_of<std::string>({"ideal", "roofline"}));
  }
  draft.set(at + ".memory", rate("capacity", random.between(60, 200), "GB"));
  draft.set(at + ".memory_bandwidth", rate("memory", random.between(800, 4000), "GB/s"));
  draft.set(at + ".peak", "{bf16: " + rate("compute", random.between(100, 1000), "TFLOP/s") + "}");
  draft.set(at + ".pcie", rate("host", random.between(10, 64), "GB/s"));
}

void add_fabric(Draft& draft, const std::string& at, Random& random) {
  std::vector<std::string> kinds;
  for (const auto& known : topologies::fabric_kinds()) {
    const int often = std::holds_alternative<topologies::FatTree>(known) ? 2 : 1;
    kinds.insert(kinds.end(), static_cast<std::size_t>(often), std::string(name(known)));
  }
  const auto kind = kinds[static_cast<std::size_t>(random.below(std::ssize(kinds)))];
  draft.set(at + ".kind", kind);
  if (random.percent(60)) draft.set(at + ".routing", random.one_of<std::string>({"spray", "ecmp"}));
  if (random.percent(30)) draft.set(at + ".seed", random.between(0, 9));
  if (random.percent(80)) draft.set(at + ".link", rate("link", random.between(100, 800), "Gbps"));
  if (random.percent(50)) draft.set(at + ".efficiency", "0." + std::to_string(random.between(5, 9)));
  draft.set(at + ".nic_latency", time("latency", random.between(0, 100), "us"));
  draft.set(at + ".switch_latency", time("latency", random.between(0, 20), "us"));
  if (kind == "fat_tree" || kind == "rail_optimised") {
    draft.set(at + ".radix", random.one_of<std::int64_t>({8, 16, 32, 64}));
    if (random.percent(50))
      draft.set(at + ".oversubscription", random.one_of<std::string>({"1", "2", "4", "[2, 2]", "[1, 4]"}));
    if (kind == "rail_optimised" && random.percent(30))
      draft.set(at + ".nodes_per_scalable_unit", random.one_of<std::int64_t>({2, 4}));
  }
  if (kind == "dragonfly") {
    draft.set(at + ".radix", 64);
    draft.set(at + ".routers_per_group", random.one_of<std::int64_t>({1, 2, 4}));
    draft.set(at + ".nics_per_router", random.one_of<std::int64_t>({2, 4, 8}));
    draft.set(at + ".global_links_per_router", random.one_of<std::int64_t>({2, 4, 8}));
  }
}

RandomCluster add_torus(Draft& draft, Random& random) {
  struct Shape {
    std::string text;
    std::int64_t chips;
  };
  auto shape = random.one_of<Shape>({{"[2]", 2},
                                     {"[4]", 4},
                                     {"[8]", 8},
                                     {"[4, 2]", 8},
                                     {"[4, 4]", 16},
                                     {"[2, 2, 2]", 8},
                                     {"[4, 2, 2]", 16},
                                     {"[8, 4]", 32}});
  if (random.percent(15))
    shape = random.one_of<Shape>({{"[4, 4, 4]", 64}, {"[16, 16]", 256}, {"[8, 8, 8]", 512}, {"[16, 16, 8]", 2048}});
  const bool twisted = random.percent(10);
  if (twisted) shape = random.one_of<Shape>({{"[4, 4, 8]", 128}, {"[8, 4, 8]", 256}});
  add_chip(draft, "cluster.chip", "tpu-v5p", random);
  draft.set("cluster.chip.torus.pod", "[16, 16, 16]");
  draft.set("cluster.chip.torus.host", random.one_of<std::string>({"[2, 2, 1]", "[1, 1, 1]", "[4, 1, 1]"}));
  draft.set("cluster.chip.torus.link", rate("link", random.between(40, 200), "GB/s"));
  draft.set("cluster.chip.torus.hop_latency", time("latency", random.between(0, 30), "us"));
  draft.set("cluster.chip.torus.wrap",
            twisted ? "{multiple_of: 4}"
                    : random.one_of<std::string>({"{multiple_of: 4}", "{exactly: 16}", "{multiple_of: 2}"}));
  if (twisted) draft.set("cluster.twisted", "true");
  draft.set("cluster.chip.dcn_per_host", rate("link", random.between(10, 60), "GB/s"));
  draft.set("cluster.shape", shape.text);
  RandomCluster result{shape.chips, shape.chips, true, false};
  if (random.percent(15) && shape.chips <= 64) {
    const auto pods = random.one_of<std::int64_t>({2, 4});
    draft.set("cluster.pods", pods);
    add_fabric(draft, "cluster.dcn", random);
    result.chips *= pods;
    result.has_fabric = true;
  }
  return result;
}

RandomCluster add_nodes(Draft& draft, Random& random) {
  const auto of_node = random.one_of<std::int64_t>({1, 2, 4, 4, 8, 8});
  auto nodes = random.one_of<std::int64_t>({1, 2, 2, 4, 4, 8});
  if (random.percent(10)) nodes = random.one_of<std::int64_t>({16, 32, 128});
  const std::string node = "cluster.node";
  add_chip(draft, node + ".chip", "h100", random);
  draft.set(node + ".chip.scale_up", "{bandwidth: @link(450 GB/s), domain: 8}");
  draft.set(node + ".chips", of_node);
  const bool mesh = random.percent(20), pcie = !mesh && random.percent(15);
  draft.set(node + ".scale_up.kind", mesh ? "mesh" : pcie ? "pcie" : "switch");
  if (pcie && of_node >= 4)
    draft.set(node + ".scale_up.uplinks", "[{chips: 2, link: " + rate("link", random.between(50, 900), "GB/s") + "}]");
  draft.set(node + ".scale_up.link", rate("link", random.between(50, 900), "GB/s"));
  draft.set(node + ".scale_up.latency", time("latency", random.between(0, 30), "us"));
  if (random.percent(30)) draft.set(node + ".scale_up.efficiency", "0.8");
  if (!mesh && !pcie && random.percent(20)) draft.set(node + ".scale_up.in_network_reduction", "0.8");
  draft.set(node + ".nics.count", random.percent(50) ? of_node : 1);
  draft.set(node + ".nics.rate", rate("link", random.between(100, 800), "Gbps"));
  draft.set(node + ".nics.pcie", rate("link", random.between(30, 64), "GB/s"));
  if (random.percent(30)) {
    draft.set(node + ".protocols",
              "[{name: swift, efficiency: 0.3, launch: @latency(10 us), local_step: @latency(0.6 us), remote_step: "
              "@latency(2.5 us)}, "
              "{name: wide, efficiency: 1, launch: @latency(25 us), local_step: @latency(3.5 us), remote_step: "
              "@latency(9 us), remote_launch: @latency(40 us)}]");
  }
  if (random.percent(20))
    draft.set(node + ".algorithms", random.one_of<std::string>({"[ring]", "[ring, tree, direct all-to-all, shift]",
                                                                "[recursive halving, direct, shift]"}));
  draft.set("cluster.nodes", nodes);
  add_fabric(draft, "cluster.fabric", random);
  RandomCluster result{of_node * nodes, of_node, false, true};
  if (nodes <= 8 && random.percent(15)) {
    draft.set("cluster.halls", 2);
    add_fabric(draft, "cluster.between_halls", random);
    result.chips *= 2;
  }
  if (random.percent(20))
    draft.set("cluster.order",
              random.one_of<std::string>({"round-robin", "{scattered: 1}", "{scattered: 2}", "packed"}));
  return result;
}

}  // namespace

RandomCluster add_random_cluster(Draft& draft, Random& random) {
  return random.percent(40) ? add_torus(draft, random) : add_nodes(draft, random);
}

}  // namespace lockstep::test
