#pragma once
/// Work ordered by the date at which it is due. In a symmetric run thousands of ranks share a date,
/// so work pushed in a row for the same date shares one entry of the heap.
#include <cstddef>
#include <vector>

#include "sim/engine/runtime/network.hpp"

namespace lockstep::engine {

class DateQueue {
 public:
  void push(double date_s, Work work);
  [[nodiscard]] bool empty() const { return heap_.empty(); }
  [[nodiscard]] double next_date_s() const { return heap_.front().date_s; }  ///< precondition: not empty

  /// Appends to `due` all work dated up to `limit_s`, by date; returns the last such date, or
  /// `limit_s` if there is none.
  double take(double limit_s, std::vector<Work>& due);

 private:
  struct Entry {
    double date_s;
    std::size_t bucket;
  };
  static bool later(const Entry& a, const Entry& b) { return a.date_s > b.date_s; }

  std::vector<Entry> heap_;
  std::vector<std::vector<Work>> buckets_;
  std::vector<std::size_t> free_buckets_;
  Entry newest_{-1, 0};  // where the last push went; date -1 when that bucket is gone
};

}  // namespace lockstep::engine
