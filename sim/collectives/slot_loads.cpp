#include "sim/collectives/slot_loads.hpp"

#include <algorithm>
#include <map>
#include <numeric>

namespace lockstep::collectives {

double SlotLoad::seconds(const Phase& phase) const {
  double bytes = 0;
  for (const auto& [slot, times] : crossings) bytes += times * phase.slot_bytes[slot];
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

/// Class and slot of the flows that cross each link, as one number each, ascending.
struct Crossings {
  std::vector<std::int32_t> links;  ///< that are crossed, ascending
  std::vector<std::size_t> end;     ///< of each in `keys`
  std::vector<std::uint64_t> keys;  ///< class and slot
};

template <class Visit>
void visit_crossings(const Communicator& communicator, const std::vector<std::int32_t>& class_of_group, Visit visit) {
  for (std::size_t group = 0; group < communicator.groups.size(); ++group) {
    const auto of_class = static_cast<std::uint64_t>(class_of_group.empty() ? 0 : class_of_group[group]);
    for (const auto& flow : communicator.groups[group].flows) {
      const auto key = of_class << 32U | static_cast<std::uint64_t>(flow.slot);
      for (const auto link : flow.links) visit(link, key);
    }
  }
}

Crossings crossings_of(const Communicator& communicator, const std::vector<std::int32_t>& class_of_group) {
  std::size_t count = 0;
  topologies::LinkId last = -1;
  visit_crossings(communicator, class_of_group, [&](std::int32_t link, std::uint64_t) {
    ++count;
    last = std::max(last, link);
  });
  Crossings made;
  made.keys.resize(count);
  if (16 * count < position_of(last + 1)) {  // few links of many
    std::vector<std::pair<std::int32_t, std::uint64_t>> all;
    all.reserve(count);
    visit_crossings(communicator, class_of_group,
                    [&](std::int32_t link, std::uint64_t key) { all.emplace_back(link, key); });
    std::sort(all.begin(), all.end());
    for (std::size_t i = 0; i < count; ++i) {
      made.keys[i] = all[i].second;
      if (i + 1 < count && all[i + 1].first == all[i].first) continue;
      made.links.push_back(all[i].first);
      made.end.push_back(i + 1);
    }
    return made;
  }
  Indexed<topologies::LinkId, std::size_t> place(last + 2, 0);  // a counting sort by link
  visit_crossings(communicator, class_of_group, [&](std::int32_t link, std::uint64_t) { ++place[link + 1]; });
  std::partial_sum(place.begin(), place.end(), place.begin());
  visit_crossings(communicator, class_of_group,
                  [&](std::int32_t link, std::uint64_t key) { made.keys[place[link]++] = key; });
  std::size_t first = 0;
  for (std::int32_t link = 0; link <= last; ++link) {
    const auto end = place[link];
    if (first == end) continue;
    std::sort(made.keys.begin() + static_cast<std::ptrdiff_t>(first),
              made.keys.begin() + static_cast<std::ptrdiff_t>(end));
    made.links.push_back(link);
    made.end.push_back(first = end);
  }
  return made;
}

}  // namespace

SlotLoads slot_loads(const Communicator& communicator,
                     const std::function<BytesPerSecond(topologies::LinkId link)>& bandwidth,
                     const std::vector<std::int32_t>& class_of_group, const topologies::GroupOrbits* orbits) {
  SlotLoads made;
  made.of_class.resize(1);
  for (const auto of_class : class_of_group)
    made.of_class.resize(std::max(made.of_class.size(), position_of(of_class) + 1));
  const auto crossings = crossings_of(communicator, class_of_group);

  std::map<std::pair<std::vector<std::pair<std::int32_t, std::int32_t>>, BytesPerSecond>, std::int32_t> numbers;
  std::pair<std::vector<std::pair<std::int32_t, std::int32_t>>, BytesPerSecond> load;
  std::size_t next = 0;
  for (std::size_t i = 0; i < crossings.links.size(); ++i) {
    load.second = bandwidth(crossings.links[i]);
    const std::int32_t times = orbits == nullptr ? 1 : orbits->times(crossings.links[i]);
    while (next < crossings.end[i]) {
      const auto of_class = crossings.keys[next] >> 32U;
      load.first.clear();
      for (; next < crossings.end[i] && crossings.keys[next] >> 32U == of_class; ++next) {
        const auto slot = static_cast<std::int32_t>(crossings.keys[next] & 0xffffffffU);
        if (load.first.empty() || load.first.back().first != slot) load.first.emplace_back(slot, 0);
        load.first.back().second += times;
      }
      auto number = numbers.find(load);
      if (number == numbers.end()) {
        number = numbers.emplace(load, static_cast<std::int32_t>(numbers.size())).first;
        made.loads.push_back({load.first, load.second, crossings.links[i]});
      }
      auto& loads = made.of_class[of_class];
      if (loads.empty() || loads.back() != number->second) loads.push_back(number->second);
    }
  }
  for (auto& loads : made.of_class) {
    std::sort(loads.begin(), loads.end());
    loads.erase(std::unique(loads.begin(), loads.end()), loads.end());
  }
  return made;
}

}  // namespace lockstep::collectives
