#pragma once
/// Sizes of collectives as nccl-tests print and take them.
#include "sim/core/units.hpp"
#include "workloads/sharding/collective_kind.hpp"

namespace lockstep::collectives {

/// The largest V; costs multiply it by a few.
inline constexpr Bytes most_full_size(1'000'000'000'000'000'000);

/// V, the bytes of the group's whole array, for a collective that nccl-tests print with a size of `buffer`: the larger
/// of the bytes that one rank sends and receives (common.cu: max(sendBytes, expectedBytes)). The two are equal for all
/// kinds except the all-to-all, whose V is the bytes that all ranks send (alltoall.cu: sendcount = recvcount = count).
[[nodiscard]] constexpr Bytes full_size_of(workloads::CollectiveKind kind, Bytes buffer, int members) {
  return kind == workloads::CollectiveKind::all_to_all ? buffer * members : buffer;
}

}  // namespace lockstep::collectives
