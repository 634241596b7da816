#include "sim/collectives/slot_loads.hpp"

#include <algorithm>
#include <compare>
#include <map>
#include <numeric>

namespace lockstep {

double SlotLoad::seconds(const Phase& phase) const {
  double bytes = 0;
  for (const auto& [slot, times] : crossings) bytes += times * phase.slot_bytes[static_cast<std::size_t>(slot)];
  return bytes / bandwidth.value();
}

const SlotLoad* SlotLoads::heaviest(const Phase& phase) const {
  const SlotLoad* heaviest = nullptr;
  double longest = 0;
  for (const auto& load : loads) {
    const double seconds = load.seconds(phase);
    if (seconds <= longest) continue;
    longest = seconds;
    heaviest = &load;
  }
  return heaviest;
}

namespace {

struct Crossing {
  std::int32_t link, of_class, slot;
  friend auto operator<=>(const Crossing&, const Crossing&) = default;
};

/// By link. Where most links are crossed, links are the places of a counting sort.
void sort_by_link(std::vector<Crossing>& crossings) {
  std::int32_t last = 0;
  for (const auto& crossing : crossings) last = std::max(last, crossing.link);
  if (crossings.size() < static_cast<std::size_t>(last)) return std::sort(crossings.begin(), crossings.end());
  std::vector<std::size_t> end(static_cast<std::size_t>(last) + 2, 0);
  for (const auto& crossing : crossings) ++end[static_cast<std::size_t>(crossing.link) + 1];
  std::partial_sum(end.begin(), end.end(), end.begin());
  std::vector<Crossing> sorted(crossings.size());
  for (const auto& crossing : crossings) sorted[end[static_cast<std::size_t>(crossing.link)]++] = crossing;
  crossings = std::move(sorted);
  auto first = crossings.begin();
  for (std::size_t link = 0; link + 1 < end.size(); ++link) {
    const auto next = crossings.begin() + static_cast<std::ptrdiff_t>(end[link]);
    std::sort(first, next);
    first = next;
  }
}

}  // namespace

SlotLoads slot_loads(const Communicator& communicator,
                     const std::function<BytesPerSecond(std::int32_t link)>& bandwidth,
                     const std::vector<std::int32_t>& class_of_group) {
  SlotLoads made;
  made.of_class.resize(1);
  std::vector<Crossing> crossings;
  for (std::size_t group = 0; group < communicator.groups.size(); ++group) {
    const auto of_class = class_of_group.empty() ? 0 : class_of_group[group];
    if (static_cast<std::size_t>(of_class) >= made.of_class.size())
      made.of_class.resize(static_cast<std::size_t>(of_class) + 1);
    for (const auto& flow : communicator.groups[group].flows) {
      for (const auto link : flow.links) crossings.push_back({link, of_class, flow.slot});
    }
  }
  sort_by_link(crossings);

  std::map<std::pair<std::vector<std::pair<std::int32_t, std::int32_t>>, BytesPerSecond>, std::int32_t> numbers;
  SlotLoad load;
  for (auto crossing = crossings.begin(); crossing != crossings.end();) {
    const auto link = crossing->link;
    const auto of_class = crossing->of_class;
    load = {{}, bandwidth(link), link};
    for (; crossing != crossings.end() && crossing->link == link && crossing->of_class == of_class; ++crossing) {
      if (load.crossings.empty() || load.crossings.back().first != crossing->slot)
        load.crossings.emplace_back(crossing->slot, 0);
      ++load.crossings.back().second;
    }
    const auto [number, is_new] =
        numbers.try_emplace({load.crossings, load.bandwidth}, static_cast<std::int32_t>(numbers.size()));
    if (is_new) made.loads.push_back(load);
    made.of_class[static_cast<std::size_t>(of_class)].push_back(number->second);
  }
  for (auto& loads : made.of_class) {
    std::sort(loads.begin(), loads.end());
    loads.erase(std::unique(loads.begin(), loads.end()), loads.end());
  }
  return made;
}

}  // namespace lockstep
