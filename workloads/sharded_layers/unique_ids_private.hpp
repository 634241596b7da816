#pragma once
/// Lists of numbers in which each stands once, in the order of arrival: dependencies, readers.
#include <algorithm>
#include <cstdint>
#include <vector>

namespace lockstep::workloads {

using UniqueIds = std::vector<std::int32_t>;

template <class Ids>
void merge(Ids& into, std::int32_t id) {
  if (std::find(into.begin(), into.end(), id) == into.end()) into.push_back(id);
}

inline void merge(UniqueIds& into, const UniqueIds& more) {
  for (const auto id : more) merge(into, id);
}

}  // namespace lockstep::workloads
