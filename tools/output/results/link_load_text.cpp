#include "tools/output/results/link_load_text.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "sim/core/quantity_text.hpp"
#include "tools/output/elements/table.hpp"

namespace lockstep::output {
std::string link_kind_name(topologies::LinkKind kind) {
  switch (kind) {
    case topologies::LinkKind::ici: return "ici";
    case topologies::LinkKind::pcie: return "pcie";
    case topologies::LinkKind::dcn: return "dcn";
    case topologies::LinkKind::scale_up: return "scale-up";
    case topologies::LinkKind::network: return "network";
  }
  return "";
}

std::string link_load_table(const topologies::Cluster& cluster, std::span<const metrics::LinkLoad> loads,
                            std::size_t rows) {
  struct Row {
    std::string link;
    std::int64_t alike;
    std::vector<std::string> cells;
  };
  std::vector<Row> different;  // rails and directions are classes of their own, but read the same
  for (const auto& load : loads) {
    std::vector<std::string> cells = {link_kind_name(cluster.link(load.link).kind),
                                      format(load.bandwidth),
                                      format(Bytes(static_cast<std::int64_t>(load.bytes))),
                                      percent(load.busy),
                                      percent(load.used),
                                      percent(load.peak)};
    if (cluster.is_shared()) cells.push_back(percent(cluster.background(load.link)));
    const auto known =
        std::find_if(different.begin(), different.end(), [&](const Row& row) { return row.cells == cells; });
    if (known != different.end()) {
      known->alike += load.alike;
    } else if (different.size() < rows) {
      different.push_back({cluster.link_name(load.link), load.alike, std::move(cells)});
    }
  }
  std::vector<std::string> header = {"link", "alike", "kind", "bandwidth", "carries", "busy", "used", "peak"};
  if (cluster.is_shared()) header.emplace_back("taken by others");
  Table table(header);
  for (auto& row : different) {
    row.cells.insert(row.cells.begin(), {row.link, std::to_string(row.alike)});
    table.add(std::move(row.cells));
  }
  return table.to_string();
}

nlohmann::ordered_json link_load_json(const topologies::Cluster& cluster, std::span<const metrics::LinkLoad> loads) {
  auto list = nlohmann::ordered_json::array();
  for (const auto& load : loads) {
    list.push_back({{"link", cluster.link_name(load.link)},
                    {"alike", load.alike},
                    {"kind", link_kind_name(cluster.link(load.link).kind)},
                    {"bandwidth_bytes_per_s", load.bandwidth.value()},
                    {"bytes", load.bytes},
                    {"busy_share", load.busy},
                    {"used_share", load.used},
                    {"peak_share", load.peak}});
    if (cluster.is_shared()) list.back()["background_share"] = cluster.background(load.link);
  }
  return list;
}

std::string link_load_csv(const topologies::Cluster& cluster, std::span<const metrics::LinkLoad> loads,
                          const std::string& first) {
  std::string text;
  for (const auto& load : loads) {
    text += first + "\"" + cluster.link_name(load.link) + "\"," + std::to_string(load.alike) + "," +
            link_kind_name(cluster.link(load.link).kind) + "," + exact(load.bandwidth.value()) + "," +
            exact(load.bytes) + "," + exact(load.busy) + "," + exact(load.used) + "," + exact(load.peak) + "\n";
  }
  return text;
}

}  // namespace lockstep::output
