#pragma once
/// A list that does not change, shared by all copies: thousands of operations on the same streams keep one.
#include <sys/single_threaded.h>

#include <atomic>
#include <concepts>
#include <cstddef>
#include <initializer_list>
#include <span>
#include <utility>
#include <vector>

#include <boost/smart_ptr/intrusive_ptr.hpp>
#include <boost/smart_ptr/intrusive_ref_counter.hpp>

#include "sim/core/indexed.hpp"

namespace lockstep::program {

/// Counts the owners of a list, for any number of threads; plainly, which is faster, while the process has only one.
struct OwnerCounter {
  using type = std::atomic<unsigned int>;
  static unsigned int load(const type& count) { return count.load(); }
  static void increment(type& count) { (void)changed(count, 1); }
  static unsigned int decrement(type& count) { return changed(count, -1U); }

 private:
  static unsigned int changed(type& count, unsigned int by) {
    if (!__libc_single_threaded) return count.fetch_add(by) + by;
    const auto owners = count.load(std::memory_order_relaxed) + by;
    count.store(owners, std::memory_order_relaxed);
    return owners;
  }
};

template <class T>
class SharedList {
 public:
  SharedList() = default;
  SharedList(std::vector<T> items) : items_(new Items(std::move(items))) {}
  SharedList(std::initializer_list<T> items) : SharedList(std::vector<T>(items)) {}

  [[nodiscard]] std::size_t size() const { return items_ ? items_->list.size() : 0; }
  [[nodiscard]] bool empty() const { return size() == 0; }
  [[nodiscard]] const T* begin() const { return items_ ? items_->list.data() : nullptr; }
  [[nodiscard]] const T* end() const { return begin() + size(); }
  [[nodiscard]] const T& operator[](std::integral auto i) const { return items_->list[position_of(i)]; }
  [[nodiscard]] const T& front() const { return items_->list.front(); }
  [[nodiscard]] const T& back() const { return items_->list.back(); }
  operator std::span<const T>() const { return {begin(), size()}; }
  [[nodiscard]] std::vector<T> items() const { return {begin(), end()}; }

 private:
  struct Items : boost::intrusive_ref_counter<Items, OwnerCounter> {
    explicit Items(std::vector<T> items) : list(std::move(items)) {}
    std::vector<T> list;
  };
  boost::intrusive_ptr<const Items> items_;  // half as large as a std::shared_ptr
};

}  // namespace lockstep::program
