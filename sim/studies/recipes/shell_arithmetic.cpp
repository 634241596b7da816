#include <cctype>
#include <cstdlib>

#include "sim/studies/recipes/shell_values_private.hpp"

namespace lockstep::recipes {
namespace {

constexpr std::int64_t most = 1'000'000'000'000'000;
constexpr int deepest = 50;

class Arithmetic {
 public:
  explicit Arithmetic(std::string_view text) : text_(text) {}

  bool value(std::int64_t& result) {
    result = sum(0);
    skip();
    return good_ && at_ == text_.size();
  }

 private:
  void skip() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) != 0) ++at_;
  }
  char next() {
    skip();
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  std::int64_t bounded(std::int64_t value) {
    good_ = good_ && std::abs(value) <= most;
    return good_ ? value : 0;
  }

  std::int64_t sum(int depth) {
    auto value = product(depth);
    while (good_ && (next() == '+' || next() == '-')) {
      const bool plus = text_[at_++] == '+';
      const auto other = product(depth);
      value = bounded(plus ? value + other : value - other);
    }
    return value;
  }

  std::int64_t product(int depth) {
    auto value = factor(depth);
    while (good_ && (next() == '*' || next() == '/' || next() == '%')) {
      const char sign = text_[at_++];
      const auto other = factor(depth);
      if (sign == '*') {
        good_ = good_ && (other == 0 || std::abs(value) <= most / std::abs(other));
        value = good_ ? value * other : 0;
      } else {
        good_ = good_ && other != 0;
        value = !good_ ? 0 : sign == '/' ? value / other : value % other;
      }
    }
    return value;
  }

  std::int64_t factor(int depth) {
    if (depth > deepest) good_ = false;
    if (!good_) return 0;
    if (next() == '(') {
      ++at_;
      const auto value = sum(depth + 1);
      good_ = good_ && next() == ')';
      ++at_;
      return value;
    }
    if (next() == '-') {
      ++at_;
      return -factor(depth + 1);
    }
    std::int64_t value = 0;
    const auto begin = at_;
    while (at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9')
      value = bounded(value * 10 + (text_[at_++] - '0'));
    good_ = good_ && at_ > begin;
    return value;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  bool good_ = true;
};

}  // namespace

bool evaluate(std::string_view expression, std::int64_t& value) { return Arithmetic(expression).value(value); }

}  // namespace lockstep::recipes
