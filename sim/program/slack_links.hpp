#pragma once
/// Links that no traffic of a program can fill, whatever runs at the same time: they shape no rate.
#include "sim/program/program.hpp"

namespace lockstep::program {

/// By link. A link is slack if what limits its flows elsewhere adds up to no more than its capacity:
///
///   sum over limiters L of  r(L) C(L)  <=  C(link),   r(L) = the most that a flow crosses the link for each time that
///   it
///                                                     crosses L, counting crossings for which L stands
///
/// where every crossing of the link has one limiter, another link of the same flow: the nearest before it on the route,
/// or for all crossings the nearest after it, that comes before the link in the order of rising capacity and falling
/// number of crossings. Such a link's constraint follows from those of its limiters, and rising capacity has no cycles,
/// so all slack links may be left out together and max-min shares stay what they are (docs/models/folding.md).
using SomeLinks = Indexed<topologies::LinkId, bool>;
[[nodiscard]] SomeLinks slack_links(const Program& program);

}  // namespace lockstep::program
