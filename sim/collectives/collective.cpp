#include "sim/collectives/collective.hpp"

#include <algorithm>

#include "sim/collectives/torus_algorithms.hpp"
#include "sim/core/errors.hpp"

namespace lockstep::collectives {

int members(const Dimensions& dimensions) {
  int n = 1;
  for (const auto& dimension : dimensions) n *= dimension.members;
  return n;
}

SlotLayout::SlotLayout(const Dimensions& dimensions) {
  for (const auto& dimension : dimensions) {
    first_.push_back(total);
    hops_.push_back(dimension.members - 1);
    total += dimension.shape == topologies::GroupDimension::Shape::ring ? 2 : 2 * (dimension.members - 1);
  }
}

std::int32_t SlotLayout::ring(topologies::DimensionId dimension, int direction) const {
  return first_[dimension] + (direction > 0 ? 0 : 1);
}

std::int32_t SlotLayout::hop(topologies::DimensionId dimension, int direction, int position) const {
  return first_[dimension] + (direction > 0 ? 0 : hops_[dimension]) + position;
}

namespace torus {

BytesPerSecond bandwidth(const topologies::GroupDimension& dimension) {
  const double ways = dimension.shape == topologies::GroupDimension::Shape::ring ? 2 : 1;
  return dimension.link * (ways / dimension.sharing);
}

BytesPerSecond bandwidth(const Dimensions& dimensions) {
  BytesPerSecond total(0);
  for (const auto& dimension : dimensions) total += bandwidth(dimension);
  return total;
}

Seconds latency(const Dimensions& dimensions) {
  Seconds total(0);
  for (const auto& dimension : dimensions) {
    const int hops = dimension.twisted                                            ? dimension.twisted->diameter
                     : dimension.shape == topologies::GroupDimension::Shape::ring ? (dimension.members + 1) / 2
                                                                                  : dimension.members - 1;
    total += dimension.hop_latency * static_cast<double>(hops);
  }
  return total;
}

}  // namespace torus

std::vector<Phase> plan(workloads::CollectiveKind kind, const Dimensions& dimensions, Bytes full_size) {
  if (dimensions.empty()) return {};
  switch (kind) {
    case workloads::CollectiveKind::all_gather: return {torus::plan_all_gather(dimensions, full_size)};
    case workloads::CollectiveKind::reduce_scatter: return {torus::plan_reduce_scatter(dimensions, full_size)};
    case workloads::CollectiveKind::all_reduce:
      return {torus::plan_reduce_scatter(dimensions, full_size), torus::plan_all_gather(dimensions, full_size)};
    case workloads::CollectiveKind::all_to_all: return {torus::plan_all_to_all(dimensions, full_size)};
    case workloads::CollectiveKind::broadcast: return {torus::plan_broadcast(dimensions, full_size)};
    case workloads::CollectiveKind::reduce: return {torus::plan_reduce(dimensions, full_size)};
    case workloads::CollectiveKind::point_to_point: return {torus::plan_shift(dimensions, full_size)};
  }
  throw InternalError("plan: unknown collective");
}

Seconds cost(workloads::CollectiveKind kind, const Dimensions& dimensions, Bytes full_size) {
  if (dimensions.empty()) return Seconds(0);
  switch (kind) {
    case workloads::CollectiveKind::all_gather: return torus::cost_all_gather(dimensions, full_size);
    case workloads::CollectiveKind::reduce_scatter: return torus::cost_reduce_scatter(dimensions, full_size);
    case workloads::CollectiveKind::all_reduce:
      return torus::cost_reduce_scatter(dimensions, full_size) + torus::cost_all_gather(dimensions, full_size);
    case workloads::CollectiveKind::all_to_all: return torus::cost_all_to_all(dimensions, full_size);
    case workloads::CollectiveKind::broadcast: return torus::cost_broadcast(dimensions, full_size);
    case workloads::CollectiveKind::reduce: return torus::cost_reduce(dimensions, full_size);
    case workloads::CollectiveKind::point_to_point: return torus::cost_shift(dimensions, full_size);
  }
  throw InternalError("cost: unknown collective");
}

Seconds book_cost(workloads::CollectiveKind kind, const Dimensions& dimensions, Bytes full_size) {
  if (dimensions.empty()) return Seconds(0);
  double bandwidth = 0;  // rings at W_bidi; a line of X moves V (X-1)/X one way
  double longest = 0;    // of an all-to-all, which passes each dimension with the X/N of the data that its members have
  const double all = members(dimensions);
  for (const auto& dimension : dimensions) {
    const double x = dimension.members;
    const double ways = dimension.shape == topologies::GroupDimension::Shape::ring ? 2 : x / (x - 1);
    const double of_dimension = dimension.link.value() * ways / dimension.sharing;
    bandwidth += of_dimension;
    longest = std::max(longest, static_cast<double>(full_size.value()) * x / all / of_dimension);
  }
  const double once = static_cast<double>(full_size.value()) / bandwidth;
  switch (kind) {
    case workloads::CollectiveKind::all_reduce: return Seconds(2 * once);
    case workloads::CollectiveKind::all_to_all: return Seconds(longest / 4);
    case workloads::CollectiveKind::point_to_point: return full_size / dimensions.front().link;
    case workloads::CollectiveKind::all_gather:
    case workloads::CollectiveKind::reduce_scatter:
    case workloads::CollectiveKind::broadcast:
    case workloads::CollectiveKind::reduce: return Seconds(once);
  }
  throw InternalError("book_cost: unknown collective");
}

std::string algorithm_name(workloads::CollectiveKind kind, const Dimensions& dimensions) {
  if (dimensions.empty()) return "none";
  std::string text;
  if (kind == workloads::CollectiveKind::point_to_point) {
    text = "neighbour shift, " + dimensions.front().label;
  } else {
    for (const auto& dimension : dimensions) text += (text.empty() ? "" : " + ") + dimension.label;
  }
  return text;
}

double bus_factor(workloads::CollectiveKind kind, int n) {
  const double x = n;
  switch (kind) {
    case workloads::CollectiveKind::all_reduce: return 2 * (x - 1) / x;
    case workloads::CollectiveKind::all_gather:
    case workloads::CollectiveKind::reduce_scatter:
    case workloads::CollectiveKind::all_to_all: return (x - 1) / x;
    case workloads::CollectiveKind::broadcast:
    case workloads::CollectiveKind::reduce:
    case workloads::CollectiveKind::point_to_point: return 1;
  }
  return 1;
}

}  // namespace lockstep::collectives
