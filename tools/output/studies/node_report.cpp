#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "sim/core/counted.hpp"
#include "sim/core/quantity_text.hpp"
#include "tools/output/elements/json_document.hpp"
#include "tools/output/elements/table.hpp"
#include "tools/output/studies/import_notes_private.hpp"
#include "tools/output/studies/import_report.hpp"

namespace lockstep::output {
namespace {

using Json = nlohmann::ordered_json;
using topologies::NodeDescription;
using topologies::NodeGpu;

/// The links of a GPU, if all have as many.
std::optional<int> links_of_each(const NodeDescription& node) {
  if (node.gpus.empty()) return std::nullopt;
  const int first = node.gpus.front().links;
  const bool alike =
      std::all_of(node.gpus.begin(), node.gpus.end(), [&](const NodeGpu& gpu) { return gpu.links == first; });
  return alike ? std::optional(first) : std::nullopt;
}

Json links_of_gpus(const NodeDescription& node) {
  Json links = Json::object();
  for (const NodeGpu& gpu : node.gpus) links[gpu.name] = gpu.links;
  return links;
}

std::string rate_text(const topologies::NodeNic& nic) {
  return nic.rate ? exact(nic.rate->value() * 8 / 1e9) + " Gb/s" : "unknown";
}

std::string kind_text(const NodeGpu& gpu) { return gpu.kind.empty() ? "unknown" : gpu.kind; }

std::string switches_text(const NodeDescription& node) {
  if (node.shared_switches.empty()) return "";
  Table table({"PCIe switch with GPUs and NICs", "GPUs", "NICs"});
  for (const auto& shared : node.shared_switches)
    table.add({shared.bus_id, std::to_string(shared.gpus.size()), std::to_string(shared.nics.size())});
  return "\n" + table.to_string();
}

}  // namespace

std::string node_text(const NodeDescription& node) {
  std::string text =
      "node (" + node.format + "): " + counted(node.gpus.size(), "GPU") + ", " + counted(node.nics.size(), "NIC");
  if (const auto links = links_of_each(node); links && *links > 0)
    text += ", " + std::to_string(*links) + " " + node.link_kind + (*links == 1 ? " link" : " links") + " of each GPU";
  text += "\n";
  if (!node.gpus.empty()) {
    Table table({"GPU", "kind", "links", "nearest NIC", "over", "as near"});
    for (const NodeGpu& gpu : node.gpus) {
      table.add({gpu.name, kind_text(gpu), std::to_string(gpu.links),
                 gpu.nearest_nic ? node.nics[*gpu.nearest_nic].name : "none",
                 gpu.nearest_nic ? name(gpu.nic_distance) : "",
                 gpu.nearest_nic ? counted(gpu.equally_near, "NIC") : ""});
    }
    text += "\n" + table.to_string();
  }
  if (!node.nics.empty()) {
    Table table({"NIC", "rate"});
    for (const auto& nic : node.nics) table.add({nic.name, rate_text(nic)});
    text += "\n" + table.to_string();
  }
  return text + switches_text(node) + notes_text(node.notes);
}

std::string node_json(const NodeDescription& node) {
  const auto links = links_of_each(node);
  Json json = {{"file_format", node.format},
               {"gpus", node.gpus.size()},
               {"nics", node.nics.size()},
               {"nvlinks_per_gpu", links ? Json(*links) : links_of_gpus(node)},
               {"link_kind", node.link_kind.empty() ? Json(nullptr) : Json(node.link_kind)},
               {"nearest_nic", Json::object()},
               {"gpu_list", Json::array()},
               {"nic_list", Json::array()},
               {"shared_pcie_switches", Json::array()},
               {"notes", node.notes}};
  for (const NodeGpu& gpu : node.gpus) {
    const Json nearest = gpu.nearest_nic ? Json(node.nics[*gpu.nearest_nic].name) : Json(nullptr);
    json["nearest_nic"][gpu.name] = nearest;
    Json one = {{"name", gpu.name}, {"kind", gpu.kind.empty() ? Json(nullptr) : Json(gpu.kind)}, {"links", gpu.links}};
    one["nearest_nic"] = nearest;
    one["distance"] = gpu.nearest_nic ? Json(name(gpu.nic_distance)) : Json(nullptr);
    one["equally_near_nics"] = gpu.equally_near;
    json["gpu_list"].push_back(std::move(one));
  }
  for (const auto& nic : node.nics)
    json["nic_list"].push_back(
        {{"name", nic.name}, {"bytes_per_s", nic.rate ? Json(nic.rate->value()) : Json(nullptr)}});
  for (const auto& shared : node.shared_switches) {
    Json one = {{"bus_id", shared.bus_id}, {"gpus", Json::array()}, {"nics", Json::array()}};
    for (const std::size_t gpu : shared.gpus) one["gpus"].push_back(node.gpus[gpu].name);
    for (const std::size_t nic : shared.nics) one["nics"].push_back(node.nics[nic].name);
    json["shared_pcie_switches"].push_back(std::move(one));
  }
  return json_document(json);
}

}  // namespace lockstep::output
