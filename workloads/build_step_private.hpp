#pragma once
/// What the expansion of derived blocks keeps in hand: buckets of gradients, passes of blocks, handovers.
#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "workloads/build_step.hpp"
#include "workloads/unique_ids_private.hpp"

namespace lockstep {

using OpIds = UniqueIds;

/// The same chain of collectives on several arrays at once: same kinds, same axes, sizes added up.
inline bool alike(const std::vector<DerivedCollective>& a, const std::vector<DerivedCollective>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const auto& x, const auto& y) { return x.kind == y.kind && x.axes == y.axes; });
}

using Owner = std::pair<int, std::string>;  ///< block position and name of a weight

/// Chains of collectives waiting to be sent together.
struct Bucket {
  std::vector<DerivedCollective> chain;
  std::vector<std::string> arrays;
  std::vector<Owner> owners;  ///< whose gradients are inside
  OpIds after;
  [[nodiscard]] Bytes size() const { return chain.front().full_size; }

  void take(const std::vector<DerivedCollective>& more, const std::string& array, int block, const OpIds& ready) {
    if (chain.empty()) {
      chain = more;
    } else {
      for (std::size_t i = 0; i < chain.size(); ++i) chain[i].full_size += more[i].full_size;
    }
    arrays.push_back(array);
    owners.emplace_back(block, array);
    merge(after, ready);
  }
};

/// The bucket that such a chain joins; a new one if there is none.
inline Bucket& bucket_for(std::vector<Bucket>& buckets, const std::vector<DerivedCollective>& chain) {
  const auto found =
      std::find_if(buckets.begin(), buckets.end(), [&](const auto& bucket) { return alike(bucket.chain, chain); });
  return found != buckets.end() ? *found : buckets.emplace_back();
}

/// What one block hands to the next: operations to wait for and the buffers that hold it.
struct Handover {
  OpIds ops;
  std::vector<std::size_t> buffers;
};

/// One block in one pass of one microbatch, as vertices.
struct PassVertices {
  Handover received;
  OpIds of_step;         ///< vertex of each step
  OpId first_op = 0;     ///< the received operations come before it
  std::size_t first_buffer = 0;  ///< that of step 0; one for each step follows
  std::size_t on_host = 0;       ///< a forward whose activations went to the host: their buffer there,
  std::optional<OpId> back_up;   ///< once they are wanted, their way back,
  std::size_t came_back = 0;     ///< and their buffer on the chip again
};

/// The gradient of one weight on its way to the optimizer.
struct Gradient {
  OpIds ready;                             ///< what completes it so far
  std::vector<std::size_t> unreduced;      ///< buffers of contributions that no collective has read yet
  std::optional<std::size_t> accumulated;  ///< its own buffer
};

}  // namespace lockstep
