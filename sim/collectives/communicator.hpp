#pragma once
/// From groups of a mesh to the engine's communicators: every ring and line becomes flows over links.
#include "sim/collectives/collective.hpp"
#include "sim/program/program.hpp"
#include "topologies/mesh.hpp"

namespace lockstep {

/// All groups along `axes`, with one flow per ring direction and one per line hop and direction; slots as
/// SlotLayout numbers them.
[[nodiscard]] Communicator make_communicator(const Mesh& mesh, const std::vector<std::string>& axes);

}  // namespace lockstep
