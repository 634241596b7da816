#include "topologies/graph/host_list.hpp"

#include <optional>

#include "topologies/graph/name_numbers_private.hpp"

namespace lockstep::topologies {
namespace {

constexpr const char* a_list = "names such as gpu[001-128],login1";

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
      if (first.size() > most_digits_of_a_name || last.size() > most_digits_of_a_name)
        return refuse("a number has too many digits");
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

}  // namespace

std::variant<std::vector<std::string>, QuantityError> expand_names(std::string_view list, std::size_t most) {
  return ListReader(list, most).read();
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

std::string some_of(const std::vector<std::string>& names, std::size_t most) {
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), most); ++i) {
    const bool last = i + 1 == names.size();
    text += (i == 0 ? "" : last ? " and " : ", ") + names[i];
  }
  if (names.size() > most) text += " and " + std::to_string(names.size() - most) + " more";
  return text;
}

}  // namespace lockstep::topologies
