#include <algorithm>
#include <charconv>
#include <string_view>
#include <utility>

#include "topologies/placement/placement_private.hpp"

namespace lockstep::topologies {
namespace {

constexpr std::string_view rest = "rest";

std::string list_of(const std::vector<std::string>& words) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i) {
    text += (i == 0 ? "" : i + 1 == words.size() ? " or " : ", ") + words[i];
  }
  return text;
}

std::vector<std::string> axis_names(const Cluster& cluster) {
  std::vector<std::string> names;
  for (const PhysicalAxis& axis : cluster.axes()) names.push_back(axis.name);
  return names;
}

/// The parts of an axis that can still be taken: one for each divisor of what is left.
std::string possible_parts(const std::string& axis, int left) {
  std::vector<std::string> parts;
  for (int size = 2; size <= left; ++size) {
    if (left % size == 0) parts.push_back(axis + '/' + std::to_string(size));
  }
  return parts.empty() ? axis : list_of(parts);
}

/// `x` or `x/4` as the axis and, if given, the size.
struct Part {
  AxisId axis;
  std::optional<int> size;
};

std::optional<Part> parse_part(std::string_view text, const std::vector<std::string>& names) {
  const std::size_t slash = text.find('/');
  const auto found = std::find(names.begin(), names.end(), text.substr(0, slash));
  if (found == names.end()) return std::nullopt;
  Part part{static_cast<AxisId>(found - names.begin()), std::nullopt};
  if (slash == std::string_view::npos) return part;
  const std::string_view digits = text.substr(slash + 1);
  int size = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), size);
  if (error != std::errc() || end != digits.data() + digits.size() || size < 1) return std::nullopt;
  part.size = size;
  return part;
}

}  // namespace

FreePositions::FreePositions(const Cluster& cluster) : taken_(cluster.axes().size(), 1) {
  for (const PhysicalAxis& axis : cluster.axes()) left_.push_back(axis.size);
}

int FreePositions::left_in_all() const {
  int count = 1;
  for (const int left : left_) count *= left;
  return count;
}

Factor FreePositions::take(AxisId axis, int size) {
  const Factor factor{axis, size, taken_[axis]};
  taken_[axis] *= size;
  left_[axis] /= size;
  return factor;
}

std::vector<Factor> FreePositions::take_all() {
  std::vector<Factor> factors;
  for (const AxisId axis : left_.ids()) {
    if (left_[axis] > 1) factors.push_back(take(axis, left_[axis]));
  }
  return factors;
}

bool takes_rest(const AxisRequest& request) {
  return request.place && request.place->size() == 1 && request.place->front() == rest;
}

std::optional<PlacementError> problem_of_requests(const std::vector<AxisRequest>& requests) {
  const AxisRequest* with_rest = nullptr;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const AxisRequest& request = requests[i];
    const auto same_name = [&](const AxisRequest& other) { return other.name == request.name; };
    if (std::any_of(requests.begin(), requests.begin() + static_cast<std::ptrdiff_t>(i), same_name)) {
      return PlacementError{request.name, "two axes have this name", "a name of its own for each axis"};
    }
    if (request.size < 0) {
      return PlacementError{request.name, "its size is " + std::to_string(request.size), "a size from 1"};
    }
    if (!takes_rest(request)) continue;
    if (with_rest != nullptr) {
      return PlacementError{request.name, '`' + with_rest->name + "` already takes the rest",
                            "one axis placed on `rest`"};
    }
    with_rest = &request;
  }
  return std::nullopt;
}

std::variant<MeshAxis, PlacementError> place_parts(const Cluster& cluster, const AxisRequest& request,
                                                   FreePositions& free) {
  const std::vector<std::string> names = axis_names(cluster);
  MeshAxis placed{request.name, {}};
  for (const std::string& text : *request.place) {
    if (text == rest) return PlacementError{request.name, "`rest` is given with other parts", "`rest` alone"};
    const std::optional<Part> part = parse_part(text, names);
    if (!part) {
      return PlacementError{request.name, '`' + text + "` is not a part of a physical axis",
                            list_of(names) + ", a part of one as `" + names.front() + "/2`, or `rest`"};
    }
    const std::string& axis = cluster.axes()[part->axis].name;
    const int left = free.left(part->axis);
    const int size = part->size.value_or(left);
    const std::string of_axis = " of the " + std::to_string(cluster.axes()[part->axis].size) + " positions of " + axis;
    if (left == 1 && cluster.axes()[part->axis].size > 1 && part->size != 1) {
      return PlacementError{request.name, '`' + text + "` finds none" + of_axis + " left",
                            "another axis, or smaller parts of " + axis + " for the axes before it"};
    }
    if (left % size != 0) {
      return PlacementError{request.name,
                            '`' + text + "` does not divide the " + std::to_string(left) + of_axis + " that are left",
                            possible_parts(axis, left)};
    }
    placed.factors.push_back(free.take(part->axis, size));
  }
  return placed;
}

std::optional<PlacementError> problem_of_size(const AxisRequest& request, const MeshAxis& axis) {
  if (request.size == 0 || request.size == axis.size()) return std::nullopt;
  return PlacementError{
      request.name,
      "its place has " + std::to_string(axis.size()) + " positions but its size is " + std::to_string(request.size),
      "a place with that many positions"};
}

std::optional<PlacementError> problem_of_leftover(const Cluster& cluster, const FreePositions& free) {
  std::string left;
  for (AxisId axis = 0; axis < free.axes(); ++axis) {
    if (free.left(axis) == 1) continue;
    left += (left.empty() ? "" : " and ") + std::to_string(free.left(axis)) + " of " + cluster.axes()[axis].name;
  }
  if (left.empty()) return std::nullopt;
  return PlacementError{"", "no axis takes a factor " + left,
                        "parts that take every chip, or one axis placed on `rest`"};
}

std::variant<std::vector<MeshAxis>, PlacementError> place_as_requested(const Cluster& cluster,
                                                                       const std::vector<AxisRequest>& requests) {
  if (auto problem = problem_of_requests(requests)) return *problem;
  FreePositions free(cluster);
  std::vector<MeshAxis> axes;
  for (const AxisRequest& request : requests) {
    axes.push_back({request.name, {}});
    if (takes_rest(request)) continue;
    if (!request.place) return PlacementError{request.name, "it has no place", "a list of parts, or `rest`"};
    auto placed = place_parts(cluster, request, free);
    if (auto* error = std::get_if<PlacementError>(&placed)) return *error;
    axes.back() = std::get<MeshAxis>(std::move(placed));
    if (auto problem = problem_of_size(request, axes.back())) return *problem;
  }
  for (std::size_t i = 0; i < requests.size(); ++i) {
    if (!takes_rest(requests[i])) continue;
    axes[i].factors = free.take_all();
    if (auto problem = problem_of_size(requests[i], axes[i])) return *problem;
  }
  if (auto problem = problem_of_leftover(cluster, free)) return *problem;
  return axes;
}

}  // namespace lockstep::topologies
