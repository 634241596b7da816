#include "tools/report/repetitions.hpp"

#include <bit>
#include <utility>

namespace lockstep::report {
namespace {

constexpr std::size_t shortest = 24;                  // numbers worth a repetition: gzip is better at less
constexpr std::uint64_t factor = 0x9e3779b97f4a7c15;  // odd, its bits as if drawn

constexpr std::uint64_t power(std::size_t exponent) {
  std::uint64_t result = 1;
  while (exponent-- > 0) result *= factor;
  return result;
}

/// Finds the earlier place of the same `shortest` numbers as those from a given place on. Places are given in order.
class Earlier {
 public:
  explicit Earlier(std::span<const std::uint64_t> numbers)
      : numbers_(numbers), places_(std::bit_ceil(2 * numbers.size()), nowhere) {
    for (std::size_t i = 0; i < shortest; ++i) hash_ = hash_ * factor + mixed(numbers[i]);
  }

  static constexpr std::size_t nowhere = ~std::size_t{0};

  /// The most recent place with the same hash, not yet compared number by number; from now on this one.
  std::size_t exchange(std::size_t at) {
    constexpr auto oldest = power(shortest - 1);
    if (at > 0) hash_ = (hash_ - mixed(numbers_[at - 1]) * oldest) * factor + mixed(numbers_[at + shortest - 1]);
    return std::exchange(places_[(hash_ ^ hash_ >> 32) & (places_.size() - 1)], at);
  }

 private:
  static std::uint64_t mixed(std::uint64_t number) { return (number + 1) * factor ^ number >> 7; }

  std::span<const std::uint64_t> numbers_;
  std::vector<std::size_t> places_;  ///< by hash
  std::uint64_t hash_ = 0;
};

}  // namespace

std::vector<Stretch> repetitions(std::span<const std::uint64_t> numbers) {
  std::vector<Stretch> stretches;
  std::size_t first = 0, at = 0;
  if (numbers.size() > shortest) {
    Earlier earlier(numbers);
    const auto last = numbers.size() - shortest;
    while (at <= last) {
      const auto before = earlier.exchange(at);
      std::size_t same = 0;
      if (before != Earlier::nowhere)
        while (at + same < numbers.size() && numbers[before + same] == numbers[at + same]) ++same;
      if (same < shortest) {
        ++at;
        continue;
      }
      stretches.push_back({first, at - first, same, at - before});
      first = at + same;
      for (++at; at < first; ++at)
        if (at <= last) (void)earlier.exchange(at);
    }
  }
  if (first < numbers.size()) stretches.push_back({first, numbers.size() - first, 0, 0});
  return stretches;
}

}  // namespace lockstep::report
