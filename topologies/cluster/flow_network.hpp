#pragma once
/// Maximum flows and minimum cuts of small directed networks, by Boost.Graph, which nothing outside topologies/ sees.
#include <cstdint>
#include <memory>

namespace lockstep::topologies {

class FlowNetwork {
 public:
  /// Nodes are numbered from 0.
  explicit FlowNetwork(int nodes);
  FlowNetwork(FlowNetwork&&) noexcept;
  FlowNetwork& operator=(FlowNetwork&&) noexcept;
  ~FlowNetwork();

  using ArcId = std::int32_t;
  /// More than any sum of capacities may come to.
  static constexpr std::int64_t unlimited = std::int64_t{1} << 60;
  /// An arc, and its way back. Capacities are whole, so that flows add up without rounding.
  ArcId add_arc(int from, int to, std::int64_t capacity, std::int64_t back = 0);
  void set_capacity(ArcId arc, std::int64_t capacity);
  [[nodiscard]] std::int64_t capacity(ArcId arc) const;

  /// The most that can flow, which is what the arcs across the least cut carry.
  [[nodiscard]] std::int64_t max_flow(int source, int sink);
  /// What the last flow sends over an arc, less what it sends back.
  [[nodiscard]] std::int64_t flow(ArcId arc) const;
  /// Whether a node is on the source's side of the least cut that the last flow found.
  [[nodiscard]] bool on_source_side(int node) const;

 private:
  struct Graph;
  std::unique_ptr<Graph> graph_;
};

}  // namespace lockstep::topologies
