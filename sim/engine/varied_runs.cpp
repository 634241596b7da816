#include "sim/engine/varied_runs.hpp"

#include <cmath>
#include <utility>

#include "sim/core/errors.hpp"
#include "sim/engine/max_min/max_min_network.hpp"
#include "sim/engine/reference/reference_network.hpp"
#include "sim/engine/runtime/runtime.hpp"

namespace lockstep::engine {

VariedRuns::VariedRuns(program::Program program, EngineKind kind) : program_(std::move(program)), kind_(kind) {
  check(program_);
  setup_ = std::make_unique<const Setup>(program_, Chains::longest(program_));
}

VariedRuns::~VariedRuns() = default;

const Chains& VariedRuns::chains() const { return setup_->chains; }

timeline::Timeline VariedRuns::run(Indexed<topologies::RankId, double> slowdown_of_rank,
                                   Indexed<topologies::LinkId, BytesPerSecond> links) {
  const bool as_many =
      slowdown_of_rank.size() == program_.slowdown_of_rank.size() && links.size() == program_.links.size();
  if (!as_many) throw InternalError("varied runs: another number of ranks or links");
  for (const double slowdown : slowdown_of_rank) {
    if (!std::isfinite(slowdown) || slowdown <= 0) throw InternalError("varied runs: a rank has no speed");
  }
  for (const auto capacity : links) {
    if (!(capacity > BytesPerSecond(0))) throw InternalError("varied runs: a link has no capacity");
  }
  program_.slowdown_of_rank = std::move(slowdown_of_rank);
  program_.links = std::move(links);
  std::unique_ptr<Network> network;
  if (kind_ == EngineKind::reference) {
    network = std::make_unique<ReferenceNetwork>(program_);
  } else {
    network = std::make_unique<MaxMinNetwork>(program_);
  }
  return Runtime(*setup_, *network, {}).run();
}

}  // namespace lockstep::engine
