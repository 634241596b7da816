#pragma once
/// What is left open by a search that ends at a time beyond which no plan matters.
#include <string>

#include "sim/studies/planning/plan_search.hpp"

namespace lockstep::planning {

/// Why a plan that was not compared may be better, if none with a healthy step above `worth_until_s` is; empty: none
/// may. `most`: the plans that could be compared.
[[nodiscard]] std::string why_unproven(const SearchResult& result, std::size_t most, double worth_until_s);

}  // namespace lockstep::planning
