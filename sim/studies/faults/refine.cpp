#include "sim/studies/faults/refine.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "sim/core/indexed.hpp"

namespace lockstep::faults {

std::vector<std::int32_t> refined(std::vector<std::int32_t> colours, const std::vector<Joint>& joints) {
  using Seen = std::vector<std::pair<std::int32_t, std::int32_t>>;  // label and colour of each neighbour
  for (std::size_t before = 0;;) {
    std::vector<Seen> seen(colours.size());
    for (const Joint& joint : joints) {
      seen[position_of(joint.one)].emplace_back(joint.label, colours[position_of(joint.other)]);
      seen[position_of(joint.other)].emplace_back(joint.label, colours[position_of(joint.one)]);
    }
    std::map<std::pair<std::int32_t, Seen>, std::int32_t> numbers;
    std::vector<std::int32_t> finer;
    for (std::size_t node = 0; node < colours.size(); ++node) {
      std::sort(seen[node].begin(), seen[node].end());
      const auto next = static_cast<std::int32_t>(numbers.size());
      finer.push_back(numbers.try_emplace({colours[node], std::move(seen[node])}, next).first->second);
    }
    colours = std::move(finer);
    if (numbers.size() == before) return colours;
    before = numbers.size();
  }
}

}  // namespace lockstep::faults
