#include "sim/studies/planning/why_unproven.hpp"

#include "sim/core/counted.hpp"
#include "sim/core/quantity_text.hpp"

namespace lockstep::planning {

std::string why_unproven(const SearchResult& result, std::size_t most, double worth_until_s) {
  if (result.stopped) return "the search was stopped before it had looked at all plans that could be better";
  if (result.all_of_interest) return "";
  return "no more than " + counted(most, "plan") + " may be compared, and another one whose healthy step is below " +
         format(Seconds(worth_until_s)) + " could still be better";
}

}  // namespace lockstep::planning
