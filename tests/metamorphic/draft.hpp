#pragma once
/// A scenario as text that can be varied: keys in an order of their own, quantities marked by what they are of.
#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace lockstep::test {

/// Draws that are the same with every standard library, as distributions are not.
class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}
  /// From 0 to bound - 1; a little uneven.
  std::int64_t below(std::int64_t bound) {
    return static_cast<std::int64_t>(engine_() % static_cast<std::uint64_t>(bound));
  }
  std::int64_t between(std::int64_t least, std::int64_t most) { return least + below(most - least + 1); }
  bool percent(int chance) { return below(100) < chance; }
  template <typename Value>
  Value one_of(std::initializer_list<Value> values) {
    return *(values.begin() + below(static_cast<std::int64_t>(values.size())));
  }

 private:
  std::mt19937_64 engine_;
};

/// By what marked quantities are divided (times) or multiplied (rates). Powers of two are exact.
struct Speedup {
  double link = 1;      ///< of all networks, NICs and their way to the chip
  double host = 1;      ///< to and from the host, and its memory
  double compute = 1;   ///< peaks
  double memory = 1;    ///< bandwidth of the chip's memory
  double latency = 1;   ///< of links and of libraries' steps
  double fixed = 1;     ///< all other times: launches, gaps, replayed operations
  double capacity = 1;  ///< size of the chip's memory
  /// Every rate and every time.
  static Speedup of_all(double k) { return {k, k, k, k, k, k, 1}; }
};

/// Keys by their dotted paths. A value is YAML in one line, in which @link(90 GB/s) marks a quantity for Speedup.
class Draft {
 public:
  /// Replaces or adds.
  void set(const std::string& path, std::string value);
  void set(const std::string& path, std::int64_t value) { set(path, std::to_string(value)); }
  /// The key and all below it.
  void remove(const std::string& path);
  [[nodiscard]] bool has(const std::string& path) const;           ///< it or one below it
  [[nodiscard]] std::string value(const std::string& path) const;  ///< "" if it is not set
  [[nodiscard]] std::int64_t number(const std::string& path) const { return std::stoll(value(path)); }
  /// What stands below a key as a map in one line, with its marks.
  [[nodiscard]] std::string map_at(const std::string& path) const;
  /// In every value, words that stand between others' ends.
  void rename(const std::string& from, const std::string& to);

  [[nodiscard]] std::string text(const Speedup& speedup = {}) const;
  /// The keys of every map in another order, but for the mesh, where it means something.
  [[nodiscard]] Draft reordered(Random& random) const;

 private:
  std::vector<std::pair<std::string, std::string>> keys_;
};

}  // namespace lockstep::test
