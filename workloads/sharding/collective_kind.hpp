#pragma once
/// The collectives of the field, by the names NCCL and JAX users know.
#include <array>
#include <cstdint>
#include <string_view>

namespace lockstep::workloads {

enum class CollectiveKind { all_gather, reduce_scatter, all_reduce, all_to_all, broadcast, reduce, point_to_point };

inline constexpr std::array all_collective_kinds = {CollectiveKind::all_gather,    CollectiveKind::reduce_scatter,
                                                    CollectiveKind::all_reduce,    CollectiveKind::all_to_all,
                                                    CollectiveKind::broadcast,     CollectiveKind::reduce,
                                                    CollectiveKind::point_to_point};

/// What an all-to-all to or from experts carries where, and so how often a token crosses each level.
enum class TokenPath {
  cheapest,     ///< as the node's algorithms do it: once to each expert, or once to a unit (node) and copied there
  each_expert,  ///< once to each expert, straight from rank to rank (NCCL)
  forwarded  ///< once to each other unit, to the rank with the sender's place there, and on to each of its chips once,
             ///< both at the same time (DeepEP, HybridEP)
};

/// The copies of each token that an all-to-all carries to experts. Copies for several experts in one unit (node) may
/// cross between units as one.
struct TokenCopies {
  std::int64_t each = 1;    ///< k, experts of a token
  std::int64_t groups = 1;  ///< node-limited routing: experts lie in groups, which follow one another over the units,
  std::int64_t groups_per_token = 1;  ///< and those of a token in so many of them
  TokenPath path = TokenPath::cheapest;
  std::int32_t multiprocessors = -1;  ///< that the transfer holds while it runs; -1: as any other collective

  /// Share of the copies that crosses if each of `units` (nodes, or chips) gets a token once, experts chosen at random
  /// in the n units that hold the token's groups: n (1 - (1 - 1/n)^k) / k.
  [[nodiscard]] double share_across(int units) const;
  friend bool operator==(const TokenCopies&, const TokenCopies&) = default;
};

/// all_gather, reduce_scatter, ... as written in scenarios, on the command line and in results.
[[nodiscard]] constexpr std::string_view name(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::all_gather: return "all_gather";
    case CollectiveKind::reduce_scatter: return "reduce_scatter";
    case CollectiveKind::all_reduce: return "all_reduce";
    case CollectiveKind::all_to_all: return "all_to_all";
    case CollectiveKind::broadcast: return "broadcast";
    case CollectiveKind::reduce: return "reduce";
    case CollectiveKind::point_to_point: return "point_to_point";
  }
  return "";
}

/// AllGather, ReduceScatter, ... as the book writes them.
[[nodiscard]] constexpr std::string_view book_name(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::all_gather: return "AllGather";
    case CollectiveKind::reduce_scatter: return "ReduceScatter";
    case CollectiveKind::all_reduce: return "AllReduce";
    case CollectiveKind::all_to_all: return "AllToAll";
    case CollectiveKind::broadcast: return "Broadcast";
    case CollectiveKind::reduce: return "Reduce";
    case CollectiveKind::point_to_point: return "Send";
  }
  return "";
}

}  // namespace lockstep::workloads
