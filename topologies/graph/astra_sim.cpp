// ASTRA-sim's network yml: dimensions of rings, full meshes and switches, one above the other.
#include <cstdint>

#include "sim/core/yaml_view.hpp"
#include "topologies/graph/network_format_private.hpp"
#include "topologies/graph/network_text_private.hpp"

namespace lockstep::topologies {
namespace {

constexpr std::int64_t most_npus = 65'536;
constexpr double most_gigabytes = 1e6, most_nanoseconds = 1e12;

bool recognises(std::string_view head) {
  return any_line(head, [](std::string_view line) { return line.starts_with("npus_count:"); });
}

enum class Shape { ring, fully_connected, network_switch };
struct Dimension {
  Shape shape = Shape::ring;
  int size = 1;
  BytesPerSecond rate;
  Seconds latency;
};

/// One value for each dimension, each read by `use`.
template <class Use>
void read_list(const YamlView& document, const char* key, const char* expected, std::vector<Dimension>& dimensions,
               Use use) {
  const YamlView list = document.require(key, expected);
  const auto items = list.items();
  if (!list.is_list()) return;
  if (dimensions.empty()) dimensions.resize(items.size());
  if (items.size() != dimensions.size()) {
    return list.problem("has " + std::to_string(items.size()) + " entries",
                        std::to_string(dimensions.size()) + ", one for each dimension of topology");
  }
  for (std::size_t i = 0; i < items.size(); ++i) use(items[i], dimensions[i]);
}

std::vector<Dimension> read_dimensions(const YamlView& document) {
  std::vector<Dimension> dimensions;
  read_list(document, "topology", "a list such as [Ring, Switch]", dimensions,
            [](const YamlView& item, Dimension& dimension) {
              dimension.shape = static_cast<Shape>(item.choice({"Ring", "FullyConnected", "Switch"}));
            });
  read_list(document, "npus_count", "a list such as [8, 4]", dimensions,
            [](const YamlView& item, Dimension& dimension) {
              dimension.size = static_cast<int>(item.integer(1, most_npus));
            });
  read_list(document, "bandwidth", "a list in GB/s such as [400.0]", dimensions,
            [](const YamlView& item, Dimension& dimension) {
              dimension.rate = BytesPerSecond(item.number(1e-9, most_gigabytes) * 1e9);
            });
  read_list(document, "latency", "a list in ns such as [500.0]", dimensions,
            [](const YamlView& item, Dimension& dimension) {
              dimension.latency = Seconds(item.number(0, most_nanoseconds) / 1e9);
            });
  document.refuse_unknown_keys();
  return dimensions;
}

/// Cables of one dimension among the NPUs of one line through it: first, first + stride, ...
class Line {
 public:
  Line(NetworkBuilder& builder, std::size_t dimension, const Dimension& of, int first, int stride)
      : builder_(builder), name_("dim" + std::to_string(dimension)), of_(of), first_(first), stride_(stride) {}

  void connect() {
    if (of_.size == 1) return;
    switch (of_.shape) {
      case Shape::ring:
        for (int i = 0; i < (of_.size == 2 ? 1 : of_.size); ++i) join(i, (i + 1) % of_.size);
        return;
      case Shape::fully_connected:
        for (int i = 0; i < of_.size; ++i) {
          for (int j = i + 1; j < of_.size; ++j) join(i, j);
        }
        return;
      case Shape::network_switch: {
        const auto hub = builder_.add_switch(name_ + "-switch" + std::to_string(first_), {});
        if (!hub) return;
        for (int i = 0; i < of_.size; ++i) add(adapter(i), SwitchEnd{*hub});
      }
    }
  }

 private:
  CableEnd adapter(int i) {
    const HostId host = first_ + i * stride_;
    return builder_.add_adapter(host, name_ + "." + std::to_string(builder_.graph().hosts[host].adapters.size()));
  }
  void join(int i, int j) {
    const CableEnd from = adapter(i);
    add(from, adapter(j));
  }
  void add(CableEnd from, CableEnd to) { builder_.connect({from, to, 1, of_.rate, of_.latency, ""}, {}); }

  NetworkBuilder& builder_;
  std::string name_;
  const Dimension& of_;
  int first_, stride_;
};

void read(std::string_view text, NetworkBuilder& builder) {
  const YamlView document = YamlView::from_text(text, builder.file(), builder.problems());
  if (!document.exists() || !document.expect_map("a map with topology, npus_count, bandwidth and latency")) return;
  const auto dimensions = read_dimensions(document);
  if (!builder.problems().empty()) return;
  std::int64_t npus = 1, cables = 0;
  for (const Dimension& dimension : dimensions) {
    if (npus > most_npus / dimension.size)
      return document["npus_count"].problem("has too many NPUs", "at most " + std::to_string(most_npus));
    npus *= dimension.size;
  }
  for (const Dimension& dimension : dimensions)
    cables += npus * (dimension.shape == Shape::fully_connected ? (dimension.size - 1) / 2 + 1 : 1);
  if (cables > static_cast<std::int64_t>(most_cable_ends / 2))
    return document["npus_count"].problem("has too many links", "at most " + std::to_string(most_cable_ends / 2));
  for (int i = 0; i < npus; ++i) (void)builder.add_host("npu" + std::to_string(i), {});
  int stride = 1;
  for (std::size_t d = 0; d < dimensions.size(); ++d) {
    const int size = dimensions[d].size;
    for (int first = 0; first < npus; ++first) {
      if (first / stride % size == 0) Line(builder, d, dimensions[d], first, stride).connect();
    }
    stride *= size;
  }
  builder.note(
      "Each NPU is a host of its own, with an adapter for each of its links; a switch adds no latency but that of its "
      "two links.");
}

}  // namespace

extern const NetworkFormat astra_sim_format;
const NetworkFormat astra_sim_format{"ASTRA-sim network yml", recognises, read};

}  // namespace lockstep::topologies
