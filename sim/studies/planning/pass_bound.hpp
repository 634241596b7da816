#pragma once
/// The least time a pass of a block can take: its longest path, with each collective at the cost it has alone. A pass
/// is a linear map in the max-plus algebra. It maps the time at which the compute stream is free and the time at which
/// the input arrives to the times at which the stream is free again and the output leaves.
#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace lockstep::planning {

inline constexpr double never = -std::numeric_limits<double>::infinity();

/// The times at which a rank's compute stream is free and its data is ready to be handed on.
struct Front {
  double free = 0;
  double data = 0;
};

struct PassPath {
  double free_free = 0, free_data = never;  ///< from the free compute stream
  double data_free = never, data_data = 0;  ///< from the input
  [[nodiscard]] Front after(const Front& front) const {
    return {std::max(front.free + free_free, front.data + data_free),
            std::max(front.free + free_data, front.data + data_data)};
  }
  /// This pass, followed by `next` on its output.
  [[nodiscard]] PassPath then(const PassPath& next) const {
    return {std::max(free_free + next.free_free, free_data + next.data_free),
            std::max(free_free + next.free_data, free_data + next.data_data),
            std::max(data_free + next.free_free, data_data + next.data_free),
            std::max(data_free + next.free_data, data_data + next.data_data)};
  }
};

/// The path of one block whose weights may have to be gathered first.
struct BlockPath : PassPath {
  double weights_free = never, weights_data = never;  ///< from the gathered weights
  /// Paths to the time at which nothing needs the weights any more.
  double free_room = never, data_room = never, weights_room = never;
  [[nodiscard]] Front after(const Front& front, double weights) const {
    const auto without = PassPath::after(front);
    return {std::max(without.free, weights + weights_free), std::max(without.data, weights + weights_data)};
  }
  [[nodiscard]] double room_after(const Front& front, double weights) const {
    return std::max({front.free + free_room, front.data + data_room, weights + weights_room});
  }
};

/// One pass of a block, or the part of a backward that a split schedule runs at a time.
struct PassSummary {
  /// What is certain about when a collective runs: after the input has arrived and before some compute of the pass;
  /// after some compute and before some; after some compute and before the output.
  enum class When : std::int8_t { unknown, first, between, last };
  struct Step {
    double compute = 0;               ///< seconds, if it computes
    std::int32_t collective = -1;     ///< which of its summary's collectives; -1: it computes
    bool beside = false;              ///< computes on a stream of its own
    bool weights = false;             ///< reads gathered weights
    std::vector<std::int32_t> after;  ///< steps of this list; -1: the input
    When when = When::unknown;        ///< of a collective
  };
  std::vector<Step> steps;
  std::vector<std::int32_t> output;   ///< steps whose ends are handed on; -1: the input
  double compute = 0;                 ///< of all steps on the compute stream
  std::vector<std::int32_t> gathers;  ///< collectives of weights, one for each bucket: beside the path
  bool computes = false;              ///< some step does, on the compute stream
};

/// Sets when the collectives of a pass run and whether it computes, as far as its steps and output tell.
void tell_when(PassSummary& pass);

/// `costs`: of its summary's collectives.
[[nodiscard]] BlockPath path_of(const PassSummary& pass, std::span<const double> costs);

}  // namespace lockstep::planning
