#pragma once
/// A slice of a pod whose chips form a torus.
#include <string>

#include "topologies/cluster/cluster.hpp"
#include "topologies/cluster/cluster_spec.hpp"

namespace lockstep::topologies {

/// The reason why a slice is impossible; empty if it is possible. Checks axis count, sizes and fit into the pod (axes
/// may be taken in any order).
[[nodiscard]] std::string why_not_a_slice(const TorusSpec& spec);
[[nodiscard]] std::string slice_text(const TorusSpec& spec);  ///< "4x4x8 twisted"
/// A sentence if the chip's vendor lets nobody have such a slice, as far as the catalog knows: it is larger than the
/// largest job or has another shape. Empty if it does, if the catalog does not know, and for pods of one's own.
[[nodiscard]] std::string slice_note(const TorusSpec& spec);
/// Chips joined by ICI links along each axis; each host block of chips joined to its host by PCIe
/// (1 us); each host joined to one switch of the data-centre network (10 us a link). A block at the
/// edge of the slice is clipped. Chips without a PCIe or DCN rate have no such nodes and links.
[[nodiscard]] Cluster build_torus(const TorusSpec& spec);

}  // namespace lockstep::topologies
