#include <algorithm>
#include <map>
#include <set>

#include "topologies/graph/host_list.hpp"
#include "topologies/graph/ibnetdiscover_private.hpp"
#include "topologies/graph/name_numbers_private.hpp"

namespace lockstep::topologies {
namespace {

bool is_space(char c) { return c == ' ' || c == '\t'; }

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

/// Whether a description begins with the adapter's maker or model, as a driver writes it that knows no host name.
bool names_a_model(std::string_view description) {
  for (const std::string_view maker :
       {"Mellanox", "NVIDIA", "Nvidia", "ConnectX", "InfiniHost", "QLogic", "Intel", "OmniPath"}) {
    if (description.starts_with(maker)) return true;
  }
  return description.size() > 2 && description.starts_with("MT") && is_digit(description[2]);
}

/// Host and adapter of "gpu-017 mlx5_0"; the host alone of "gpu-017"; neither of "MT4129 ConnectX7   Mellanox".
std::pair<std::string_view, std::string_view> host_and_adapter(std::string_view description) {
  description = trimmed(description);
  if (names_a_model(description)) return {};
  const std::size_t space = description.find_last_of(" \t");
  if (space == std::string_view::npos) return {description, ""};
  const std::string_view before = trimmed(description.substr(0, space)), last = description.substr(space + 1);
  const bool two_words = before.find_first_of(" \t") == std::string_view::npos;
  if (!two_words && std::none_of(last.begin(), last.end(), is_digit)) return {};  // a model of several words
  return {before, last};
}

bool repeats_an_adapter(const IbHost& host) {
  std::set<std::string_view> names;
  return std::any_of(host.adapters.begin(), host.adapters.end(),
                     [&](const IbHostAdapter& adapter) { return !names.insert(adapter.name).second; });
}

using HostsByName = std::map<std::string, IbHost, decltype(&natural_less)>;

void add(HostsByName& hosts, const std::string& name, IbHostAdapter adapter) {
  IbHost& host = hosts[name];
  host.name = name;
  host.adapters.push_back(std::move(adapter));
}

std::string with_single_spaces(std::string_view text) {
  std::string result;
  for (const char c : trimmed(text)) {
    if (!is_space(c))
      result += c;
    else if (!result.ends_with(' '))
      result += ' ';
  }
  return result;
}

/// What an adapter's system is called where no description says it.
std::string system_of(const IbRecord& record) {
  std::string_view guid = record.system_guid;
  if (guid.starts_with("0x")) guid.remove_prefix(2);
  return std::string(guid.empty() ? record.id : guid);
}

}  // namespace

std::vector<IbHost> group_ib_hosts(const IbDump& dump, NetworkBuilder& builder) {
  HostsByName described(&natural_less), hosts(&natural_less);
  std::vector<std::size_t> unnamed;
  for (std::size_t i = 0; i < dump.records.size(); ++i) {
    const IbRecord& record = dump.records[i];
    if (record.is_switch || record.aggregates) continue;
    const auto [host, adapter] = host_and_adapter(record.description);
    if (host.empty())
      unnamed.push_back(i);
    else
      add(described, std::string(host), {i, std::string(adapter)});
  }
  std::vector<std::string> shared_names;
  for (auto& [name, host] : described) {
    if (host.adapters.size() == 1 || !repeats_an_adapter(host)) {
      hosts.emplace(name, std::move(host));
      continue;
    }
    shared_names.push_back("'" + name + "'");
    for (const IbHostAdapter& adapter : host.adapters)
      add(hosts, name + "-" + system_of(dump.records[adapter.record]), adapter);
  }
  std::set<std::string> systems;
  for (const std::size_t i : unnamed) {
    const IbRecord& record = dump.records[i];
    const bool is_dump = !record.system_guid.empty() || !record.description.empty();
    const std::string name = (is_dump ? "unnamed-" : "") + system_of(record);
    systems.insert(name);
    add(hosts, name, {i, ""});
  }
  if (!shared_names.empty()) {
    builder.note("Several machines call themselves " + some_of(shared_names) +
                 ": their adapters are grouped by the GUID of their system.");
  }
  const bool without_name = !unnamed.empty() && !dump.records[unnamed.front()].description.empty();
  if (without_name) {
    builder.note("The descriptions of " + counted(unnamed.size(), "adapter") + " name no host, such as \"" +
                 with_single_spaces(dump.records[unnamed.front()].description) +
                 "\": grouped by the GUID of their system, they are " + counted(systems.size(), "host") +
                 " with names that begin with unnamed-.");
  }
  std::vector<IbHost> list;
  for (auto& [name, host] : hosts) {
    std::stable_sort(
        host.adapters.begin(), host.adapters.end(),
        [](const IbHostAdapter& one, const IbHostAdapter& other) { return natural_less(one.name, other.name); });
    list.push_back(std::move(host));
  }
  return list;
}

}  // namespace lockstep::topologies
