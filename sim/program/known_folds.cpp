#include "sim/program/known_folds.hpp"

#include <algorithm>
#include <utility>

#include "sim/program/refine.hpp"

namespace lockstep::program {
namespace {

constexpr std::size_t most_known = 4;

bool same_flow(const collectives::Flow& a, const collectives::Flow& b) {
  return a.slot == b.slot && a.links == b.links;
}

bool same_group(const collectives::ProgramGroup& a, const collectives::ProgramGroup& b) {
  return a.members == b.members &&
         std::equal(a.flows.begin(), a.flows.end(), b.flows.begin(), b.flows.end(), same_flow);
}

bool same_communicator(const collectives::Communicator& a, const collectives::Communicator& b) {
  return a.name == b.name && a.slots == b.slots &&
         std::equal(a.groups.begin(), a.groups.end(), b.groups.begin(), b.groups.end(), same_group);
}

/// Whether two programs have the same ranks and links, and flows on the same routes.
bool same_machine(const Program& a, const Program& b) {
  return a.stage_of_rank == b.stage_of_rank && a.slowdown_of_rank == b.slowdown_of_rank &&
         a.chip_of_rank == b.chip_of_rank && a.links == b.links &&
         std::equal(a.communicators.begin(), a.communicators.end(), b.communicators.begin(), b.communicators.end(),
                    same_communicator);
}

}  // namespace

FoldedProgram KnownFolds::fold(Program whole) {
  auto slots = alike_slots(whole);
  const auto same = std::find_if(known_.begin(), known_.end(), [&](const Known& known) {
    return known.alike_slots == slots && same_machine(known.whole, whole);
  });
  if (same != known_.end()) {
    std::rotate(known_.begin(), same, std::next(same));
    auto folded = known_.front().folded;
    take_operations(whole, folded.program);
    return folded;
  }
  auto folded = fold_operations(whole);
  auto operations = std::exchange(folded.program.ops, {});
  known_.push_front({std::move(whole), std::move(slots), folded});
  if (known_.size() > most_known) known_.pop_back();
  folded.program.ops = std::move(operations);
  return folded;
}

}  // namespace lockstep::program
