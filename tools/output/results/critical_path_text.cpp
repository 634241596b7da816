#include "tools/output/results/critical_path_text.hpp"

#include <algorithm>
#include <vector>

#include "tools/output/elements/table.hpp"

namespace lockstep::output {
namespace {

/// All parts of one kind.
struct Share {
  metrics::CriticalPart::Kind kind;
  Seconds time{0};
  const metrics::CriticalPart* largest = nullptr;
};

std::string share_text(const Share& share, Seconds step_time) {
  std::string text = percent(share.time / step_time) + " " + std::string(name(share.kind));
  const bool told_by_its_kind =
      share.kind == metrics::CriticalPart::Kind::compute || share.kind == metrics::CriticalPart::Kind::update;
  if (told_by_its_kind) return text;
  return text + " (" + (share.largest->time < share.time ? "mostly " : "") + share.largest->what + ")";
}

}  // namespace

std::string critical_path_line(const metrics::CriticalPath& path, Seconds step_time) {
  std::vector<Share> shares;
  for (const auto& part : path.parts) {  // the longest first, so the first of a kind is its largest
    auto share = std::find_if(shares.begin(), shares.end(), [&](const Share& one) { return one.kind == part.kind; });
    if (share == shares.end()) share = shares.insert(share, {part.kind, Seconds(0), &part});
    share->time += part.time;
  }
  std::stable_sort(shares.begin(), shares.end(), [](const Share& a, const Share& b) { return a.time > b.time; });
  std::string text = "critical path:";
  for (const auto& share : shares) text += (&share == shares.data() ? " " : ", ") + share_text(share, step_time);
  return text;
}

std::string what_would_help(std::span<const metrics::Elasticity> elasticities) {
  constexpr double nothing = 0.005;  // 0.00 % in print
  std::string text;
  for (const auto& one : elasticities) {
    if (one.gain() < nothing) continue;
    const auto what = std::string(one.is_rate ? "more " : "less ") + one.parameter;
    const auto gain = fixed(one.gain(), 2) + " %";
    text += text.empty() ? "what would help most: 1 % " + what + " makes the step " + gain + " shorter"
                         : ", " + what + " " + gain;
  }
  return text;
}

std::string what_twice_as_fast_brings(std::span<const sensitivity::FasterPart> parts) {
  constexpr double nothing = 5e-5;  // 0.00 % in print
  if (parts.empty()) return "";
  std::string text;
  for (const auto& part : parts) {
    if (part.gain < nothing) continue;
    text += "twice as fast, " + std::string(part.is_switch ? "switch " : "cable ") + part.name +
            (part.alike > 1 ? " and " + std::to_string(part.alike - 1) + " alike" : "") +
            (part.with_nics ? ", with NICs as fast" : "") + ": the step " + fixed(100 * part.gain, 2) + " % shorter\n";
  }
  return text.empty() ? "no cable or switch, made twice as fast, would make the step shorter\n" : text;
}

}  // namespace lockstep::output
