#include "topologies/chips/catalog_folder_private.hpp"
#include "topologies/fabrics/fabric_row_private.hpp"

namespace lockstep::topologies {
namespace {

constexpr double most_oversubscription = 1e6;
constexpr double most_growth = 1e3;  // for each doubling of units

std::vector<std::string> kind_words() {
  std::vector<std::string> words;
  for (const FabricKind& kind : fabric_kinds()) words.emplace_back(name(kind));
  return words;
}

std::string one_of(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "one of " : ", ") + word;
  return text;
}

/// A kind that is chosen again keeps its keys.
void read_kind(const YamlView& view, FabricKind& kind) {
  const FabricKind chosen = fabric_kinds()[view.choice(kind_words())];
  if (chosen.index() != kind.index()) kind = chosen;
}

/// The keys of every kind are read, so that a wrong value is found whichever kind is chosen; those of other kinds have
/// no effect.
void read_keys_of_kinds(const YamlView& view, FabricKind& kind) {
  for (FabricKind& other : fabric_kinds()) {
    FabricKind& read = other.index() == kind.index() ? kind : other;
    std::visit([&]<class Kind>(Kind& keys) { Kind::row().read(view, keys); }, read);
  }
}

/// One number for the leaves' uplinks, or a list that goes on with those of the tiers above.
std::vector<double> read_oversubscription(const YamlView& view, int tiers) {
  if (!view.is_list()) return {view.number(1, most_oversubscription)};
  std::vector<double> ratios;
  for (const YamlView& item : view.items()) ratios.push_back(item.number(1, most_oversubscription));
  if (std::cmp_greater_equal(ratios.size(), tiers)) {
    view.problem("has " + std::to_string(ratios.size()) + " tiers",
                 tiers == 3 ? "at most two: leaf to spine, spine to core" : "at most " + std::to_string(tiers - 1));
  }
  return ratios;
}

/// The ports of all switches, or a list: of the leaves, of the spines and so on, the last also of those above.
void read_radix(const YamlView& view, FabricSpec& fabric) {
  if (!view.exists()) return;
  fabric.radix_above.clear();
  if (!view.is_list()) return read_count(view, 2, fabric.radix);
  std::vector<int> ports;
  for (const YamlView& item : view.items()) read_count(item, 2, ports.emplace_back(fabric.radix));
  if (ports.empty() || std::cmp_greater(ports.size(), most_tiers))
    return view.problem("has " + std::to_string(ports.size()) + " tiers", "1 to " + std::to_string(most_tiers));
  fabric.radix = ports.front();
  fabric.radix_above.assign(ports.begin() + 1, ports.end());
}

/// Reads a key that may be absent.
template <class Value, class Read>
void read_if(const YamlView& view, Value& value, Read read) {
  if (view.exists()) value = read(view);
}

}  // namespace

FabricSpec read_fabric(const YamlView& view, std::string_view name, const FabricSpec* base) {
  FabricSpec fabric = base != nullptr ? *base : FabricSpec{};
  fabric.name = name;
  if (!view.expect_map("a fabric")) return fabric;
  const auto latency = [](const YamlView& key) { return key.seconds(true); };

  const YamlView kind = base != nullptr ? view["kind"] : view.require("kind", one_of(kind_words()));
  if (kind.exists()) read_kind(kind, fabric.kind);
  read_if(view["routing"], fabric.routing, [](const YamlView& key) {
    return key.choice({"spray", "ecmp"}) == 0 ? FabricRouting::spray : FabricRouting::ecmp;
  });
  read_if(view["seed"], fabric.seed, [](const YamlView& key) { return static_cast<std::uint64_t>(key.integer(0)); });
  read_if(view["channels"], fabric.channels,
          [](const YamlView& key) { return static_cast<int>(key.integer(1, most_flows)); });
  read_if(view["queue_pairs"], fabric.queue_pairs,
          [](const YamlView& key) { return static_cast<int>(key.integer(1, most_flows)); });
  read_if(view["link"], fabric.link, [](const YamlView& key) { return key.bytes_per_second(); });
  read_if(view["efficiency"], fabric.efficiency, [](const YamlView& key) { return key.number(1e-6, 1); });
  read_if(view["nic_latency"], fabric.nic_latency, latency);
  read_if(view["switch_latency"], fabric.switch_latency, latency);
  read_radix(view["radix"], fabric);
  read_if(view["tiers"], fabric.tiers,
          [](const YamlView& key) { return static_cast<int>(key.integer(1, most_tiers)); });
  read_if(view["oversubscription"], fabric.oversubscription,
          [&](const YamlView& key) { return read_oversubscription(key, fabric.tiers); });
  read_if(view["in_network_reduction"], fabric.in_network_reduction, [](const YamlView& key) { return key.boolean(); });
  read_if(view["incast"], fabric.incast, [](const YamlView& key) { return key.number(0, most_growth); });
  read_if(view["step_growth"], fabric.step_growth, [](const YamlView& key) { return key.number(0, most_growth); });
  read_if(view["barrier"], fabric.barrier, latency);
  read_keys_of_kinds(view, fabric.kind);
  if (const YamlView sources = view["sources"]; sources.exists()) {
    fabric.sources.clear();
    for (const YamlView& source : sources.items()) fabric.sources.push_back(source.text());
  }
  view.refuse_unknown_keys();
  return fabric;
}

std::vector<std::string> fabric_names(const std::filesystem::path& catalog) {
  return catalog_entries(catalog / "fabrics");
}

FabricSpec load_fabric(const std::filesystem::path& catalog, std::string_view word, Problems& problems) {
  const std::filesystem::path folder = catalog / "fabrics";
  const std::string name = catalog_entry(folder, word);
  if (is_catalog_entry(folder, "fabric", name, problems))
    return read_fabric(YamlView::from_file(catalog_file(folder, name), problems), name);
  FabricSpec unknown;
  unknown.name = name;
  return unknown;
}

}  // namespace lockstep::topologies
