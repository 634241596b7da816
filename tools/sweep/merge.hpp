#pragma once
/// Databases of one sweep put together.
#include "tools/sweep/store.hpp"

namespace lockstep::sweep {

struct MergeCounts {
  std::int64_t added = 0, known = 0;
  std::int64_t differing = 0;  ///< of the known: other results, which determinism forbids; the first one stays
  std::int64_t replaced = 0;   ///< failures of the first for which there is a result now
};

/// Rows of `from` that `into` lacks. Merging the same again adds nothing. Throws ConfigError for another sweep's
/// database.
[[nodiscard]] MergeCounts merge(SweepStore& into, const std::filesystem::path& from);
/// Header of a database that is there; throws ConfigError.
[[nodiscard]] StoreHeader header_in(const std::filesystem::path& file);

}  // namespace lockstep::sweep
