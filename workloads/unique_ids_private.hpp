#pragma once
/// Lists of numbers in which each stands once, in the order of arrival: dependencies, readers.
#include <algorithm>
#include <cstdint>
#include <vector>

namespace lockstep {

using UniqueIds = std::vector<std::int32_t>;

inline void merge(UniqueIds& into, const UniqueIds& more) {
  for (const auto id : more) {
    if (std::find(into.begin(), into.end(), id) == into.end()) into.push_back(id);
  }
}

}  // namespace lockstep
