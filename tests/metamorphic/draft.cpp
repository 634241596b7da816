#include "tests/metamorphic/draft.hpp"

#include <algorithm>
#include <cstdio>
#include <map>
#include <stdexcept>

namespace lockstep::test {
namespace {

using Keys = std::vector<std::pair<std::string, std::string>>;

bool is_below(const std::string& path, const std::string& parent) {
  return path == parent || path.starts_with(parent + ".");
}

/// "90 GB/s" and 2 as "180 GB/s".
std::string times(const std::string& quantity, double factor) {
  std::size_t end = 0;
  const double value = std::stod(quantity, &end);
  char text[40];
  std::snprintf(text, sizeof text, "%.17g", value * factor);
  return text + quantity.substr(end);
}

std::string sped_up(const std::string& mark, const std::string& quantity, const Speedup& speedup) {
  if (mark == "link") return times(quantity, speedup.link);
  if (mark == "host") return times(quantity, speedup.host);
  if (mark == "compute") return times(quantity, speedup.compute);
  if (mark == "memory") return times(quantity, speedup.memory);
  if (mark == "latency") return times(quantity, 1 / speedup.latency);
  if (mark == "fixed") return times(quantity, 1 / speedup.fixed);
  if (mark == "capacity") return times(quantity, speedup.capacity);
  throw std::logic_error("unknown mark " + mark);
}

std::string sped_up(const std::string& value, const Speedup& speedup) {
  std::string text;
  std::size_t from = 0;
  for (auto at = value.find('@'); at != std::string::npos; at = value.find('@', from)) {
    const auto open = value.find('(', at), close = value.find(')', open);
    text += value.substr(from, at - from) +
            sped_up(value.substr(at + 1, open - at - 1), value.substr(open + 1, close - open - 1), speedup);
    from = close + 1;
  }
  return text + value.substr(from);
}

/// Children of a map in the order in which they come first, with what stands below each.
std::vector<std::pair<std::string, Keys>> grouped(const Keys& keys) {
  std::vector<std::pair<std::string, Keys>> groups;
  for (const auto& [path, value] : keys) {
    const auto dot = path.find('.');
    const auto name = path.substr(0, dot);
    auto group = std::find_if(groups.begin(), groups.end(), [&](const auto& known) { return known.first == name; });
    if (group == groups.end()) group = groups.insert(groups.end(), {name, {}});
    group->second.emplace_back(dot == std::string::npos ? "" : path.substr(dot + 1), value);
  }
  return groups;
}

std::string written(const Keys& keys, const std::string& indent, const Speedup& speedup) {
  std::string text;
  for (const auto& [name, below] : grouped(keys)) {
    const bool is_value = below.size() == 1 && below.front().first.empty();
    text += indent + name + ":" +
            (is_value ? " " + sped_up(below.front().second, speedup) + "\n"
                      : "\n" + written(below, indent + "  ", speedup));
  }
  return text;
}

std::string in_one_line(const Keys& keys) {
  std::string text;
  for (const auto& [name, below] : grouped(keys)) {
    const bool is_value = below.size() == 1 && below.front().first.empty();
    text += (text.empty() ? "" : ", ") + name + ": " + (is_value ? below.front().second : in_one_line(below));
  }
  return "{" + text + "}";
}

Keys reordered_keys(const Keys& keys, Random& random) {
  auto groups = grouped(keys);
  for (std::size_t i = groups.size(); i > 1; --i)
    std::swap(groups[i - 1], groups[static_cast<std::size_t>(random.below(static_cast<std::int64_t>(i)))]);
  Keys result;
  for (const auto& [name, below] : groups) {
    const bool is_value = below.size() == 1 && below.front().first.empty();
    for (const auto& [path, value] : is_value || name == "mesh" ? below : reordered_keys(below, random)) {
      result.emplace_back(path.empty() ? name : name + "." + path, value);
    }
  }
  return result;
}

bool is_of_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

}  // namespace

void Draft::set(const std::string& path, std::string value) {
  for (auto& [known, of_known] : keys_) {
    if (known == path) {
      of_known = std::move(value);
      return;
    }
  }
  keys_.emplace_back(path, std::move(value));
}

void Draft::remove(const std::string& path) {
  std::erase_if(keys_, [&](const auto& key) { return is_below(key.first, path); });
}

bool Draft::has(const std::string& path) const {
  return std::any_of(keys_.begin(), keys_.end(), [&](const auto& key) { return is_below(key.first, path); });
}

std::string Draft::value(const std::string& path) const {
  const auto found = std::find_if(keys_.begin(), keys_.end(), [&](const auto& key) { return key.first == path; });
  return found == keys_.end() ? "" : found->second;
}

std::string Draft::map_at(const std::string& path) const {
  Keys below;
  for (const auto& [known, of_known] : keys_) {
    if (is_below(known, path) && known != path) below.emplace_back(known.substr(path.size() + 1), of_known);
  }
  return in_one_line(below);
}

void Draft::rename(const std::string& from, const std::string& to) {
  const auto in = [&](std::string& text) {
    for (auto at = text.find(from); at != std::string::npos; at = text.find(from, at + 1)) {
      const auto end = at + from.size();
      const bool whole = (at == 0 || !is_of_word(text[at - 1]) || text[at - 1] == '_') &&
                         (end == text.size() || !is_of_word(text[end]));
      if (whole) text.replace(at, from.size(), to);
    }
  };
  for (auto& [path, value] : keys_) {
    in(path);
    in(value);
  }
}

std::string Draft::text(const Speedup& speedup) const { return written(keys_, "", speedup); }

Draft Draft::reordered(Random& random) const {
  Draft result;
  result.keys_ = reordered_keys(keys_, random);
  return result;
}

}  // namespace lockstep::test
