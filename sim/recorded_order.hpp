#pragma once
/// How long a step would take if its ranks and collectives were slower and everything went on in the order of a step
/// that was simulated: each operation starts when all that it waited for has ended, its predecessors and what had its
/// streams before. An estimate for very many steps at once: where speeds change the order, or how long collectives and
/// compute slow each other down, the simulation differs.
#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/core/indexed.hpp"
#include "sim/engine/runtime/chains.hpp"
#include "sim/program/program.hpp"
#include "sim/timeline/timeline.hpp"

namespace lockstep {

/// Collectives that carry the same over the same flows.
struct CollectiveShape {
  program::CommunicatorId communicator;
  program::SharedList<collectives::Phase> phases;
};

class RecordedOrder {
 public:
  /// `timeline`: of this program, whole. What is kept does not refer to either.
  RecordedOrder(const program::Program& program, const engine::Chains& chains, const timeline::Timeline& timeline);

  [[nodiscard]] const std::vector<CollectiveShape>& shapes() const { return shapes_; }
  [[nodiscard]] std::size_t variables() const { return ranks_ + shapes_.size(); }
  /// The makespans of so many steps. `values[variable * steps + step]`: first for each rank the factor by which it
  /// computes longer than recorded, then for each shape the seconds by which its collectives take longer.
  [[nodiscard]] std::vector<double> makespans(std::size_t steps, const std::vector<float>& values) const;
  /// The same for one step as it was recorded.
  [[nodiscard]] double recorded() const;

 private:
  static constexpr std::size_t width = 16;  ///< steps that are computed side by side
  struct Node {
    std::uint32_t first_wait;  ///< in waits_; they end where those of the next node begin
    std::uint32_t variable;
    float fixed_s, varied;  ///< it takes fixed_s + varied x the variable
  };
  void wait(std::size_t node, std::size_t earlier);
  void block(std::size_t steps, std::size_t from, const std::vector<float>& values, std::vector<float>& ends,
             std::vector<double>& makespans) const;

  std::size_t ranks_;
  std::vector<CollectiveShape> shapes_;
  std::vector<Node> nodes_;
  std::vector<std::uint32_t> waits_;
  std::vector<std::uint32_t> last_;  ///< nodes for which none waits
};

}  // namespace lockstep
