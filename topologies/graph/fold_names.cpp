#include <algorithm>
#include <optional>

#include "topologies/graph/host_list.hpp"
#include "topologies/graph/name_numbers_private.hpp"

namespace lockstep::topologies {
namespace {

constexpr std::string_view signs = "[],\\";

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
};
std::optional<Counter> counter_between(std::string_view name, std::string_view next) {
  std::size_t start = 0;
  while (start < std::min(name.size(), next.size()) && name[start] == next[start]) ++start;
  while (start > 0 && is_digit(name[start - 1])) --start;
  std::size_t end = start, next_end = start;
  while (end < name.size() && is_digit(name[end])) ++end;
  while (next_end < next.size() && is_digit(next[next_end])) ++next_end;
  const std::string_view digits = name.substr(start, end - start);
  if (digits.empty() || digits.size() > most_digits_of_a_name || next_end - start > most_digits_of_a_name)
    return std::nullopt;
  if (next_end == start || name.substr(end) != next.substr(next_end)) return std::nullopt;
  return Counter{name.substr(0, start), digits, name.substr(end)};
}

/// The digits that stand in `next` where `counter` counts.
std::string_view digits_of(std::string_view next, const Counter& counter) {
  return next.substr(counter.before.size(), next.size() - counter.before.size() - counter.after.size());
}

}  // namespace

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

}  // namespace lockstep::topologies
