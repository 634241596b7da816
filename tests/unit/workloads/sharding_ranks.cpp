#include "tests/unit/workloads/sharding_ranks.hpp"

#include <algorithm>
#include <utility>

#include "topologies/placement/axis_digits.hpp"
#include "topologies/placement/mesh.hpp"

namespace lockstep::test {

std::int64_t place_along(const std::string& axis_or_part, const Coordinates& rank) {
  const auto part = topologies::axis_part(axis_or_part);
  const auto place = rank.at(part.axis);
  return topologies::is_outer_digit(axis_or_part) ? place / part.size : part.size > 0 ? place % part.size : place;
}

std::vector<Coordinates> all_ranks(const workloads::Sizes& sizes) {
  std::vector<Coordinates> ranks{{}};
  for (const auto& [axis, size] : sizes.axes) {
    std::vector<Coordinates> more;
    for (const auto& rank : ranks) {
      for (std::int64_t i = 0; i < size; ++i) {
        more.push_back(rank);
        more.back()[axis] = i;
      }
    }
    ranks = std::move(more);
  }
  return ranks;
}

std::vector<Index> block_of(const workloads::ShardedTensor& tensor, const Coordinates& rank,
                            const workloads::Sizes& sizes) {
  std::vector<Index> block{{}};
  for (const auto& dim : tensor.dims) {
    std::int64_t position = 0;  // outermost axis first
    for (const auto& axis : dim.axes) position = position * sizes.product({axis}) + place_along(axis, rank);
    const auto length = sizes.local(dim);
    std::vector<Index> more;
    for (const auto& index : block) {
      for (std::int64_t i = 0; i < length; ++i) {
        more.push_back(index);
        more.back().push_back((position * length + i) / sizes.dims.at(dim.name).copies);
      }
    }
    block = std::move(more);
  }
  return block;
}

void DistributedArray::slice(const workloads::ShardedTensor& to) {
  for (auto& [rank, part] : parts_) {
    Part kept;
    for (const auto& index : block_of(to, rank, sizes_)) {
      const auto held = part.find(index);
      if (held == part.end()) {
        ADD_FAILURE() << "a rank does not hold its slice: " << sharding_.to_string() << " -> " << to.to_string();
        return;
      }
      kept.insert(*held);
    }
    part = std::move(kept);
  }
  sharding_ = to;
}

std::vector<Coordinates> DistributedArray::group(const Coordinates& rank, const workloads::AxisNames& axes) const {
  std::vector<Coordinates> members;
  for (const auto& [other, unused] : parts_) {
    const bool same = std::all_of(rank.begin(), rank.end(), [&, &peer = other](const auto& coordinate) {
      const auto& [axis, place] = coordinate;
      const auto named = std::find_if(axes.begin(), axes.end(),
                                      [&](const auto& name) { return topologies::axis_part(name).axis == axis; });
      if (named == axes.end()) return peer.at(axis) == place;
      const auto part = topologies::axis_part(*named);
      if (topologies::is_outer_digit(*named)) return peer.at(axis) % part.size == place % part.size;
      return part.size == 0 || peer.at(axis) / part.size == place / part.size;
    });
    if (same) members.push_back(other);
  }
  return members;
}

void DistributedArray::run(const workloads::DerivedCollective& collective) {
  slice(collective.before);
  const bool sums = collective.kind == workloads::CollectiveKind::reduce_scatter ||
                    collective.kind == workloads::CollectiveKind::all_reduce;
  std::map<Coordinates, Part> after;
  for (const auto& [rank, part] : parts_) {
    std::map<Index, std::pair<std::int64_t, std::int64_t>> sum_and_holders;
    const auto members = group(rank, collective.axes);
    for (const auto& member : members) {
      for (const auto& [index, value] : parts_.at(member)) {
        sum_and_holders[index].first += value;
        ++sum_and_holders[index].second;
      }
    }
    for (const auto& index : block_of(collective.after, rank, sizes_)) {
      const auto [sum, holders] = sum_and_holders[index];
      const auto due = sums ? static_cast<std::int64_t>(members.size()) : 1;
      if (holders != due) {
        ADD_FAILURE() << collective.to_string() << ": an element has " << holders << " holders in its group, not "
                      << due;
        return;
      }
      after[rank][index] = sum;
    }
    // What each kind does to the amount that a rank holds.
    const auto n = sizes_.product(collective.axes);
    const auto held = static_cast<std::int64_t>(part.size());
    const auto holds = static_cast<std::int64_t>(after[rank].size());
    switch (collective.kind) {
      case workloads::CollectiveKind::all_gather: EXPECT_EQ(holds, held * n) << collective.to_string(); break;
      case workloads::CollectiveKind::reduce_scatter: EXPECT_EQ(holds * n, held) << collective.to_string(); break;
      case workloads::CollectiveKind::all_reduce:
      case workloads::CollectiveKind::all_to_all: EXPECT_EQ(holds, held) << collective.to_string(); break;
      case workloads::CollectiveKind::broadcast:
      case workloads::CollectiveKind::reduce:
      case workloads::CollectiveKind::point_to_point: ADD_FAILURE() << "never derived: " << collective.to_string();
    }
    // full_size is the group's whole array: all shards along the axes together (elements of 1 byte here).
    const auto whole = collective.kind == workloads::CollectiveKind::all_gather ||
                               collective.kind == workloads::CollectiveKind::all_to_all
                           ? holds * (holds == held ? n : 1)
                           : held;
    EXPECT_EQ(collective.full_size.value(), whole) << collective.to_string();
  }
  parts_ = std::move(after);
  sharding_ = collective.after;
}

std::int64_t DistributedArray::value(const Coordinates& rank, const Index& index) const {
  std::int64_t sum = 0;
  for (const auto& member : group(rank, sharding_.partial)) sum += parts_.at(member).at(index);
  return sum;
}

DistributedArray multiply(const workloads::Einsum& local, const DistributedArray& left, const DistributedArray& right,
                          const workloads::Sizes& sizes) {
  // left is [I, J], right is [J, K]
  return DistributedArray(local.result, sizes, [&](const Coordinates& rank, const Index& index) {
    std::int64_t sum = 0;
    std::int64_t products = 0;
    for (const auto& [at, value] : left.part(rank)) {
      if (at[0] != index[0]) continue;
      const auto other = right.part(rank).find({at[1], index[1]});
      if (other == right.part(rank).end()) {
        ADD_FAILURE() << "a rank lacks the other factor in " << local.to_string();
        break;
      }
      sum += value * other->second;
      ++products;
    }
    EXPECT_EQ(products, sizes.local(local.left.dims[1])) << "a rank lacks a row of " << local.to_string();
    return sum;
  });
}

}  // namespace lockstep::test
