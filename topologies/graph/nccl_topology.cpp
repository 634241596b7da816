// NCCL's topology XML: CPUs, below them PCIe bridges, GPUs with their links and NICs with their ports.
#include <algorithm>
#include <charconv>
#include <map>
#include <set>

#include "sim/core/xml_tree.hpp"
#include "topologies/graph/node_format_private.hpp"

namespace lockstep::topologies {
namespace {

constexpr double most_megabits = 1e9;

bool recognises(std::string_view head) { return is_xml_of(head, "system"); }

enum class Device { gpu, nic, bridge, other };

bool has_child(const XmlElement& element, std::string_view name) {
  return std::any_of(element.children.begin(), element.children.end(),
                     [&](const XmlElement& child) { return child.name == name; });
}

/// By what stands below a device, and otherwise by its PCI class: 0x03 and 0x12 display and processing accelerators,
/// 0x02 network controllers, 0x06 bridges (PCI Code and ID Assignment Specification).
Device device_of(const XmlElement& pci) {
  if (has_child(pci, "gpu")) return Device::gpu;
  if (has_child(pci, "nic")) return Device::nic;
  const std::string_view code = pci.attribute("class");
  if (code.starts_with("0x03") || code.starts_with("0x12")) return Device::gpu;
  if (code.starts_with("0x02")) return Device::nic;
  return code.starts_with("0x0604") || has_child(pci, "pci") ? Device::bridge : Device::other;
}

/// The name of an AMD GPU's architecture; older files have its number, in which 910 stands for gfx90a.
std::string architecture(std::string_view gcn) {
  return gcn == "910" ? "gfx90a" : (gcn.starts_with("gfx") ? "" : "gfx") + std::string(gcn);
}

/// The number with which a text begins; below zero: none.
double leading_number(std::string_view text) {
  double number = -1;
  static_cast<void>(std::from_chars(text.data(), text.data() + text.size(), number));
  return number;
}

/// Lanes times transfers a second, of which line codes use 8 of 10 bits below 8 GT/s and 128 of 130 from there on.
/// Files made on virtual machines may lack both numbers.
std::optional<BytesPerSecond> rate_of_pcie(const XmlElement& pci) {
  const double transfers = leading_number(pci.attribute("link_speed")),
               lanes = leading_number(pci.attribute("link_width"));
  if (!(transfers > 0 && transfers <= 1000 && lanes > 0 && lanes <= 64)) return std::nullopt;
  return BytesPerSecond(transfers * 1e9 * lanes / 8 * (transfers < 8 ? 0.8 : 128.0 / 130));
}

/// Where a device sits: its CPU and the PCIe switches from there to it.
struct Place {
  std::size_t cpu = 0;
  std::vector<const XmlElement*> bridges;
};

PcieDistance distance(const Place& gpu, const Place& nic) {
  if (gpu.cpu != nic.cpu) return PcieDistance::sys;
  std::size_t common = 0;
  while (common < std::min(gpu.bridges.size(), nic.bridges.size()) && gpu.bridges[common] == nic.bridges[common])
    ++common;
  if (common == 0) return PcieDistance::phb;
  const bool one_switch = gpu.bridges.size() == common && nic.bridges.size() == common;
  return one_switch ? PcieDistance::pix : PcieDistance::pxb;
}

class SystemReader {
 public:
  SystemReader(const std::string& file, Problems& problems) : file_(file), problems_(problems) {}

  NodeDescription read(const XmlElement& system) {
    std::size_t cpu = 0;
    for (const XmlElement& child : system.children) {
      if (child.name == "cpu")
        read_below(child, {cpu++, {}});
      else if (child.name == "pci")
        read_pci(child, {cpu, {}});
      else if (child.name == "nic")
        read_nic(child, {cpu, {}}, "");
    }
    finish(system);
    return std::move(node_);
  }

 private:
  void problem(const XmlElement& element, std::string key, std::string what, std::string expected) {
    problems_.add({{file_, element.line, element.column}, std::move(key), std::move(what), std::move(expected)});
  }

  // NOLINTNEXTLINE(misc-no-recursion): as deep as the tree, which is bounded
  void read_below(const XmlElement& element, const Place& place) {
    for (const XmlElement& child : element.children) {
      if (child.name == "pci") read_pci(child, place);
      if (child.name == "nic") read_nic(child, place, element.attribute("busid"));
    }
  }

  // NOLINTNEXTLINE(misc-no-recursion)
  void read_pci(const XmlElement& pci, Place place) {
    switch (device_of(pci)) {
      case Device::gpu: read_gpus(pci, place); break;
      case Device::nic:
        if (!has_child(pci, "nic")) add_nic({std::string(pci.attribute("busid")), std::nullopt}, place);
        break;
      case Device::bridge: place.bridges.push_back(&pci); break;
      case Device::other: ++unknown_; break;
    }
    read_below(pci, place);
  }

  void read_gpus(const XmlElement& pci, const Place& place) {
    NodeGpu gpu;
    gpu.name = pci.attribute("busid");
    if (pci.attribute("vendor") == "0x10de" || pci.attribute("vendor") == "0x1002")
      gpu.kind = "PCI device " + std::string(pci.attribute("device"));
    gpu.port = rate_of_pcie(pci);
    if (!place.bridges.empty()) gpu.uplink = rate_of_pcie(*place.bridges.back());
    bool described = false;
    for (const XmlElement& child : pci.children) {
      if (child.name != "gpu") continue;
      described = true;
      NodeGpu one = gpu;
      if (const auto number = child.attribute("dev"); !number.empty()) one.name = "GPU" + std::string(number);
      const std::string_view gcn = child.attribute("gcn"), sm = child.attribute("sm");
      if (!gcn.empty())
        one.kind = architecture(gcn);
      else if (!sm.empty())
        one.kind = "sm_" + std::string(sm);
      for (const XmlElement& link : child.children) count_links(link, one);
      add_gpu(std::move(one), place);
    }
    if (!described) add_gpu(std::move(gpu), place);
  }

  void count_links(const XmlElement& link, NodeGpu& gpu) {
    if (link.name != "nvlink" && link.name != "xgmi") return;
    const std::string_view text = link.attribute("count");
    int count = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
    if (error != std::errc() || end != text.data() + text.size() || count < 1 || count > 1024)
      return problem(link, "count", "'" + std::string(text) + "' is no number of links", "1 to 1024");
    gpu.links += count;
    node_.link_kind = link.name == "xgmi" ? "xGMI" : "NVLink";
  }

  void add_gpu(NodeGpu gpu, const Place& place) {
    if (node_.gpus.size() == most_devices_of_a_node) return;
    node_.gpus.push_back(std::move(gpu));
    gpu_places_.push_back(place);
  }

  /// Ports that share a GUID are one NIC; "0x0" is none.
  void read_nic(const XmlElement& nic, const Place& place, std::string_view bus_id) {
    std::set<std::string_view> seen;
    bool any = false;
    for (const XmlElement& net : nic.children) {
      if (net.name != "net") continue;
      any = true;
      const std::string_view guid = net.attribute("guid"), name = net.attribute("name");
      if (!guid.empty() && guid != "0x0" && !seen.insert(guid).second) {
        ++joined_;
        continue;
      }
      NodeNic one{std::string(name.empty() ? bus_id : name), std::nullopt};
      if (const std::string_view speed = net.attribute("speed"); !speed.empty()) one.rate = rate_of(net, speed);
      add_nic(std::move(one), place);
    }
    if (!any) add_nic({std::string(bus_id), std::nullopt}, place);
  }

  /// `speed` is in Mb/s.
  std::optional<BytesPerSecond> rate_of(const XmlElement& net, std::string_view speed) {
    double megabits = 0;
    const auto [end, error] = std::from_chars(speed.data(), speed.data() + speed.size(), megabits);
    if (error == std::errc() && end == speed.data() + speed.size() && megabits > 0 && megabits <= most_megabits)
      return BytesPerSecond(megabits * 125'000);
    problem(net, "speed", "'" + std::string(speed) + "' is no speed", "a number of Mb/s above zero");
    return std::nullopt;
  }

  void add_nic(NodeNic nic, const Place& place) {
    if (node_.nics.size() == most_devices_of_a_node) return;
    node_.nics.push_back(std::move(nic));
    nic_places_.push_back(place);
  }

  void finish(const XmlElement& system) {
    if (node_.gpus.empty() && node_.nics.empty() && unknown_ == 0)
      problem(system, "", "has neither a GPU nor a NIC", "devices with a PCI class, or elements gpu and nic");
    std::vector<std::vector<PcieDistance>> distances(node_.gpus.size());
    std::map<const XmlElement*, SharedPcieSwitch> switches;
    for (std::size_t gpu = 0; gpu < node_.gpus.size(); ++gpu) {
      for (const Place& nic : nic_places_) distances[gpu].push_back(distance(gpu_places_[gpu], nic));
      for (const XmlElement* bridge : gpu_places_[gpu].bridges) switches[bridge].gpus.push_back(gpu);
    }
    choose_nearest_nics(node_, distances);
    for (const Place& from : gpu_places_) {
      auto& row = node_.between_gpus.emplace_back();
      for (const Place& to : gpu_places_) row.push_back(distance(from, to));
    }
    for (std::size_t nic = 0; nic < node_.nics.size(); ++nic) {
      for (const XmlElement* bridge : nic_places_[nic].bridges) switches[bridge].nics.push_back(nic);
    }
    std::map<std::pair<int, int>, SharedPcieSwitch> in_order;
    for (auto& [bridge, shared] : switches) {
      if (shared.gpus.empty() || shared.nics.empty()) continue;
      shared.bus_id = bridge->attribute("busid");
      in_order.emplace(std::pair(bridge->line, bridge->column), std::move(shared));
    }
    for (auto& [place, shared] : in_order) node_.shared_switches.push_back(std::move(shared));
    const auto left_out = [&](int count, const std::string& what) {
      if (count > 0) node_.notes.push_back("Left out: " + what + ", " + std::to_string(count) + " in all.");
    };
    left_out(unknown_, "PCI devices that are neither GPU nor NIC nor bridge, or have no class");
    left_out(joined_, "further ports of a NIC that have its GUID");
    if (node_.link_kind == "NVLink")
      node_.notes.emplace_back("The file does not say how many GPUs an NVLink switch joins beyond this node.");
    if (node_.gpus.empty())
      node_.notes.emplace_back("The file describes no GPU, as it may: NCCL adds what it finds itself.");
  }

  const std::string& file_;
  Problems& problems_;
  NodeDescription node_;
  std::vector<Place> gpu_places_, nic_places_;
  int unknown_ = 0, joined_ = 0;
};

NodeDescription read(std::string_view text, const std::string& file, Problems& problems) {
  const XmlElement root = read_xml(text, file, problems);
  return problems.empty() ? SystemReader(file, problems).read(root) : NodeDescription{};
}

}  // namespace

extern const NodeFormat nccl_topology_format;
const NodeFormat nccl_topology_format{"NCCL topology XML", {"NVIDIA", "AMD"}, recognises, read};

}  // namespace lockstep::topologies
