#pragma once
/// The shape of the groups along some mesh axes on the torus, before any group is singled out. Every position is
/// affine: the device of coordinates c_f is the sum of c_f x stride_f x (devices per step of axis_f), so all groups of
/// a mesh are shifts of one.
#include <vector>

#include "topologies/placement/mesh.hpp"

namespace lockstep::topologies {

/// The way from one position to the next along one physical axis; over as many links as GroupDimension::links_per_hop.
struct Step {
  AxisId axis;
  int direction;
};

struct DimensionGeometry {
  GroupDimension shape;
  std::vector<Factor> factors;  ///< what it spans: one, or the two sides of a block
  std::vector<Step> steps;      ///< from position i to i+1, from the origin on; a ring's last one returns to it
  AxisId starts_in_half = -1;   ///< a twisted ring goes round twice, so it starts in one half of this other axis only
};

/// The rings and lines that span the positions of `factors`, by physical axis of a torus.
[[nodiscard]] std::vector<DimensionGeometry> group_geometry(const Cluster& cluster, const std::vector<Factor>& factors,
                                                            BlockShape block);

/// The factors on axes that lie behind switches; those of one axis that continue each other as one.
[[nodiscard]] std::vector<Factor> switched_factors(const Cluster& cluster, const std::vector<Factor>& factors);

/// The devices at all coordinates of `factors`, as offsets from the first; last factor fastest.
[[nodiscard]] std::vector<DeviceId> device_offsets(const Cluster& cluster, const std::vector<Factor>& factors);

/// Both directions of the ring or line that starts at `origin`, as links.
void add_lanes(const Cluster& cluster, const DimensionGeometry& geometry, int dimension, DeviceId origin,
               std::vector<Lane>& lanes);

}  // namespace lockstep::topologies
