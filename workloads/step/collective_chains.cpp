#include "workloads/step/collective_chains_private.hpp"

#include <algorithm>

#include "workloads/step/bucketing.hpp"

namespace lockstep::workloads {
namespace {

void append(std::vector<const DerivedCollective*>& chain, const std::vector<DerivedCollective>& more) {
  for (const auto& collective : more) chain.push_back(&collective);
}

std::vector<const DerivedCollective*> collectives_of(const WeightUpdate& weight, CollectiveChain::Of of) {
  std::vector<const DerivedCollective*> chain;
  append(chain, of == CollectiveChain::Of::update ? weight.publish : weight.each_microbatch);
  if (of == CollectiveChain::Of::last_microbatch) append(chain, weight.last_microbatch);
  return chain;
}

bool alike(const CollectiveChain& one, const CollectiveChain& other) {
  return chains_share_buckets(one.collectives, other.collectives,
                              [](const auto* collective) -> const DerivedCollective& { return *collective; });
}

}  // namespace

const CollectiveChain& CollectiveChains::of(const WeightUpdate& weight, CollectiveChain::Of of) {
  const auto [known, is_new] = chains_.try_emplace({&weight, of});
  auto& made = known->second;
  if (!is_new) return made;
  made = {&weight, of, collectives_of(weight, of)};
  made.alone = std::any_of(made.collectives.begin(), made.collectives.end(),
                           [](const auto* collective) { return has_owner(*collective); });
  const auto same = std::find_if(kinds_.begin(), kinds_.end(), [&](const auto* other) { return alike(*other, made); });
  made.kind = static_cast<std::int32_t>(same - kinds_.begin());
  if (same == kinds_.end()) kinds_.push_back(&made);
  return made;
}

const std::vector<const StepWork*>& CollectiveChains::works(const ChainsTogether& chains) {
  const auto [known, is_new] = works_.try_emplace(chains);
  auto& made = known->second;
  if (!is_new) return made;
  const bool gradients = chains.front()->of != CollectiveChain::Of::update;
  std::vector<std::string> arrays;
  for (const auto* chain : chains) arrays.push_back((gradients ? "d" : "") + chain->weight->weight);
  for (std::size_t i = 0; i < chains.front()->collectives.size(); ++i) {
    auto together = *chains.front()->collectives[i];
    for (std::size_t more = 1; more < chains.size(); ++more)
      together.full_size += chains[more]->collectives[i]->full_size;
    made.push_back(writer_.collective(together, gradients ? CollectiveRole::gradient : CollectiveRole::weight, arrays));
  }
  return made;
}

OpIds CollectiveChains::publish(const StepPlace& place, StepPass pass, const std::vector<Owner>& owners,
                                const OpIds& after) {
  std::vector<ChainsTogether> published;
  for (const auto& owner : owners) {
    const auto& chain = of(writer_.update_of(owner), CollectiveChain::Of::update);
    if (chain.collectives.empty()) continue;
    auto together = chain.alone ? published.end()
                                : std::find_if(published.begin(), published.end(),
                                               [&](const auto& others) { return others.front()->kind == chain.kind; });
    if (together == published.end()) together = published.emplace(published.end());
    together->push_back(&chain);
  }
  OpIds last;
  for (const auto& together : published) {
    OpIds previous = after;
    for (const auto* work : works(together)) previous = {writer_.add(StepWriter::at(place, pass, work), previous)};
    merge(last, previous);
  }
  return last;
}

}  // namespace lockstep::workloads
