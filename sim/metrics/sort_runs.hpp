#pragma once
/// Sorts what is nearly sorted. The operations of a rank come stream by stream, each in order of time, so a list of
/// them is a few ascending runs. Merging those takes the logarithm of their number for each entry, not of the list's
/// length.
#include <algorithm>
#include <cstddef>
#include <functional>
#include <iterator>
#include <vector>

namespace lockstep::metrics {

/// Stable, as std::stable_sort.
template <class T, class Less>
void sort_runs(std::vector<T>& items, Less less) {
  std::vector<std::size_t> begins{0};
  for (std::size_t i = 1; i < items.size(); ++i) {
    if (less(items[i], items[i - 1])) begins.push_back(i);
  }
  begins.push_back(items.size());
  std::vector<T> merged;
  while (begins.size() > 2) {  // pairs of neighbouring runs become one
    merged.clear();
    merged.reserve(items.size());
    std::vector<std::size_t> fewer;
    const auto at = [&](std::size_t run) {
      return items.begin() + static_cast<std::ptrdiff_t>(begins[std::min(run, begins.size() - 1)]);
    };
    for (std::size_t run = 0; run + 1 < begins.size(); run += 2) {
      fewer.push_back(merged.size());
      std::merge(at(run), at(run + 1), at(run + 1), at(run + 2), std::back_inserter(merged), less);
    }
    fewer.push_back(merged.size());
    items.swap(merged);
    begins.swap(fewer);
  }
}

template <class T>
void sort_runs(std::vector<T>& items) {
  sort_runs(items, std::less<>());
}

}  // namespace lockstep::metrics
