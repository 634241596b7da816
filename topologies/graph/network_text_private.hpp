#pragma once
/// Text of a file, line by line, and the parts of a line.
#include <charconv>
#include <optional>
#include <string>
#include <string_view>

#include "topologies/graph/network_builder_private.hpp"

namespace lockstep::topologies {

/// Takes parts off the front of a line and knows the column that it has come to.
class LineScan {
 public:
  LineScan(std::string_view line, int number) : line_(line), number_(number) {}

  [[nodiscard]] TextPlace place() const { return {number_, static_cast<int>(at_) + 1}; }
  [[nodiscard]] std::string_view rest() const { return line_.substr(at_); }
  [[nodiscard]] bool at_end() const { return at_ == line_.size(); }

  void skip_space() {
    while (at_ < line_.size() && (line_[at_] == ' ' || line_[at_] == '\t')) ++at_;
  }
  bool take(std::string_view text) {
    if (!rest().starts_with(text)) return false;
    at_ += text.size();
    return true;
  }
  /// Letters up to a space; the spaces before them are skipped.
  std::string_view word() {
    skip_space();
    return take_until(" \t");
  }
  std::string_view take_until(std::string_view signs) {
    const std::size_t end = std::min(line_.find_first_of(signs, at_), line_.size());
    const std::string_view text = line_.substr(at_, end - at_);
    at_ = end;
    return text;
  }
  /// A whole number without sign.
  std::optional<int> number() {
    int value = 0;
    const char* const start = line_.data() + at_;
    const auto [end, error] = std::from_chars(start, line_.data() + line_.size(), value);
    if (error != std::errc() || value < 0) return std::nullopt;
    at_ += static_cast<std::size_t>(end - start);
    return value;
  }
  /// What stands between two signs, from `open` on.
  std::optional<std::string_view> enclosed(char open, char close) {
    const std::size_t end = line_.find(close, at_ + 1);
    if (at_ >= line_.size() || line_[at_] != open || end == std::string_view::npos) return std::nullopt;
    const std::string_view text = line_.substr(at_ + 1, end - at_ - 1);
    at_ = end + 1;
    return text;
  }

 private:
  std::string_view line_;
  int number_;
  std::size_t at_ = 0;
};

/// Lines that are nothing that a format knows: one problem, however many there are.
class StrangeLines {
 public:
  void add(TextPlace place) {
    if (count_++ == 0) first_ = place;
  }
  void tell(const std::string& what, const std::string& expected, NetworkBuilder& builder) const {
    if (count_ == 0) return;
    const std::string others =
        count_ == 1 ? "" : ", and " + counted(count_ - 1, "more line") + (count_ == 2 ? " is none" : " are none");
    builder.problem(first_, "", what + others, expected);
  }

 private:
  TextPlace first_;
  std::size_t count_ = 0;
};

/// Calls `use(line, number)` for each line, without its end and spaces there, until it answers false.
template <class Use>
void for_each_line(std::string_view text, Use use) {
  for (int number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    while (!line.empty() && (line.back() == '\r' || line.back() == ' ' || line.back() == '\t')) line.remove_suffix(1);
    if (!use(line, number)) return;
  }
}

/// Whether any line passes.
template <class Passes>
[[nodiscard]] bool any_line(std::string_view text, Passes passes) {
  bool found = false;
  for_each_line(text, [&](std::string_view line, int) { return !(found = passes(line)); });
  return found;
}

}  // namespace lockstep::topologies
