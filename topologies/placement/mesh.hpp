#pragma once
/// Named logical axes laid on a cluster's physical axes, and what a group along them looks like.
///
/// Placement text, one list per logical axis: `x` is the whole physical axis (or what is left of it),
/// `x/4` a part of size 4. Parts are taken in the order the logical axes are written: the first part
/// of an axis has stride 1 (neighbours), a later part strides over the earlier ones. `rest` takes all
/// that the other axes leave, wherever it is written. Two parts `[x/2, y/2]` are a 2x2 block.
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "topologies/cluster/cluster.hpp"
#include "topologies/cluster/twisted_torus.hpp"

namespace lockstep::topologies {

/// `size` positions of physical axis `axis`, `stride` apart.
struct Factor {
  AxisId axis;
  int size;
  int stride;
  friend bool operator==(const Factor&, const Factor&) = default;
};

struct MeshAxis {
  std::string name;
  std::vector<Factor> factors;  ///< outermost first
  [[nodiscard]] int size() const;
  friend bool operator==(const MeshAxis&, const MeshAxis&) = default;
};

/// Part of a mesh axis, written "tensor/2": groups of two neighbours along axis tensor. It may be used wherever a
/// collective's axis may.
struct AxisPart {
  std::string axis;
  std::int64_t size = 0;  ///< of the groups; 0: the whole axis
};
[[nodiscard]] AxisPart axis_part(std::string_view name);
[[nodiscard]] std::string part_name(const std::string& axis, std::int64_t size);

/// One dimension of a group: rings or lines that all its members lie on, once each.
struct GroupDimension {
  enum class Shape { ring, line };
  Shape shape;
  int members;          ///< positions along it (X)
  int links_per_hop;    ///< stride: physical links between neighbours
  int sharing;          ///< rings of sibling groups that cross each of its links when all are active
  BytesPerSecond link;  ///< one way, one physical link
  Seconds hop_latency;  ///< between neighbours = links_per_hop x link latency
  std::string label;    ///< "ring of 16 on x", "ring of 4 through the 2x2 block x,y"
  std::optional<TwistedRing> twisted = {};  ///< its diameter: the part of this dimension
};

using DimensionId = int;  ///< position among the dimensions of a group
using GroupDimensions = Indexed<DimensionId, GroupDimension>;

/// The links between neighbouring members, in one direction, of one ring or line, in the order in which they are
/// crossed. In direction + they lead from position i to i+1, in direction - from i+1 to i, the last position first; a
/// ring has X hops (the last closes it), a line X-1.
struct Lane {
  DimensionId dimension;
  int direction;  ///< +1 or -1
  int links_per_hop;
  std::vector<LinkId> links;

  /// The links of each hop: entry i lies between positions i and i+1, in both directions.
  [[nodiscard]] std::vector<std::vector<LinkId>> hops() const;
};

struct Group {
  std::vector<RankId> members;  ///< in mesh order
  std::vector<Lane> lanes;      ///< every ring and line of every dimension, both directions
};

/// What becomes of exactly two adjacent (stride 1) lines of a group with an even number of members together. ring: they
/// close into one ring through their block, along which data are gathered and reduced. lines: they stay two, so that
/// an exchange has all links of the block.
enum class BlockShape { ring, lines };

class Mesh {
 public:
  /// Axes outermost first; together they use every position of every physical axis of the cluster.
  Mesh(const Cluster& cluster, std::vector<MeshAxis> axes, std::string why_placed);

  [[nodiscard]] const std::vector<MeshAxis>& axes() const { return axes_; }
  [[nodiscard]] const MeshAxis& axis(const std::string& name) const;
  [[nodiscard]] bool has_axis(const std::string& name) const;
  /// The factors of an axis or of a part of one; the ranks of a part are those that lie nearest to each other. Throws
  /// InternalError for a part whose size does not divide the axis.
  [[nodiscard]] std::vector<Factor> factors(const std::string& axis_or_part) const;
  [[nodiscard]] int ranks() const;
  [[nodiscard]] DeviceId device_of(RankId rank) const { return device_of_rank_[rank]; }
  [[nodiscard]] RankId rank_of(DeviceId device) const { return rank_of_device_[device]; }

  /// The shape on the torus of every group whose members differ only along the given mesh axes, or parts of them;
  /// factors on axes behind switches (gpu, node, pod, hall) have no dimension. Whole wrapped axes and strided
  /// remainders of wrapped axes are rings; a part of an axis, or an axis without wrap, is a line; two adjacent lines
  /// are what `block` says. A twisted axis is a ring where the group has all axes along which it is twisted, and else a
  /// line. Factors of one physical axis that together make up a contiguous run are merged first. Factors of size 1
  /// vanish.
  [[nodiscard]] GroupDimensions dimensions(const std::vector<std::string>& axes,
                                           BlockShape block = BlockShape::ring) const;
  /// All groups along the given axes with their rings and lines as explicit links, in each of their pods. Each lane's
  /// `dimension` indexes dimensions(axes, block).
  [[nodiscard]] std::vector<Group> groups(const std::vector<std::string>& axes,
                                          BlockShape block = BlockShape::ring) const;

  /// The shape of a group along one mesh axis, in words: "ring of 8 on x"; then the parts behind switches, "8 on gpu".
  /// Empty: a group of one.
  [[nodiscard]] std::vector<std::string> shapes(const std::string& axis) const;

  [[nodiscard]] std::string to_string() const;  ///< for --dump=mesh: axes, factors, shapes, why

 private:
  const Cluster* cluster_;
  std::vector<MeshAxis> axes_;
  std::string why_placed_;
  Indexed<RankId, DeviceId> device_of_rank_;
  Indexed<DeviceId, RankId> rank_of_device_;
};

/// A user's request for one logical axis: its size and, optionally, where it lies.
struct AxisRequest {
  std::string name;
  int size = 0;                                   ///< 0: whatever the placement gives
  std::optional<std::vector<std::string>> place;  ///< {"x/2","y/2"}, {"z"}, {"rest"}; none: chosen
};

/// Places logical axes as requested. On error the text says what is wrong and names the axis.
/// Physical positions that no axis takes are an error.
struct PlacementError {
  std::string axis;  ///< logical axis at fault, or ""
  std::string what;
  std::string expected;
};
[[nodiscard]] std::variant<std::vector<MeshAxis>, PlacementError> place_as_requested(
    const Cluster& cluster, const std::vector<AxisRequest>& requests);

/// Chooses a placement when the user gave none: enumerates the factorisations of the axis sizes over the physical axes
/// (requests earlier in the list lie innermost) and keeps the one with the least cost, first found on ties. `cost`
/// gives the cost of a candidate mesh (closed forms; supplied by the caller, because the volume on each axis is the
/// plan's). The count of candidates goes to `tried`.
[[nodiscard]] std::variant<std::vector<MeshAxis>, PlacementError> place_by_cost(
    const Cluster& cluster, const std::vector<AxisRequest>& requests, const std::function<Seconds(const Mesh&)>& cost,
    int& tried);

/// All placements whose cost place_by_cost would compute, in its order, but only one of those that differ only by
/// exchanging like axes of a single torus. Sizes must be given.
[[nodiscard]] std::variant<std::vector<std::vector<MeshAxis>>, PlacementError> every_placement(
    const Cluster& cluster, const std::vector<AxisRequest>& requests);

/// A placed axis as `mesh` writes it: {"gpu/8", "node/2"}.
[[nodiscard]] std::vector<std::string> place_text(const Cluster& cluster, const MeshAxis& axis);

}  // namespace lockstep::topologies
