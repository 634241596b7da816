// GraphML: nodes with the attribute `kind`, edges with `bandwidth`, `latency`, `count` and `label`.
#include <map>

#include "sim/core/xml_tree.hpp"
#include "topologies/graph/network_format_private.hpp"
#include "topologies/graph/quantity_cell_private.hpp"

namespace lockstep::topologies {
namespace {

bool recognises(std::string_view head) { return is_xml_of(head, "graphml"); }

TextPlace place_of(const XmlElement& element) { return {element.line, element.column}; }

class GraphReader {
 public:
  explicit GraphReader(NetworkBuilder& builder) : builder_(builder) {}

  void read(const XmlElement& root) {
    for (const XmlElement& key : root.children) {
      if (key.name == "key") names_[std::string(key.attribute("id"))] = key.attribute("attr.name");
    }
    const XmlElement* graph = nullptr;
    for (const XmlElement& child : root.children) {
      if (child.name != "graph") continue;
      if (graph != nullptr) return builder_.problem(place_of(child), "", "a second graph", "one graph");
      graph = &child;
    }
    if (graph == nullptr) return builder_.problem(place_of(root), "", "has no graph", "a graph");
    if (graph->attribute("edgedefault") == "directed")
      return builder_.problem(place_of(*graph), "edgedefault", "is directed",
                              "undirected: a cable carries its rate both ways");
    for (const XmlElement& child : graph->children) {
      if (child.name == "node") read_node(child);
    }
    for (const XmlElement& child : graph->children) {
      if (child.name == "edge") read_edge(child, true);
    }
    for (const XmlElement& child : graph->children) {
      if (builder_.gives_up()) return;
      if (child.name == "edge") read_edge(child, false);
    }
    if (inside_ > 0) {
      builder_.note(counted(inside_, "edge") +
                    " between chips, NICs and their hosts: left out, since they belong to the node.");
    }
    if (alone_ > 0)
      builder_.note(std::to_string(alone_) + " of the chips or NICs in no host: each is taken as a host.");
  }

 private:
  struct Node {
    std::string name, kind;
    std::optional<CableEnd> end;   ///< of a host or a switch
    std::optional<HostId> inside;  ///< the host of a chip or a NIC
    bool is_part() const { return kind == "nic" || kind == "chip"; }
  };

  [[nodiscard]] std::map<std::string, std::string> data_of(const XmlElement& element) const {
    std::map<std::string, std::string> data;
    for (const XmlElement& child : element.children) {
      if (child.name != "data") continue;
      const auto named = names_.find(std::string(child.attribute("key")));
      data[named != names_.end() ? named->second : std::string(child.attribute("key"))] = child.text;
    }
    return data;
  }

  void read_node(const XmlElement& element) {
    const std::string id(element.attribute("id"));
    auto data = data_of(element);
    Node node{data["name"].empty() ? id : data["name"], data["kind"], std::nullopt, std::nullopt};
    if (node.kind == "host") {
      if (const auto host = builder_.add_host(node.name, place_of(element))) node.end = AdapterEnd{*host, 0};
    } else if (node.kind == "switch") {
      if (const auto made = builder_.add_switch(node.name, place_of(element))) node.end = SwitchEnd{*made};
    } else if (!node.is_part()) {
      builder_.problem(place_of(element), "kind",
                       node.kind.empty() ? "node '" + id + "' has no kind" : "'" + node.kind + "' is no kind",
                       "host, switch, nic or chip");
    }
    if (!nodes_.emplace(id, std::move(node)).second)
      builder_.problem(place_of(element), "id", "'" + id + "' appears twice", "each node once");
  }

  Node* end_of(const XmlElement& edge, const char* side) {
    const auto found = nodes_.find(std::string(edge.attribute(side)));
    if (found != nodes_.end()) return &found->second;
    builder_.problem(place_of(edge), side, "'" + std::string(edge.attribute(side)) + "' is no node",
                     "the id of a node");
    return nullptr;
  }

  /// `joins_parts`: the edges that put a chip or a NIC into its host, which come first; then the cables.
  void read_edge(const XmlElement& edge, bool joins_parts) {
    Node *from = end_of(edge, "source"), *to = end_of(edge, "target");
    if (from == nullptr || to == nullptr) return;
    const auto is_host = [](const Node& node) { return node.kind == "host"; };
    const bool inside = (from->is_part() && (to->is_part() || is_host(*to))) || (to->is_part() && is_host(*from));
    if (inside == joins_parts && inside) {
      ++inside_;
      if (is_host(*from) || is_host(*to)) put(is_host(*from) ? *to : *from, is_host(*from) ? *from : *to);
    }
    if (inside || joins_parts) return;
    auto data = data_of(edge);
    Cable like;
    like.rate = read_rate(data["bandwidth"], place_of(edge), "bandwidth", builder_);
    like.latency = read_latency(data["latency"], place_of(edge), "latency", builder_);
    like.label = data["label"];
    const int count = read_cable_count(data["count"], place_of(edge), builder_);
    const auto a = cable_end(*from, edge), b = cable_end(*to, edge);
    if (a && b) connect_with_adapters(*a, *b, count, like, place_of(edge), builder_);
  }

  static void put(Node& part, const Node& host) {
    if (host.end) part.inside = std::get<AdapterEnd>(*host.end).host;
  }

  std::optional<CableEnd> cable_end(Node& node, const XmlElement& edge) {
    if (!node.is_part()) return node.end;
    if (!node.inside) {  // a chip or NIC in no host is one
      node.inside = builder_.add_host(node.name, place_of(edge));
      ++alone_;
    }
    return node.inside ? std::optional<CableEnd>(AdapterEnd{*node.inside, 0}) : std::nullopt;
  }

  NetworkBuilder& builder_;
  std::map<std::string, std::string> names_;  ///< of attributes, by the id of their key
  std::map<std::string, Node> nodes_;
  std::size_t inside_ = 0, alone_ = 0;
};

void read(std::string_view text, NetworkBuilder& builder) {
  const XmlElement root = read_xml(text, builder.file(), builder.problems());
  if (builder.problems().empty()) GraphReader(builder).read(root);
}

}  // namespace

extern const NetworkFormat graphml_format;
const NetworkFormat graphml_format{"GraphML", recognises, read};

}  // namespace lockstep::topologies
