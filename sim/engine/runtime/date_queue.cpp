#include "sim/engine/runtime/date_queue.hpp"

#include <algorithm>

namespace lockstep::engine {

void DateQueue::push(double date_s, Work work) {
  const bool same_date = !(newest_.date_s < date_s) && !(date_s < newest_.date_s);
  if (!same_date) {
    if (free_buckets_.empty()) {
      free_buckets_.push_back(buckets_.size());
      buckets_.emplace_back();
    }
    newest_ = {date_s, free_buckets_.back()};
    free_buckets_.pop_back();
    heap_.push_back(newest_);
    std::push_heap(heap_.begin(), heap_.end(), later);
  }
  buckets_[newest_.bucket].push_back(work);
}

double DateQueue::take(double limit_s, std::vector<Work>& due) {
  double last_s = limit_s;
  while (!heap_.empty() && heap_.front().date_s <= limit_s) {
    std::pop_heap(heap_.begin(), heap_.end(), later);
    const Entry entry = heap_.back();
    heap_.pop_back();
    std::vector<Work>& bucket = buckets_[entry.bucket];
    due.insert(due.end(), bucket.begin(), bucket.end());
    bucket.clear();
    free_buckets_.push_back(entry.bucket);
    if (newest_.bucket == entry.bucket) newest_.date_s = -1;
    last_s = entry.date_s;
  }
  return last_s;
}

}  // namespace lockstep::engine
