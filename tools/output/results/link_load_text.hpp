#pragma once
/// Link loads as a short table, CSV and JSON.
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>

#include "sim/metrics/link_loads.hpp"
#include "topologies/cluster/cluster.hpp"

namespace lockstep::output {

[[nodiscard]] std::string link_kind_name(topologies::LinkKind kind);
/// The busiest of them, at most `rows`; links that read the same share one.
[[nodiscard]] std::string link_load_table(const topologies::Cluster& cluster, std::span<const metrics::LinkLoad> loads,
                                          std::size_t rows);
[[nodiscard]] nlohmann::ordered_json link_load_json(const topologies::Cluster& cluster,
                                                    std::span<const metrics::LinkLoad> loads);
/// A line per class of links, without a header; `first` are columns before its own.
[[nodiscard]] std::string link_load_csv(const topologies::Cluster& cluster, std::span<const metrics::LinkLoad> loads,
                                        const std::string& first);
inline constexpr const char* link_load_csv_header =
    "link,alike,kind,bandwidth_bytes_per_s,bytes,busy_share,used_share,peak_share";

}  // namespace lockstep::output
