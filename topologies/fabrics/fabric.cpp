#include "topologies/fabrics/fabric.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "sim/core/errors.hpp"
#include "sim/core/quantity_text.hpp"
#include "topologies/fabrics/fabric_row_private.hpp"
#include "topologies/fabrics/unit_network_private.hpp"
#include "topologies/torus/torus.hpp"

namespace lockstep::topologies {
namespace {

constexpr int most_devices = 1'000'000;  // refused before memory is spent on them
constexpr Seconds most_latency(1);       // once round the Earth takes an eighth of it

/// Collects what is wrong with a cluster, part by part; a part is looked at only when those that it rests on are sound.
class ClusterCheck {
 public:
  explicit ClusterCheck(const ClusterSpec& spec) : spec_(spec) {}

  std::vector<ClusterProblem> problems() {
    counts();
    if (!spec_.groups.empty()) {
      groups();
    } else if (const NodeSpec* node = spec_.node()) {
      check(*node);
    } else if (const std::string why = why_not_a_slice(*spec_.torus()); !why.empty()) {
      add("shape", why,
          spec_.chip().torus ? "a slice that the pod holds" : "a chip whose links form a torus, such as tpu-v5p");
    }
    if (!problems_.empty()) return problems_;
    if (spec_.devices() > most_devices) {
      add("", std::to_string(spec_.devices()) + " chips", "at most " + std::to_string(most_devices));
      return problems_;
    }
    if (spec_.units * spec_.halls > 1) networks();
    if (problems_.empty()) problems_ = why_not_an_order(spec_);
    return problems_;
  }

 private:
  void add(std::string key, std::string what, std::string expected) {
    problems_.push_back({std::move(key), std::move(what), std::move(expected)});
  }

  void count(const std::string& key, int value, const std::string& of, int most) {
    check_count(key, value, of, most, problems_);
  }
  void rate(const std::string& key, BytesPerSecond value, const std::string& of) {
    if (!(value.value() > 0) || !std::isfinite(value.value()))
      add(key, "the bandwidth of " + of + " is " + format_number(value.value()), "a rate, such as 50 GB/s");
  }
  void efficiency(const std::string& key, double value) {
    if (!(value > 0 && value <= 1)) add(key, "an efficiency of " + format_number(value), "more than 0, at most 1");
  }
  void latency(const std::string& key, Seconds value) {
    if (!(value.value() >= 0) || !std::isfinite(value.value()))
      add(key, "a latency of " + format_number(value.value()) + " s", "a time, such as 1 us");
    if (value > most_latency) add(key, "the latency is too long", "at most " + format(most_latency));
  }
  static std::string format_number(double value) {
    std::string text = std::to_string(value);
    while (text.find('.') != std::string::npos && (text.back() == '0' || text.back() == '.')) {
      const bool point = text.back() == '.';
      text.pop_back();
      if (point) break;
    }
    return text;
  }

  void counts() {
    count("units", spec_.units, "units", most_devices);
    count("halls", spec_.halls, "halls", most_devices);
  }

  /// Devices are numbered by node and chip, and NICs by node and rail, so nodes must have as many of both.
  void groups() {
    const NodeSpec& first = spec_.groups.front().node;
    int units = 0;
    for (std::size_t i = 0; i < spec_.groups.size(); ++i) {
      const auto& [node, count_of_units] = spec_.groups[i];
      const std::string key = "groups[" + std::to_string(i) + ']';
      count(key + ".nodes", count_of_units, "nodes of a group", most_devices);
      units += std::min(count_of_units, most_devices - units);
      check(node, key + '.');
      const auto alike = [&](const std::string& of, auto own, auto firsts) {
        if (own != firsts)
          add(key + ".node", "it has another " + of + " than the first group's", "as many and of the same kind");
      };
      alike("number of chips", node.chips, first.chips);
      alike("number of NICs", node.nics, first.nics);
      alike("kind of scale-up", node.scale_up, first.scale_up);
      const auto chips_of = [](const NodeSpec& of) {
        std::vector<int> chips;
        for (const SharedUplink& uplink : of.uplinks) chips.push_back(uplink.chips);
        return chips;
      };
      alike("tree of PCIe switches", chips_of(node), chips_of(first));
    }
    if (units != spec_.units) add("groups", "their nodes do not add up", "as many as the cluster has");
    if (spec_.halls > 1) add("halls", "nodes of several kinds have no halls", "one hall");
  }

  void check(const NodeSpec& node, const std::string& prefix = "") {
    count(prefix + "node.chips", node.chips, "chips in a node", most_devices);
    efficiency(prefix + "node.scale_up.efficiency", node.scale_up_efficiency);
    latency(prefix + "node.scale_up.latency", node.scale_up_latency);
    if (node.chips > 1) rate(prefix + "node.scale_up.link", node.scale_up_link, "links inside a node");
    uplinks(node, prefix);
    if (spec_.units * spec_.halls == 1 || node.chips < 1) return;
    if (node.nics < 1 || node.nics > node.chips || node.chips % node.nics != 0) {
      add(prefix + "node.nics.count",
          std::to_string(node.nics) + " NICs do not divide " + std::to_string(node.chips) + " chips",
          "a divisor of " + std::to_string(node.chips));
    }
    rate(prefix + "node.nics.rate", node.nic, "a NIC");
    rate(prefix + "node.nics.pcie", node.pcie, "the link from a chip to its NIC");
  }

  /// Each joins several of the one below, and the last does not join all chips.
  void uplinks(const NodeSpec& node, const std::string& prefix) {
    int below = 1;
    for (std::size_t i = 0; i < node.uplinks.size(); ++i) {
      const SharedUplink& uplink = node.uplinks[i];
      const std::string key = prefix + "node.scale_up.uplinks[" + std::to_string(i) + ']';
      rate(key + ".link", uplink.link, "a shared uplink");
      if (uplink.chips < std::max(1, below) || uplink.chips >= node.chips || node.chips % uplink.chips != 0 ||
          (i > 0 && (uplink.chips == below || uplink.chips % below != 0))) {
        add(key + ".chips", std::to_string(uplink.chips) + " chips of a node of " + std::to_string(node.chips),
            "a divisor of " + std::to_string(node.chips) +
                (i > 0 ? " that is a multiple of the " + std::to_string(below) + " of the uplink below"
                       : " that is less"));
        return;
      }
      below = uplink.chips;
    }
  }

  /// The keys of one network are below `name`.
  void check(const FabricSpec& fabric, const std::string& name) {
    efficiency(name + ".efficiency", fabric.efficiency);
    latency(name + ".nic_latency", fabric.nic_latency);
    latency(name + ".switch_latency", fabric.switch_latency);
    latency(name + ".barrier", fabric.barrier);
    if (!(fabric.link.value() >= 0) || !std::isfinite(fabric.link.value()))
      rate(name + ".link", fabric.link, "a link between switches");
    count(name + ".channels", fabric.channels, "channels", most_flows);
    count(name + ".queue_pairs", fabric.queue_pairs, "queue pairs", most_flows);
    if (std::int64_t{fabric.channels} * fabric.queue_pairs > most_flows) {
      add(name + ".queue_pairs",
          std::to_string(fabric.channels) + " channels of " + std::to_string(fabric.queue_pairs) + " queue pairs",
          "at most " + std::to_string(most_flows) + " flows in all");
    }
    for (std::size_t tier = 0; tier < fabric.oversubscription.size(); ++tier) {
      const double ratio = fabric.oversubscription[tier];
      if (!(ratio >= 1) || !std::isfinite(ratio)) {
        add(name + ".oversubscription[" + std::to_string(tier) + ']',
            format_number(ratio) + " would be more bandwidth above than below", "1 or more");
      }
    }
    if (std::cmp_greater_equal(fabric.oversubscription.size(), std::max(1, fabric.tiers)))
      add(name + ".oversubscription",
          std::to_string(fabric.oversubscription.size()) + " tiers of uplinks among " + std::to_string(fabric.tiers) +
              " tiers of switches",
          "at most one ratio less than `tiers`: leaf to spine, spine to core");
    for (ClusterProblem& problem : limits(fabric)) add(name + '.' + problem.key, problem.what, problem.expected);
  }

  /// The top switches of a network over the ends; 0: it cannot be built.
  int tops(const FabricSpec& fabric, const std::string& name, const EndCount& ends) {
    const auto count = top_switches(fabric, ends);
    if (const auto* problem = std::get_if<ClusterProblem>(&count)) {
      const bool is_file = std::holds_alternative<GivenNetwork>(fabric.kind);  // a key of the cluster names it
      add(is_file ? problem->key : name + '.' + problem->key, problem->what, problem->expected);
      return 0;
    }
    return std::get<int>(count);
  }

  void networks() {
    const Chip& chip = spec_.chip();
    if (spec_.torus() != nullptr && (!chip.pcie || !chip.dcn_per_host)) {
      add("chip", chip.name + " has no link out of its pod", "a chip with pcie and dcn_per_host");
    }
    check(spec_.fabric, "fabric");
    if (spec_.halls > 1) check(spec_.between_halls, "between_halls");
    if (spec_.halls > 1 && std::holds_alternative<GivenNetwork>(spec_.fabric.kind))
      add("halls", "a graph has no halls", "a graph of the whole network");
    if (!problems_.empty()) return;
    const int per_unit = nics_of_unit(spec_);
    const UnitKind unit = spec_.node() != nullptr ? UnitKind::node : UnitKind::pod;
    const int of_hall = tops(spec_.fabric, "fabric", {spec_.units * per_unit, per_unit, nic_rate(spec_), unit});
    if (spec_.halls == 1 || of_hall == 0) return;
    static_cast<void>(tops(spec_.between_halls, "between_halls",
                           {spec_.halls * of_hall, of_hall, hall_exit_rate(spec_, of_hall), UnitKind::hall}));
  }

  const ClusterSpec& spec_;
  std::vector<ClusterProblem> problems_;
};

}  // namespace

std::vector<ClusterProblem> why_not_a_cluster(const ClusterSpec& spec) { return ClusterCheck(spec).problems(); }

}  // namespace lockstep::topologies
