// SimAI's topology file: a line of sizes, a line with the numbers of the switches, a line for each link.
#include "topologies/graph/network_format_private.hpp"
#include "topologies/graph/network_text_private.hpp"
#include "topologies/graph/quantity_cell_private.hpp"

namespace lockstep::topologies {
namespace {

constexpr const char* a_head = "nodes, GPUs of a server, NVSwitches, switches, links and the kind of GPU";

/// The sizes in the first line.
struct Head {
  int nodes = 0, gpus_per_server = 0, nvswitches = 0, switches = 0, links = 0;
  std::string gpu;
};

std::optional<Head> read_head(std::string_view line) {
  LineScan scan(line, 1);
  Head head;
  for (int* size : {&head.nodes, &head.gpus_per_server, &head.nvswitches, &head.switches, &head.links}) {
    scan.skip_space();
    const auto number = scan.number();
    if (!number) return std::nullopt;
    *size = *number;
  }
  head.gpu = scan.word();
  return head.gpu.empty() || !scan.word().empty() ? std::nullopt : std::optional(head);
}

bool recognises(std::string_view head) { return read_head(head.substr(0, head.find_first_of("\r\n"))).has_value(); }

enum class Kind : char { gpu, nvswitch, network_switch };

class TopologyReader {
 public:
  explicit TopologyReader(NetworkBuilder& builder) : builder_(builder) {}

  bool read_line(std::string_view line, int number) {
    if (number == 1) return start(line);
    if (line.empty()) return true;
    if (number == 2) return read_switches(line);
    return read_link(line, number);
  }

  void finish(int lines) {
    if (!builder_.problems().empty()) return;
    if (links_ != head_.links) {
      builder_.problem({lines, 1}, "", "has " + std::to_string(links_) + " links",
                       std::to_string(head_.links) + ", as the first line says; the file may be cut off");
    }
    const std::string servers = counted(builder_.graph().hosts.size(), "server") + " of " +
                                std::to_string(head_.gpus_per_server) + " GPUs of the kind " + head_.gpu;
    builder_.note("A host is a server: " + servers + ".");
    if (inside_ > 0) {
      builder_.note("Left out, since they belong to the node: " + counted(inside_, "link") + inside_rate_ +
                    " inside servers and " + std::to_string(head_.nvswitches) +
                    (head_.nvswitches == 1 ? " NVSwitch." : " NVSwitches."));
    }
  }

 private:
  bool refuse(int line, const std::string& what, const std::string& expected) {
    builder_.problem({line, 1}, "", what, expected);
    return false;
  }

  bool start(std::string_view line) {
    head_ = read_head(line).value_or(Head{});
    if (head_.nodes < 1 || head_.nodes > static_cast<int>(most_network_nodes) || head_.gpus_per_server < 1)
      return refuse(1, "the sizes are out of range", a_head);
    const std::int64_t gpus = std::int64_t{head_.nodes} - head_.nvswitches - head_.switches;
    if (gpus < 1 || gpus % head_.gpus_per_server != 0) {
      return refuse(1, std::to_string(gpus) + " GPUs are left without the switches",
                    "a multiple of the " + std::to_string(head_.gpus_per_server) + " GPUs of a server");
    }
    kinds_.assign(head_.nodes, Kind::gpu);
    ids_.assign(head_.nodes, 0);
    return true;
  }

  /// NVSwitches first, then the others; all other numbers are GPUs.
  bool read_switches(std::string_view line) {
    LineScan scan(line, 2);
    for (int i = 0; i < head_.nvswitches + head_.switches; ++i) {
      scan.skip_space();
      const auto number = scan.number();
      if (!number || *number >= head_.nodes || kinds_[*number] != Kind::gpu) {
        return refuse(2, number ? "the switch " + std::to_string(*number) + " is wrong" : "has too few switches",
                      std::to_string(head_.nvswitches + head_.switches) + " different numbers below " +
                          std::to_string(head_.nodes));
      }
      kinds_[*number] = i < head_.nvswitches ? Kind::nvswitch : Kind::network_switch;
    }
    if (!scan.word().empty()) return refuse(2, "has too many switches", "as many as the first line says");
    int gpus = 0;
    for (const int node : kinds_.ids()) {
      if (kinds_[node] == Kind::network_switch)
        ids_[node] = builder_.add_switch("switch" + std::to_string(node), {2, 1}).value_or(0);
      if (kinds_[node] != Kind::gpu) continue;
      const int server = gpus++ / head_.gpus_per_server;
      if (server == builder_.graph().hosts.count()) (void)builder_.add_host("server" + std::to_string(server), {2, 1});
      ids_[node] = server;
    }
    return true;
  }

  CableEnd end_of(int node) {
    if (kinds_[node] == Kind::network_switch) return SwitchEnd{ids_[node]};
    return builder_.add_adapter(ids_[node], "gpu" + std::to_string(node) + "." +
                                                std::to_string(builder_.graph().hosts[ids_[node]].adapters.size()));
  }

  bool read_link(std::string_view line, int number) {
    LineScan scan(line, number);
    int ends[2];
    for (int& end : ends) {
      scan.skip_space();
      const auto node = scan.number();
      if (!node || *node >= head_.nodes)
        return refuse(number, "the ends of a link cannot be read", "two numbers below " + std::to_string(head_.nodes));
      end = *node;
    }
    const std::string rate(scan.word()), latency(scan.word());
    if (rate.empty() || latency.empty())
      return refuse(number, "a link lacks its rate or delay", "a line such as 0 12 400Gbps 0.0005ms 0");
    ++links_;
    const bool inside =
        kinds_[ends[0]] == Kind::nvswitch || kinds_[ends[1]] == Kind::nvswitch ||
        (kinds_[ends[0]] == Kind::gpu && kinds_[ends[1]] == Kind::gpu && ids_[ends[0]] == ids_[ends[1]]);
    const auto bandwidth = read_rate(rate, {number, 1}, "rate", builder_);
    const auto delay = read_latency(latency, {number, 1}, "delay", builder_);
    if (inside) {
      ++inside_;
      inside_rate_ = " of " + rate;
    } else if (bandwidth && delay) {
      const CableEnd from = end_of(ends[0]);
      builder_.connect({from, end_of(ends[1]), 1, bandwidth, delay, ""}, {number, 1});
    }
    return !builder_.gives_up();
  }

  NetworkBuilder& builder_;
  Head head_;
  Indexed<int, Kind> kinds_;
  Indexed<int, int> ids_;
  int links_ = 0;
  std::size_t inside_ = 0;
  std::string inside_rate_;
};

void read(std::string_view text, NetworkBuilder& builder) {
  TopologyReader reader(builder);
  int lines = 0;
  for_each_line(text, [&](std::string_view line, int number) {
    lines = number;
    return reader.read_line(line, number);
  });
  reader.finish(lines);
}

}  // namespace

extern const NetworkFormat simai_format;
const NetworkFormat simai_format{"SimAI topology", recognises, read};

}  // namespace lockstep::topologies
