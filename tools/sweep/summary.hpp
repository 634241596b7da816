#pragma once
#include <string>

#include "tools/sweep/store.hpp"

namespace lockstep::sweep {

/// A summary of a database in a few lines: points by status, the best one, and why others have no result.
[[nodiscard]] std::string sweep_summary(Database& database, const StoreHeader& header, const std::string& file);

}  // namespace lockstep::sweep
