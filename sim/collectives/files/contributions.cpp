#include "sim/collectives/files/contributions.hpp"

#include <algorithm>

namespace lockstep::collectives {
namespace {

constexpr std::size_t most_runs = 4'000'000;  // some hundreds of MB
constexpr std::int32_t most_counted = 1'000'000;

std::int32_t count_at(const Content& content, std::size_t& at, std::int64_t input) {
  while (at < content.size() && content[at].last < input) ++at;
  return at < content.size() && content[at].first <= input ? content[at].count : 0;
}

Content added(const Content& left, const Content& right) {
  std::vector<std::int64_t> borders;
  for (const auto* side : {&left, &right}) {
    for (const auto& run : *side) {
      borders.push_back(run.first);
      borders.push_back(run.last + 1);
    }
  }
  std::sort(borders.begin(), borders.end());
  borders.erase(std::unique(borders.begin(), borders.end()), borders.end());
  Content total;
  std::size_t in_left = 0, in_right = 0;
  for (std::size_t i = 0; i + 1 < borders.size(); ++i) {
    const auto count =
        std::min(most_counted, count_at(left, in_left, borders[i]) + count_at(right, in_right, borders[i]));
    if (count == 0) continue;
    if (!total.empty() && total.back().count == count && total.back().last + 1 == borders[i])
      total.back().last = borders[i + 1] - 1;
    else
      total.push_back({borders[i], borders[i + 1] - 1, count});
  }
  return total;
}

}  // namespace

Contributions::Contributions() { (void)known({}); }

bool Contributions::full() const { return summed_runs_ + sums_.size() > most_runs; }

ContentId Contributions::known(Content content) {
  const auto [place, is_new] = ids_.try_emplace(std::move(content), static_cast<ContentId>(by_id_.size()));
  if (is_new) by_id_.push_back(&place->first);
  return place->second;
}

ContentId Contributions::inputs(std::int64_t first, std::int64_t last) { return known({{first, last, 1}}); }

ContentId Contributions::sum(ContentId left, ContentId right) {
  if (left == nothing) return right;
  if (right == nothing) return left;
  if (full()) return nothing;
  const auto [place, is_new] = sums_.try_emplace(std::minmax(left, right), nothing);
  if (is_new) {
    place->second = known(added((*this)[left], (*this)[right]));
    summed_runs_ += (*this)[place->second].size();
  }
  return place->second;
}

}  // namespace lockstep::collectives
