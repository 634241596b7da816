#pragma once
/// Work of attention where sequences hold documents that do not see each other: what a microbatch has on the rank that
/// the others wait for.
#include <cstdint>
#include <utility>
#include <vector>

#include "sim/core/indexed.hpp"
#include "workloads/model/model.hpp"
#include "workloads/pipeline/ids.hpp"

namespace lockstep::workloads {

/// Lengths of documents, in tokens, and how many there are of each.
using DocumentCounts = std::vector<std::pair<std::int64_t, std::int64_t>>;

struct SequenceLoad {
  struct Microbatch {
    DocumentCounts documents;  ///< of one replica's sequences
    double attention = 1;      ///< work of attention on the slowest rank over that of an even share of the documents
    double travelling = 1;     ///< share of the keys and values that travel around the context axis
    friend bool operator==(const Microbatch&, const Microbatch&) = default;
  };
  Indexed<MicrobatchId, Microbatch> microbatches;  ///< empty: every sequence is one document
  std::int64_t sequences = 1;                      ///< of a microbatch of one replica
  std::int64_t sequence_length = 0;
  bool causal = true;

  [[nodiscard]] bool varies() const { return !microbatches.empty(); }
  /// Work of attention in a layer of that reach, over that of sequences which are one document each:
  /// sum of l a(l) over the documents / (sequences T a(T)), with a(l) the tokens that one of l attends to on average.
  [[nodiscard]] double attended(const LayerKind& reach, MicrobatchId microbatch) const;
};

}  // namespace lockstep::workloads
