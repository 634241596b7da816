#pragma once
/// Rates, latencies and counts of cables where a file holds them as text.
#include <string>

#include "sim/core/quantity_text.hpp"
#include "topologies/graph/network_builder_private.hpp"

namespace lockstep::topologies {

/// "" gives none; what is no rate above zero, such as "400" or "0 Gbps", is a problem.
[[nodiscard]] std::optional<BytesPerSecond> read_rate(const std::string& text, TextPlace place, const std::string& key,
                                                      NetworkBuilder& builder);
[[nodiscard]] std::optional<Seconds> read_latency(const std::string& text, TextPlace place, const std::string& key,
                                                  NetworkBuilder& builder);
/// "" gives 1.
[[nodiscard]] int read_cable_count(const std::string& text, TextPlace place, NetworkBuilder& builder);

/// A cable for each of `count`, where the ends that are hosts get an adapter for each.
void connect_with_adapters(CableEnd from, CableEnd to, int count, Cable like, TextPlace place, NetworkBuilder& builder);

}  // namespace lockstep::topologies
