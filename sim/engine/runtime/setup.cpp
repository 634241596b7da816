#include "sim/engine/runtime/setup.hpp"

#include <map>
#include <utility>
#include <vector>

namespace lockstep::engine {
namespace {

/// The chains by priority, those of one priority in the program's order. There are few priorities.
std::vector<ChainId> by_priority(const program::Program& program, const Chains& chains) {
  std::map<std::int32_t, std::vector<ChainId>> by;
  auto last = by.end();
  for (ChainId chain = 0; chain < chains.count(); ++chain) {
    const auto priority = program.ops[chains.first(chain)].priority;
    if (last == by.end() || last->first != priority) last = by.try_emplace(priority).first;
    last->second.push_back(chain);
  }
  std::vector<ChainId> all;
  all.reserve(position_of(chains.count()));
  for (const auto& [priority, of_priority] : by) all.insert(all.end(), of_priority.begin(), of_priority.end());
  return all;
}

Indexed<std::int32_t, Turn> turns_of(const program::Program& program, const Chains& chains) {
  Indexed<std::int32_t, Turn> turns;
  turns.reserve(position_of(chains.count()));
  for (const ChainId chain : by_priority(program, chains)) {
    const auto first = chains.first(chain);
    const program::ProgramOp& op = program.ops[first];
    const bool computes = op.kind == program::ProgramOp::Kind::compute;
    turns.push_back({chain,
                     first,
                     computes ? Dependences::no_communicator : op.communicator,
                     op.shares_chip,
                     op.dispatches,
                     {op.streams.begin(), op.streams.size()}});
  }
  return turns;
}
}  // namespace

Setup::Setup(const program::Program& of, Chains made)
    : program(of),
      lanes(of),
      chains(std::move(made)),
      turns(turns_of(of, chains)),
      turn_of_chain(chains.count()),
      dependences(std::make_shared<const Dependences>(of, chains)) {
  for (const std::int32_t turn : turns.ids()) turn_of_chain[turns[turn].chain] = turn;
}

}  // namespace lockstep::engine
