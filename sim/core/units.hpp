#pragma once
/// Units as types (house rule: seconds + bytes must not compile). Every quantity is a single number,
/// so the types cost nothing in machine code. GB is 1e9, GiB is 2^30; all values are SI base units.
#include <compare>
#include <cstdint>

namespace lockstep {

template <class Tag, class Rep>
class Quantity {
 public:
  using rep = Rep;
  constexpr Quantity() = default;
  explicit constexpr Quantity(Rep value) : value_(value) {}

  [[nodiscard]] constexpr Rep value() const { return value_; }

  friend constexpr auto operator<=>(Quantity, Quantity) = default;
  friend constexpr Quantity operator+(Quantity a, Quantity b) { return Quantity(a.value_ + b.value_); }
  friend constexpr Quantity operator-(Quantity a, Quantity b) { return Quantity(a.value_ - b.value_); }
  friend constexpr Quantity operator*(Quantity a, Rep factor) { return Quantity(a.value_ * factor); }
  friend constexpr Quantity operator*(Rep factor, Quantity a) { return Quantity(a.value_ * factor); }
  friend constexpr Quantity operator/(Quantity a, Rep divisor) { return Quantity(a.value_ / divisor); }
  /// The ratio of two equal units is a plain number.
  friend constexpr double operator/(Quantity a, Quantity b) {
    return static_cast<double>(a.value_) / static_cast<double>(b.value_);
  }
  constexpr Quantity& operator+=(Quantity other) {
    value_ += other.value_;
    return *this;
  }
  constexpr Quantity& operator-=(Quantity other) {
    value_ -= other.value_;
    return *this;
  }

 private:
  Rep value_{};
};

using Seconds = Quantity<struct SecondsTag, double>;
using Bytes = Quantity<struct BytesTag, std::int64_t>;
using Flops = Quantity<struct FlopsTag, double>;                    ///< a count of operations
using BytesPerSecond = Quantity<struct BytesPerSecondTag, double>;  ///< a rate, one way unless said otherwise
using FlopsPerSecond = Quantity<struct FlopsPerSecondTag, double>;

constexpr Seconds operator/(Bytes size, BytesPerSecond rate) {
  return Seconds(static_cast<double>(size.value()) / rate.value());
}
constexpr Seconds operator/(Flops work, FlopsPerSecond rate) { return Seconds(work.value() / rate.value()); }
constexpr BytesPerSecond operator/(Bytes size, Seconds time) {
  return BytesPerSecond(static_cast<double>(size.value()) / time.value());
}
constexpr FlopsPerSecond operator/(Flops work, Seconds time) { return FlopsPerSecond(work.value() / time.value()); }

}  // namespace lockstep
