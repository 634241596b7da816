#include <charconv>

#include "sim/scenario/reading_private.hpp"

namespace lockstep::scenario {
namespace {

constexpr std::size_t most_items = 1000;
constexpr double most_load = 1 - 1e-6;

/// "30 %" or 0.3.
double read_load(const YamlView& view) {
  if (!view.exists()) return 0;
  auto text = view.text();
  if (text.empty() || text.back() != '%') return view.number(0, most_load);
  text.pop_back();
  while (!text.empty() && text.back() == ' ') text.pop_back();
  double percent = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), percent, std::chars_format::fixed);
  if (error == std::errc{} && end == text.data() + text.size() && percent >= 0 && percent <= 100 * most_load)
    return percent / 100;
  view.problem("`" + view.text() + "` is not a share of a link", "0 % to less than 100 %");
  return 0;
}

}  // namespace

std::vector<topologies::BackgroundLoad> read_background(const YamlView& list) {
  std::vector<topologies::BackgroundLoad> loads;
  const auto items = list.items();
  if (items.size() > most_items)
    list.problem("has " + std::to_string(items.size()) + " items", "at most " + std::to_string(most_items));
  for (const auto& item : items) {
    const std::string example = "{links: \"leaf(0)>*\", load: 30 %}";
    if (!item.expect_map("a load such as " + example)) continue;
    const auto links = item.require("links", "names of links or of nodes, such as \"leaf(0)>*\" or \"spine(0,1)\"");
    const auto load = read_load(item.require("load", "the share of the links' rate that others take, such as 30 %"));
    if (links.exists() && expect_value(links, "names of links, such as \"leaf(0)>*\""))
      loads.push_back({links.text(), load});
    item.refuse_unknown_keys();
  }
  return loads;
}

}  // namespace lockstep::scenario
