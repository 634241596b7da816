#pragma once
/// A list that does not change, shared by all copies: thousands of operations on the same streams keep one.
#include <concepts>
#include <cstddef>
#include <initializer_list>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "sim/core/indexed.hpp"

namespace lockstep::program {

template <class T>
class SharedList {
 public:
  SharedList() = default;
  SharedList(std::vector<T> items) : items_(std::make_shared<const std::vector<T>>(std::move(items))) {}
  SharedList(std::initializer_list<T> items) : SharedList(std::vector<T>(items)) {}

  [[nodiscard]] std::size_t size() const { return items_ ? items_->size() : 0; }
  [[nodiscard]] bool empty() const { return size() == 0; }
  [[nodiscard]] const T* begin() const { return items_ ? items_->data() : nullptr; }
  [[nodiscard]] const T* end() const { return begin() + size(); }
  [[nodiscard]] const T& operator[](std::integral auto i) const { return (*items_)[position_of(i)]; }
  [[nodiscard]] const T& front() const { return items_->front(); }
  [[nodiscard]] const T& back() const { return items_->back(); }
  operator std::span<const T>() const { return {begin(), size()}; }
  [[nodiscard]] std::vector<T> items() const { return {begin(), end()}; }

 private:
  std::shared_ptr<const std::vector<T>> items_;
};

}  // namespace lockstep::program
