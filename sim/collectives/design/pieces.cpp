#include "sim/collectives/design/pieces.hpp"

#include <algorithm>
#include <cmath>

namespace lockstep::collectives::design {

Pieces pieces_of(const TreeUse& use, int of_channel, std::int64_t chunks, Seconds step, Seconds bytes) {
  constexpr std::int64_t most_chunks_of_all = 1 << 20;  // that an execution on symbols follows
  const double more = use.depth - 1;
  const auto most = std::max<std::int64_t>(1, std::min(most_steps / use.arcs, most_chunks_of_all / chunks));
  Pieces pieces;
  if (step > Seconds(0)) {
    const auto best = std::sqrt(more * (bytes / step)) / of_channel;
    pieces.count = static_cast<int>(std::clamp(std::round(best), 1.0, static_cast<double>(most)));
    pieces.is_cut_short = best > static_cast<double>(most);
  } else if (more > 0) {
    pieces.count = static_cast<int>(most);
    pieces.is_cut_short = true;
  }
  const double steps = static_cast<double>(pieces.count) * of_channel;
  pieces.latencies = (steps + more) * step;
  pieces.filling = bytes * (more / steps);
  return pieces;
}

}  // namespace lockstep::collectives::design
