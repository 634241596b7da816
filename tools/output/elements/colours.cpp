#include "tools/output/elements/colours.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <string_view>
#include <utility>

#include "sim/core/indexed.hpp"

namespace lockstep::output {
namespace {

using Named = std::pair<std::string_view, std::string_view>;
// Both lists are made of colours.json when the build is configured.
constexpr std::array named{
#include <named_colours.inc>
};
constexpr std::array others{
#include <other_colours.inc>
};

}  // namespace

std::string Colours::of(const std::string& name) {
  const auto known = std::find_if(named.begin(), named.end(), [&](const Named& one) { return one.first == name; });
  if (known != named.end()) return std::string(known->second);
  auto place = std::find(seen_.begin(), seen_.end(), name);
  if (place == seen_.end()) place = seen_.insert(seen_.end(), name);
  return colour_of_line(position_of(place - seen_.begin()));
}

std::string colour_of_line(std::size_t number) { return std::string(others[number % others.size()]); }

std::size_t line_colours() { return others.size(); }

std::string lighter(const std::string& colour, double white) {
  std::string text = "#";
  for (const std::size_t at : {1u, 3u, 5u}) {
    const auto part = std::stoi(colour.substr(at, 2), nullptr, 16);
    std::array<char, 3> mixed{};
    std::snprintf(mixed.data(), mixed.size(), "%02x", static_cast<unsigned>(std::lround(part + (255 - part) * white)));
    text += mixed.data();
  }
  return text;
}

}  // namespace lockstep::output
