#pragma once
#include <string>

#include "tools/sweep/store.hpp"

namespace lockstep::sweep {

/// All rows as CSV, ordered by their inputs: equal whatever order they were simulated in. Every column holds numbers
/// only or text only, as far as the sweep's values do; unknown is empty.
[[nodiscard]] std::string export_csv(Database& database, const StoreHeader& header);

}  // namespace lockstep::sweep
