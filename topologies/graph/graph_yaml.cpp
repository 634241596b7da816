// Lockstep's own YAML of a network: switches, hosts with their adapters, and links between lists of names.
#include <algorithm>

#include "sim/core/yaml_view.hpp"
#include "topologies/graph/host_list.hpp"
#include "topologies/graph/network_format_private.hpp"
#include "topologies/graph/network_text_private.hpp"

namespace lockstep::topologies {
namespace {

constexpr std::size_t most_adapters_of_a_host = 1024;

bool recognises(std::string_view head) {
  return any_line(head, [](std::string_view line) {
    return line.starts_with("switches:") || line.starts_with("hosts:") || line.starts_with("links:");
  });
}

TextPlace place_of(const YamlView& view) { return {view.where().line, view.where().column}; }

std::vector<std::string> names(const YamlView& view, NetworkBuilder& builder) {
  if (!view.exists()) return {};
  return builder.expand(view.text(), place_of(view), view.path());
}

void read_hosts(const YamlView& item, NetworkBuilder& builder) {
  if (!item.expect_map("hosts such as {names: \"gpu[001-128]\", adapters: 8}")) return;
  const YamlView adapters = item.require("adapters", "their number or names, such as 8 or \"mlx5_[0-7]\"");
  std::vector<std::string> of_host;
  const std::string text = adapters.exists() ? adapters.text() : "1";
  if (text.find_first_not_of("0123456789") == std::string::npos)
    of_host.resize(static_cast<std::size_t>(adapters.exists() ? adapters.integer(1, most_adapters_of_a_host) : 1));
  else
    of_host = names(adapters, builder);
  for (const std::string& name : names(item.require("names", "names such as gpu[001-128]"), builder)) {
    if (builder.gives_up()) break;
    const auto host = builder.add_host(name, place_of(item));
    if (!host) continue;
    for (const std::string& adapter : of_host) (void)builder.add_adapter(*host, adapter);
  }
  item.refuse_unknown_keys();
}

/// How the ends on both sides of a link are joined.
enum class Pairs { all, in_turn, in_blocks };

class LinkReader {
 public:
  LinkReader(const YamlView& link, NetworkBuilder& builder) : link_(link), builder_(builder) {}

  void read() {
    if (!link_.expect_map("a link such as {from: \"leaf[1-4]\", to: \"spine[1-2]\", rate: 400 Gbps}")) return;
    const YamlView from = link_.require("from", "hosts or switches such as gpu[001-016]");
    const YamlView to = link_.require("to", "hosts or switches such as leaf[1-4]");
    const auto sources = ends(from, link_["adapter"]), targets = ends(to, link_["to_adapter"]);
    Cable cable;
    if (const YamlView count = link_["count"]; count.exists())
      cable.count = static_cast<int>(count.integer(1, most_parallel_cables));
    if (const YamlView rate = link_["rate"]; rate.exists()) cable.rate = rate.bytes_per_second();
    if (const YamlView latency = link_["latency"]; latency.exists()) cable.latency = latency.seconds(true);
    if (const YamlView label = link_["label"]; label.exists()) cable.label = label.text();
    Pairs pairs = Pairs::all;
    if (const YamlView key = link_["pairs"]; key.exists())
      pairs = static_cast<Pairs>(key.choice({"all", "in turn", "in blocks"}));
    link_.refuse_unknown_keys();
    if (builder_.problems().empty()) join(sources, targets, pairs, from.text() == to.text(), cable);
  }

 private:
  /// Switches, and of hosts the adapters that are named, or else all.
  std::vector<CableEnd> ends(const YamlView& view, const YamlView& adapter) {
    std::vector<CableEnd> list;
    std::vector<std::string> unknown, absent;  // ends, and adapters of the first host that lacks some
    HostId first_without = 0;
    std::size_t hosts_without = 0;
    const auto wanted = names(adapter, builder_);
    if (wanted.size() > most_adapters_of_a_host) {
      adapter.problem("has " + std::to_string(wanted.size()) + " names",
                      "at most " + std::to_string(most_adapters_of_a_host));
      return {};
    }
    for (const std::string& name : names(view, builder_)) {
      if (builder_.gives_up()) break;
      if (list.size() > most_cable_ends) {
        view.problem("has too many ends", "at most " + std::to_string(most_cable_ends));
        break;
      }
      const auto end = builder_.find(name);
      if (!end) {
        unknown.push_back("'" + name + "'");
        continue;
      }
      const auto* host = std::get_if<AdapterEnd>(&*end);
      if (host == nullptr) {
        list.push_back(*end);
        continue;
      }
      auto lacks = add_adapters(list, host->host, wanted);
      if (lacks.empty() || ++hosts_without > 1) continue;
      first_without = host->host;
      absent = std::move(lacks);
    }
    if (!unknown.empty())
      view.problem(some_of(unknown) +
                       (unknown.size() == 1 ? " is neither a host nor a switch" : " are neither hosts nor switches") +
                       " of this file",
                   "one of them");
    if (!absent.empty()) {
      const NetworkHost& host = builder_.graph().hosts[first_without];
      std::string what = "'" + host.name + "' has no adapter " + some_of(absent);
      if (hosts_without > 1)
        what += ", and " + counted(hosts_without - 1, "other host") + (hosts_without == 2 ? " lacks" : " lack") +
                " some too";
      adapter.problem(std::move(what), "one of " + fold_names(host.adapters));
    }
    return list;
  }

  /// Adds the adapters of a host, all or the named ones; those that it does not have.
  std::vector<std::string> add_adapters(std::vector<CableEnd>& list, HostId host,
                                        const std::vector<std::string>& wanted) const {
    const NetworkHost& of = builder_.graph().hosts[host];
    const auto count = static_cast<int>(of.adapters.size());
    std::vector<std::string> absent;
    for (int i = 0; wanted.empty() && i < count; ++i) list.push_back(AdapterEnd{host, i});
    for (const std::string& name : wanted) {
      const auto found = std::find(of.adapters.begin(), of.adapters.end(), name);
      if (found == of.adapters.end())
        absent.push_back("'" + name + "'");
      else
        list.push_back(AdapterEnd{host, static_cast<int>(found - of.adapters.begin())});
    }
    return absent;
  }

  void join(const std::vector<CableEnd>& sources, const std::vector<CableEnd>& targets, Pairs pairs,
            bool among_themselves, Cable cable) {
    const std::size_t all = sources.size() * targets.size();
    if (pairs == Pairs::all && sources.size() > most_cable_ends / std::max<std::size_t>(targets.size(), 1))
      return link_.problem("joins " + std::to_string(all) + " pairs", "at most " + std::to_string(most_cable_ends));
    if (pairs != Pairs::all && (targets.empty() || sources.size() % targets.size() != 0)) {
      return link_.problem(
          std::to_string(sources.size()) + " ends cannot be shared evenly among " + std::to_string(targets.size()),
          "a multiple");
    }
    const std::size_t share = pairs == Pairs::all ? 1 : sources.size() / targets.size();
    if (among_themselves && sources.size() == 1)  // of several, each is joined with the others
      return builder_.connect({sources[0], targets[0], 1, {}, {}, ""}, place_of(link_));
    for (std::size_t i = 0; i < sources.size() && !builder_.gives_up(); ++i) {
      cable.from = sources[i];
      if (pairs != Pairs::all) {
        cable.to = targets[pairs == Pairs::in_turn ? i % targets.size() : i / share];
        builder_.connect(cable, place_of(link_));
        continue;
      }
      for (std::size_t j = among_themselves ? i + 1 : 0; j < targets.size(); ++j) {
        cable.to = targets[j];
        builder_.connect(cable, place_of(link_));
      }
    }
  }

  const YamlView& link_;
  NetworkBuilder& builder_;
};

void read(std::string_view text, NetworkBuilder& builder) {
  const YamlView document = YamlView::from_text(text, builder.file(), builder.problems());
  if (!document.exists() || !document.expect_map("a map with hosts, switches and links")) return;
  if (const YamlView name = document["network"]; name.exists()) builder.name(name.text());
  for (const YamlView& item : document.require("hosts", "a list of hosts").items()) read_hosts(item, builder);
  if (const YamlView switches = document["switches"]; switches.exists()) {
    for (const YamlView& item : switches.items()) {
      for (const std::string& name : names(item, builder)) (void)builder.add_switch(name, place_of(item));
    }
  }
  const YamlView links = document.require("links", "a list of links");
  document.refuse_unknown_keys();
  if (!builder.problems().empty()) return;
  for (const YamlView& link : links.items()) {
    if (builder.gives_up()) return;
    LinkReader(link, builder).read();
  }
}

}  // namespace

extern const NetworkFormat graph_yaml_format;
const NetworkFormat graph_yaml_format{"Lockstep's YAML", recognises, read};

}  // namespace lockstep::topologies
