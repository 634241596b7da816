#include "sim/collectives/design/pieces.hpp"

#include <algorithm>
#include <cmath>

namespace lockstep::collectives::design {

Pieces pieces_of(const BroadcastTrees& trees, Seconds step, Seconds bytes) {
  constexpr std::int64_t most_chunks_of_all = 1 << 20;  // that an execution on symbols follows
  const double of_channel = trees.trees_of_channel(), more = trees.depth() - 1;
  const auto in_all = std::int64_t{trees.members} * trees.members * trees.trees_of_root;
  const auto most = std::max<std::int64_t>(1, std::min(most_steps / trees.arcs(), most_chunks_of_all / in_all));
  Pieces pieces;
  if (step > Seconds(0)) {
    const auto best = std::sqrt(more * (bytes / step)) / of_channel;
    pieces.count = static_cast<int>(std::clamp(std::round(best), 1.0, static_cast<double>(most)));
  } else if (more > 0) {
    pieces.count = static_cast<int>(most);
  }
  const double steps = pieces.count * of_channel;
  pieces.latencies = (steps + more) * step;
  pieces.filling = bytes * (more / steps);
  return pieces;
}

}  // namespace lockstep::collectives::design
