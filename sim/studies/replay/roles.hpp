#pragma once
/// Ranks that do the same, with others that do the same: the copies of data parallelism, say. A program holds what they
/// do once. Found as the coarsest partition in which all ranks of a role have equal operations, and each collective of
/// theirs joins equal roles.
#include <vector>

#include "sim/studies/replay/matched_collectives.hpp"

namespace lockstep::replay {

using RoleId = std::int32_t;

/// An operation of a role.
struct RolePart {
  RoleId role = 0;
  WorkId operation = 0;
  friend auto operator<=>(const RolePart&, const RolePart&) = default;
};

/// The collectives that the ranks of some roles run at once, group by group.
struct RoleCollective {
  std::vector<RolePart> parts;        ///< each once, ascending
  std::vector<std::int32_t> matched;  ///< positions among the matched collectives
};

struct Roles {
  std::vector<RoleId> role_of_rank;              ///< by position in RecordedJob::ranks
  Indexed<RoleId, std::int32_t> representative;  ///< the first rank of each, by position
  std::vector<RoleCollective> collectives;
};

[[nodiscard]] Roles roles_of(const std::vector<RankWork>& works, const std::vector<MatchedCollective>& collectives);
/// Every rank by itself.
[[nodiscard]] Roles roles_apart(const std::vector<RankWork>& works, const std::vector<MatchedCollective>& collectives);

}  // namespace lockstep::replay
