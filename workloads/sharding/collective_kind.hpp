#pragma once
/// The collectives of the field, by the names NCCL and JAX users know.
#include <array>
#include <string_view>

namespace lockstep {

enum class CollectiveKind { all_gather, reduce_scatter, all_reduce, all_to_all, broadcast, reduce, point_to_point };

inline constexpr std::array all_collective_kinds = {
    CollectiveKind::all_gather, CollectiveKind::reduce_scatter, CollectiveKind::all_reduce, CollectiveKind::all_to_all,
    CollectiveKind::broadcast,  CollectiveKind::reduce,         CollectiveKind::point_to_point};

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

}  // namespace lockstep
