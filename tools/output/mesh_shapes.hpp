#pragma once
/// What groups along a mesh axis look like, in words.
#include <string>
#include <vector>

#include "topologies/mesh.hpp"

namespace lockstep {

/// "ring of 8 on x"; behind switches "8 on gpu". Empty: a group of one.
[[nodiscard]] std::vector<std::string> shapes_of(const Cluster& cluster, const Mesh& mesh, const std::string& axis);

}  // namespace lockstep
