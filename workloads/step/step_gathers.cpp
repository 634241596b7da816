#include "workloads/step/step_gathers_private.hpp"

#include <algorithm>

namespace lockstep::workloads {

OpIds StepGathers::room(StageId stage) const {
  const auto& readers = readers_[stage];
  const auto freed = readers.count() - 1 - writer_.options.prefetch;
  return freed >= 0 ? readers[freed] : OpIds{};
}

bool StepGathers::write(const StepPlace& place, StepPass pass, const ChosenSteps& chosen, PassVertices& vertices) {
  const auto& steps = writer_.steps(place, pass);
  std::vector<std::vector<BlockStepId>> groups;
  for (const BlockStepId i : steps.ids()) {
    if (!chosen[i] || !steps[i].gathers_weights()) continue;
    const auto same = std::find_if(groups.begin(), groups.end(), [&](const auto& group) {
      return writer_.options.weight_buckets.merges() && share_a_bucket(steps[group.front()], steps[i]);
    });
    (same == groups.end() ? groups.emplace_back() : *same).push_back(i);
  }
  if (groups.empty()) return false;
  const OpIds after = room(place.stage);
  for (const auto& group : groups) {
    const auto id = writer_.add(StepWriter::at(place, pass, together(place, pass, group)), after);
    for (const auto member : group) vertices.of_step[member] = id;
  }
  return true;
}

const StepWork* StepGathers::together(const StepPlace& place, StepPass pass, const std::vector<BlockStepId>& group) {
  const auto* first = writer_.work_of(place, pass, group.front());
  if (group.size() == 1) return first;
  const auto& steps = writer_.steps(place, pass);
  auto& work = works_[{&steps, group}];
  if (work != nullptr) return work;
  StepWork made = *first;
  for (std::size_t i = 1; i < group.size(); ++i) {
    const auto& more = steps[group[i]];
    made.full_size += more.full_size;
    made.name += more.name.substr(more.name.find(' '));
  }
  made.detail += " and " + std::to_string(group.size() - 1) + " more arrays";
  return work = writer_.graph.share(std::move(made));
}

}  // namespace lockstep::workloads
