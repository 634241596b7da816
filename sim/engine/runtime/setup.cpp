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

}  // namespace

Setup::Setup(const program::Program& of, Chains made)
    : program(of),
      lanes(of),
      chains(std::move(made)),
      chain_of_turn(by_priority(of, chains)),
      turn_of_chain(chains.count()),
      dependences(std::make_shared<const Dependences>(of, chains)) {
  for (const std::int32_t turn : chain_of_turn.ids()) turn_of_chain[chain_of_turn[turn]] = turn;
}

}  // namespace lockstep::engine
