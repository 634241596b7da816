#include "topologies/graph/host_list.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>

namespace lockstep::topologies {
namespace {

constexpr std::size_t most_digits = 15;
constexpr std::string_view signs = "[],\\";
constexpr const char* a_list = "names such as gpu[001-128],login1";

bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::uint64_t number_in(std::string_view digits) {
  std::uint64_t number = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), number);
  return number;
}

/// The number with at least so many digits.
std::string padded(std::uint64_t number, std::size_t digits) {
  std::string text = std::to_string(number);
  if (text.size() < digits) text.insert(0, digits - text.size(), '0');
  return text;
}

struct Range {
  std::uint64_t first = 0, last = 0;
  std::size_t digits = 1;
};

/// Part of a name: a text, or the ranges of a bracket.
struct Piece {
  std::string text;
  std::vector<Range> ranges;
  [[nodiscard]] std::uint64_t count() const {
    if (ranges.empty()) return 1;
    std::uint64_t sum = 0;
    for (const Range& range : ranges) sum += range.last - range.first + 1;
    return sum;
  }
};

class ListReader {
 public:
  ListReader(std::string_view list, std::size_t most) : list_(list), most_(most) {}

  std::variant<std::vector<std::string>, QuantityError> read() {
    do {
      std::vector<Piece> name;
      if (!read_name(name)) return *error_;
      if (!add_all(name)) return *error_;
    } while (take(','));
    if (at_ < list_.size()) return QuantityError{"a bracket is closed that was not opened", a_list};
    return std::move(names_);
  }

 private:
  bool refuse(std::string what) {
    error_ = QuantityError{std::move(what), a_list};
    return false;
  }

  bool take(char c) {
    if (at_ == list_.size() || list_[at_] != c) return false;
    ++at_;
    return true;
  }

  bool read_name(std::vector<Piece>& pieces) {
    while (at_ < list_.size() && list_[at_] != ',' && list_[at_] != ']') {
      if (take('[')) {
        if (!read_ranges(pieces.emplace_back())) return false;
        continue;
      }
      if (take('\\') && at_ == list_.size()) return refuse("ends in a backslash");
      if (pieces.empty() || !pieces.back().ranges.empty()) pieces.emplace_back();
      pieces.back().text += list_[at_++];
    }
    return !pieces.empty() || refuse(list_.empty() ? "is empty" : "has an empty name");
  }

  bool read_ranges(Piece& piece) {
    do {
      Range range;
      const std::string_view first = digits();
      range.first = range.last = number_in(first);
      range.digits = first.size();
      const bool has_last = take('-');
      const std::string_view last = has_last ? digits() : first;
      range.last = number_in(last);
      if (first.empty() || last.empty()) return refuse("a bracket lacks a number");
      if (first.size() > most_digits || last.size() > most_digits) return refuse("a number has too many digits");
      if (range.last < range.first)
        return refuse("the range " + std::string(first) + "-" + std::string(last) + " runs backward");
      piece.ranges.push_back(range);
    } while (take(','));
    return take(']') || refuse("a bracket is not closed");
  }

  std::string_view digits() {
    const std::size_t start = at_;
    while (at_ < list_.size() && is_digit(list_[at_])) ++at_;
    return list_.substr(start, at_ - start);
  }

  bool add_all(const std::vector<Piece>& pieces) {
    std::uint64_t count = 1;
    for (const Piece& piece : pieces) {
      const std::uint64_t more = piece.count();
      if (more > most_ || count > most_ / more) return refuse_count();
      count *= more;
    }
    if (count > most_ - names_.size()) return refuse_count();
    add(pieces, 0, "");
    return true;
  }

  bool refuse_count() { return refuse("has more than " + std::to_string(most_) + " names"); }

  // NOLINTNEXTLINE(misc-no-recursion): each bracket at least doubles the names, of which there are not too many
  void add(const std::vector<Piece>& pieces, std::size_t next, const std::string& so_far) {
    if (next == pieces.size()) return names_.push_back(so_far);
    const Piece& piece = pieces[next];
    if (piece.ranges.empty()) return add(pieces, next + 1, so_far + piece.text);
    for (const Range& range : piece.ranges) {
      for (std::uint64_t i = range.first; i <= range.last; ++i) add(pieces, next + 1, so_far + padded(i, range.digits));
    }
  }

  std::string_view list_;
  std::size_t most_, at_ = 0;
  std::vector<std::string> names_;
  std::optional<QuantityError> error_;
};

std::string escaped(std::string_view name) {
  std::string text;
  for (const char c : name) {
    if (signs.find(c) != std::string_view::npos) text += '\\';
    text += c;
  }
  return text;
}

/// Where in a name the number stands in which it differs from the next name; none if they differ in anything else.
struct Counter {
  std::string_view before, digits, after;
  friend bool operator==(const Counter&, const Counter&) = default;
};
std::optional<Counter> counter_between(std::string_view name, std::string_view next) {
  std::size_t start = 0;
  while (start < std::min(name.size(), next.size()) && name[start] == next[start]) ++start;
  while (start > 0 && is_digit(name[start - 1])) --start;
  std::size_t end = start, next_end = start;
  while (end < name.size() && is_digit(name[end])) ++end;
  while (next_end < next.size() && is_digit(next[next_end])) ++next_end;
  const std::string_view digits = name.substr(start, end - start);
  if (digits.empty() || digits.size() > most_digits || next_end - start > most_digits) return std::nullopt;
  if (next_end == start || name.substr(end) != next.substr(next_end)) return std::nullopt;
  return Counter{name.substr(0, start), digits, name.substr(end)};
}

/// The digits that stand in `next` where `counter` counts.
std::string_view digits_of(std::string_view next, const Counter& counter) {
  return next.substr(counter.before.size(), next.size() - counter.before.size() - counter.after.size());
}

}  // namespace

std::variant<std::vector<std::string>, QuantityError> expand_names(std::string_view list, std::size_t most) {
  return ListReader(list, most).read();
}

std::string fold_names(const std::vector<std::string>& names) {
  std::string list;
  for (std::size_t i = 0; i < names.size();) {
    if (!list.empty()) list += ',';
    const auto counter = i + 1 < names.size() ? counter_between(names[i], names[i + 1]) : std::nullopt;
    if (!counter) {
      list += escaped(names[i++]);
      continue;
    }
    std::string ranges;
    std::string_view first = counter->digits;
    do {  // one range each
      std::uint64_t last = number_in(first);
      const auto goes_on = [&] {
        if (i + 1 >= names.size()) return false;
        const auto next = counter_between(names[i], names[i + 1]);
        if (!next || next->before != counter->before || next->after != counter->after) return false;
        return digits_of(names[i + 1], *counter) == padded(last + 1, first.size());
      };
      for (; goes_on(); ++i) ++last;
      ranges += (ranges.empty() ? "" : ",") + std::string(first);
      if (last != number_in(first)) ranges += "-" + padded(last, first.size());
      const auto next = i + 1 < names.size() ? counter_between(names[i], names[i + 1]) : std::nullopt;
      ++i;
      if (!next || next->before != counter->before || next->after != counter->after) break;
      first = digits_of(names[i], *counter);
    } while (true);
    list += escaped(counter->before) + "[" + ranges + "]" + escaped(counter->after);
  }
  return list;
}

bool natural_less(std::string_view one, std::string_view other) {
  std::size_t i = 0, j = 0;
  while (i < one.size() && j < other.size()) {
    if (!is_digit(one[i]) || !is_digit(other[j])) {
      if (one[i] != other[j]) return one[i] < other[j];
      ++i, ++j;
      continue;
    }
    const auto number = [](std::string_view text, std::size_t& at) {
      while (at < text.size() && text[at] == '0') ++at;
      const std::size_t start = at;
      while (at < text.size() && is_digit(text[at])) ++at;
      return text.substr(start, at - start);
    };
    const std::string_view left = number(one, i), right = number(other, j);
    if (left.size() != right.size()) return left.size() < right.size();
    if (left != right) return left < right;
  }
  if (one.size() - i != other.size() - j) return one.size() - i < other.size() - j;
  return one < other;  // "a01" and "a1"
}

}  // namespace lockstep::topologies
