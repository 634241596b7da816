#pragma once
/// Code that the two ways of placing axes share: the positions that are still free, and the checks on requests.
#include <optional>
#include <string>
#include <vector>

#include "topologies/placement/mesh.hpp"

namespace lockstep::topologies {

/// The positions of each physical axis that no logical axis has taken yet.
class FreePositions {
 public:
  explicit FreePositions(const Cluster& cluster);
  [[nodiscard]] int left(AxisId axis) const { return left_[axis]; }
  [[nodiscard]] AxisId axes() const { return left_.count(); }
  [[nodiscard]] int left_in_all() const;
  /// The next `size` positions of an axis, striding over what is taken; `size` divides left(axis).
  Factor take(AxisId axis, int size);
  /// Everything that is left of every axis.
  [[nodiscard]] std::vector<Factor> take_all();

 private:
  Indexed<AxisId, int> taken_;
  Indexed<AxisId, int> left_;
};

/// The first problem of the requests that does not depend on the cluster.
[[nodiscard]] std::optional<PlacementError> problem_of_requests(const std::vector<AxisRequest>& requests);
/// Whether the request takes everything that the others leave.
[[nodiscard]] bool takes_rest(const AxisRequest& request);
/// Lays one request that says where it lies and does not take the rest.
[[nodiscard]] std::variant<MeshAxis, PlacementError> place_parts(const Cluster& cluster, const AxisRequest& request,
                                                                 FreePositions& free);
/// An error unless the axis has the requested size.
[[nodiscard]] std::optional<PlacementError> problem_of_size(const AxisRequest& request, const MeshAxis& axis);
/// An error if some position is left over.
[[nodiscard]] std::optional<PlacementError> problem_of_leftover(const Cluster& cluster, const FreePositions& free);

}  // namespace lockstep::topologies
