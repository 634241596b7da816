#include <algorithm>
#include <set>

#include "sim/core/known_word.hpp"
#include "sim/scenario/reading_private.hpp"
#include "workloads/pipeline/schedules/schedules.hpp"

namespace lockstep::scenario {
namespace {

constexpr std::int64_t most = 1'000'000;

/// One value or a list of several, each once.
std::vector<YamlView> values_of(const YamlView& view) {
  if (!view.is_list()) return {view};
  const auto items = view.items();
  if (items.empty()) view.problem("is empty", "one value, or a list of several");
  std::set<std::string> seen;
  for (const auto& item : items) {
    if (item.is_scalar() && !seen.insert(item.text()).second)
      item.problem(item.text() + " is given twice", "each value once");
  }
  return items;
}

template <class Number>
void numbers(const YamlView& view, std::int64_t least, std::int64_t largest, std::vector<Number>& into) {
  if (!view.exists()) return;
  into.clear();
  for (const auto& item : values_of(view)) into.push_back(static_cast<Number>(item.integer(least, largest)));
  std::sort(into.begin(), into.end());
}

void schedules(const YamlView& view, std::vector<std::string>& into) {
  if (!view.exists()) return;
  std::vector<std::string> names;
  for (const workloads::Schedule& schedule : lockstep::workloads::schedules()) {
    // An automatic order follows the times of each plan, of which only a design has a bound; steps of slices cannot be
    // had yet.
    if ((!schedule.chooses_by_time || schedule.designs) && !schedule.takes_slices) names.emplace_back(schedule.name);
  }
  into.clear();
  for (const auto& item : values_of(view)) {
    const auto known = known_word(item.text(), names);
    into.push_back(known.empty() ? item.text() : known);
    if (!known.empty()) continue;
    const auto near = did_you_mean(into.back(), names);
    item.problem("schedule `" + into.back() + "` is not known to a search",
                 "a name of `lockstep schedule --list` that is neither automatic nor sliced" +
                     (near.empty() ? "" : "; " + near));
  }
}

/// `selective` computes again what the scenario's own selective recomputation does, else attention's core.
void recomputations(const YamlView& view, const workloads::Recompute& own, std::vector<workloads::Recompute>& into) {
  if (!view.exists()) return;
  const workloads::Recompute selective =
      own.any() && !own.all ? own : workloads::Recompute{false, {workloads::OpPart::core_attention}};
  const std::vector<workloads::Recompute> kinds{{}, selective, {true, {}}};
  for (const auto& item : values_of(view)) into.push_back(kinds[item.choice({"none", "selective", "full"})]);
}

}  // namespace

void read_search(const YamlView& view, KeyReader& keys, const workloads::Recompute& own, SearchSpec& search) {
  if (!view.exists() ||
      !view.expect_map("what `lockstep plan` may choose, such as {tensor: [4, 8], pipeline: [1, 2, 4]}"))
    return;
  numbers(keys.optional(view, "tensor"), 1, most, search.tensor);
  numbers(keys.optional(view, "context"), 1, most, search.context);
  numbers(keys.optional(view, "expert"), 1, most, search.expert);
  numbers(keys.optional(view, "pipeline"), 1, most, search.pipeline);
  numbers(keys.optional(view, "microbatches"), 1, most, search.microbatches);
  numbers(keys.optional(view, "zero"), 0, 3, search.zero);
  schedules(keys.optional(view, "schedules"), search.schedules);
  numbers(keys.optional(view, "chunks"), 1, most, search.chunks);
  recomputations(keys.optional(view, "recompute"), own, search.recompute);
  const auto memory = keys.optional(view, "memory");
  if (memory.exists()) search.memory = memory.bytes();
  view.refuse_unknown_keys();
}

}  // namespace lockstep::scenario
