#pragma once
/// A list of ids in 16 bytes: up to three of them lie in the list itself, more in memory of their own. Millions of
/// operations keep such lists, and few have more than three entries.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <iterator>
#include <type_traits>
#include <utility>

#include "sim/core/indexed.hpp"

namespace lockstep {

template <class T>
class SmallList {
  static_assert(std::is_integral_v<T> && sizeof(T) == 4, "made for ids");

 public:
  using value_type = T;
  using size_type = std::size_t;
  using difference_type = std::ptrdiff_t;
  using reference = T&;
  using const_reference = const T&;
  using iterator = T*;
  using const_iterator = const T*;

  SmallList() = default;
  SmallList(std::initializer_list<T> items) { assign(items.begin(), items.end()); }
  SmallList(const SmallList& other) { assign(other.begin(), other.end()); }
  SmallList(SmallList&& other) noexcept { swap(other); }
  SmallList& operator=(const SmallList& other) {
    if (this != &other) assign(other.begin(), other.end());
    return *this;
  }
  SmallList& operator=(SmallList&& other) noexcept {
    swap(other);
    return *this;
  }
  ~SmallList() {
    if (is_outside_) delete[] outside();
  }

  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] bool empty() const { return size_ == 0; }
  [[nodiscard]] T* data() { return is_outside_ ? outside() : here_; }
  [[nodiscard]] const T* data() const { return is_outside_ ? outside() : here_; }
  [[nodiscard]] T* begin() { return data(); }
  [[nodiscard]] T* end() { return data() + size_; }
  [[nodiscard]] const T* begin() const { return data(); }
  [[nodiscard]] const T* end() const { return data() + size_; }
  [[nodiscard]] T& operator[](std::size_t i) { return data()[i]; }
  [[nodiscard]] const T& operator[](std::size_t i) const { return data()[i]; }
  [[nodiscard]] T& front() { return *begin(); }
  [[nodiscard]] const T& front() const { return *begin(); }
  [[nodiscard]] T& back() { return *(end() - 1); }
  [[nodiscard]] const T& back() const { return *(end() - 1); }

  void reserve(std::size_t count) {
    if (count <= capacity()) return;
    T* const larger = new T[count];
    std::copy(begin(), end(), larger);
    if (is_outside_) delete[] outside();
    is_outside_ = 1;
    here_[0] = static_cast<T>(count);
    std::memcpy(here_ + 1, &larger, sizeof larger);
  }
  void push_back(T item) {
    if (size_ == capacity()) reserve(2 * capacity());
    data()[size_] = item;
    ++size_;
  }
  void erase(const T* first, const T* last) {
    std::copy(last, static_cast<const T*>(end()), begin() + (first - begin()));
    size_ -= static_cast<std::uint32_t>(last - first) & most;
  }
  template <class Iterator>
  requires(!std::is_integral_v<Iterator>) void assign(Iterator first, Iterator last) {
    size_ = 0;
    reserve(static_cast<std::size_t>(last - first));
    for (; first != last; ++first) push_back(*first);
  }
  void assign(std::size_t count, T item) {
    size_ = 0;
    reserve(count);
    for (std::size_t i = 0; i < count; ++i) push_back(item);
  }
  void swap(SmallList& other) noexcept {
    const std::uint32_t size = size_, is_outside = is_outside_;
    size_ = other.size_;
    is_outside_ = other.is_outside_;
    other.size_ = size & most;
    other.is_outside_ = is_outside & 1U;
    std::swap(here_, other.here_);
  }

  friend bool operator==(const SmallList& a, const SmallList& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end());
  }

 private:
  static constexpr std::uint32_t most = (1U << 31) - 1;

  [[nodiscard]] std::size_t capacity() const { return is_outside_ ? position_of(here_[0]) : std::size(here_); }
  [[nodiscard]] T* outside() const {
    T* items = nullptr;
    std::memcpy(&items, here_ + 1, sizeof items);
    return items;
  }

  std::uint32_t size_ : 31 = 0;
  std::uint32_t is_outside_ : 1 = 0;
  T here_[3]{};  ///< the entries; or, if they lie outside, how many have room there and where
};

}  // namespace lockstep
