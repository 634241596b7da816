#include "sim/metrics/link_loads.hpp"
#include "sim/core/indexed.hpp"

#include <algorithm>
#include <utility>

namespace lockstep::metrics {
namespace {

/// A link's rate changes by `rate` at `time`.
struct Change {
  Seconds time;
  double rate;
};

/// Bytes that each link carries in one phase of one group; `bytes` is all zeros before and after.
template <typename Take>
void bytes_by_link(const program::Program& program, const timeline::PhaseSpan& span,
                   Indexed<topologies::LinkId, double>& bytes, Take take) {
  const auto& op = program.ops[span.op];
  const auto& slots = op.phases[span.phase].slot_bytes;
  std::vector<std::int32_t> crossed;
  const auto& group = program.communicators[op.communicator].groups[span.group];
  for (const auto* flows : {&group.flows, &group.on_slack_links}) {
    for (const auto& flow : *flows) {
      const double carried = slots[flow.slot];
      if (carried <= 0) continue;
      for (const auto link : flow.links) {
        if (bytes[link] == 0) crossed.push_back(link);
        bytes[link] += carried;
      }
    }
  }
  for (const auto link : crossed) take(link, std::exchange(bytes[link], 0.0));
}

LinkLoad load_of(std::vector<Change>& changes, double bytes, BytesPerSecond bandwidth, Seconds window,
                 const timeline::Repetition& repetition) {
  // At one instant what ends makes room for what begins.
  std::sort(changes.begin(), changes.end(),
            [](const Change& a, const Change& b) { return a.time != b.time ? a.time < b.time : a.rate < b.rate; });
  LinkLoad load{0, 1, bandwidth, bytes, 0, bytes / (bandwidth.value() * window.value()), 0};
  double rate = 0;
  Seconds since(0), busy(0);
  int under_way = 0;
  for (const auto& change : changes) {
    if (under_way == 0) since = change.time;
    under_way += change.rate > 0 ? 1 : -1;
    rate = under_way == 0 ? 0 : rate + change.rate;
    load.peak = std::min(std::max(load.peak, rate / bandwidth.value()),
                         1.0);  // mean rates of phases that overlap may add up to more
    if (under_way == 0) busy += repetition.in_step({since, change.time});
  }
  load.busy = busy / window;
  return load;
}

}  // namespace

std::vector<LinkLoad> link_loads(const program::Program& program, std::span<const timeline::PhaseSpan> phases,
                                 const program::LinkClasses& members, timeline::Interval window,
                                 const timeline::Repetition& repetition) {
  Indexed<topologies::LinkId, std::vector<Change>> changes(program.links.size());
  Indexed<topologies::LinkId, double> total(program.links.size(), 0.0), scratch(program.links.size(), 0.0);
  for (const auto& span : phases) {
    const double seconds = (span.flows.end - span.flows.start).value();
    if (seconds <= 0) continue;
    const auto runs = static_cast<double>(repetition.runs(span.op));
    bytes_by_link(program, span, scratch, [&](std::int32_t link, double bytes) {
      total[link] += bytes * runs;
      changes[link].push_back({span.flows.start, bytes / seconds});
      changes[link].push_back({span.flows.end, -bytes / seconds});
    });
  }
  std::vector<LinkLoad> loads;
  for (std::size_t link = 0; link < total.size(); ++link) {
    if (changes[link].empty()) continue;
    loads.push_back(load_of(changes[link], total[link], program.links[link], window.end - window.start, repetition));
    loads.back().link = members.representative[link];
    loads.back().alike = members.size[link];
  }
  std::sort(loads.begin(), loads.end(),
            [](const LinkLoad& a, const LinkLoad& b) { return a.used != b.used ? a.used > b.used : a.link < b.link; });
  return loads;
}

std::map<std::int32_t, std::vector<double>> link_use_over_time(const program::Program& program,
                                                               std::span<const timeline::PhaseSpan> phases,
                                                               const program::LinkClasses& members,
                                                               timeline::Interval window, int bins,
                                                               const timeline::Repetition& repetition) {
  const double wide = (window.end - window.start).value() / bins;
  std::map<std::int32_t, std::vector<double>> used;
  Indexed<topologies::LinkId, double> scratch(program.links.size(), 0.0);
  for (const auto& span : phases) {
    const double simulated_from = (span.flows.start - window.start).value();
    const double length = (span.flows.end - span.flows.start).value();
    if (length <= 0) continue;
    bytes_by_link(program, span, scratch, [&](std::int32_t link, double bytes) {
      auto& mine = used.try_emplace(members.representative[link], static_cast<std::size_t>(bins), 0.0).first->second;
      const double share = bytes / length / program.links[link].value() / wide;  // of a bin, per second in it
      const auto first_copy = repetition.first_copy(span.op);
      for (auto copy = first_copy; copy < first_copy + repetition.runs(span.op); ++copy) {
        const double from = simulated_from + repetition.shift(copy).value(), to = from + length;
        const int last = std::min(static_cast<int>(to / wide), bins - 1);
        for (int bin = std::min(static_cast<int>(from / wide), bins - 1); bin <= last; ++bin) {
          const double seconds = std::min(to, (bin + 1) * wide) - std::max(from, bin * wide);
          mine[position_of(bin)] += share * std::max(seconds, 0.0);
        }
      }
    });
  }
  return used;
}

}  // namespace lockstep::metrics
