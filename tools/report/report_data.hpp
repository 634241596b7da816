#pragma once
/// The data of a report page: a JSON document and, in addition, long lists of numbers as bytes. The document names a
/// list by its place: {"whole": [at, count]}. web/src/data.js reads this back.
#include <cstdint>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::report {

class ReportData {
 public:
  using Json = nlohmann::ordered_json;

  /// Seven bits a byte, the lowest first; the top bit says that more follow.
  [[nodiscard]] Json whole(std::span<const std::uint64_t> numbers);
  /// Numbers of which long stretches repeat, packed like whole(): in turns, the count of new numbers, these numbers,
  /// the count of numbers that repeat an earlier stretch, and the distance back to that stretch.
  [[nodiscard]] Json repeating(std::span<const std::uint64_t> numbers);
  /// Numbers whose differences repeat: repeating() of each number minus the one before it, as unsigned numbers.
  [[nodiscard]] Json growing(std::span<const std::uint64_t> numbers);
  /// IEEE doubles, the lowest byte first.
  [[nodiscard]] Json real(std::span<const double> numbers);
  /// Inserts the result of another object's packed(), for example from another process; the page sees its document
  /// there.
  [[nodiscard]] Json nested(std::string_view packed);

  /// Four bytes of length (the lowest first), the document, the lists. Bytes that are not UTF-8 become U+FFFD.
  [[nodiscard]] std::string packed(const Json& document) const;

 private:
  void append_repeating(std::span<const std::uint64_t> numbers);

  std::string bytes_;
};

/// Signed whole numbers as such without sign, small ones staying small: 0, -1, 1, -2 become 0, 1, 2, 3.
[[nodiscard]] constexpr std::uint64_t without_sign(std::int64_t number) {
  return (static_cast<std::uint64_t>(number) << 1) ^ static_cast<std::uint64_t>(number >> 63);
}

}  // namespace lockstep::report
