#pragma once
/// What a kind of collective promises: which chunks every rank starts with, and what each must end with.
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "sim/collectives/files/chunk_schedule.hpp"
#include "sim/collectives/files/contributions.hpp"

namespace lockstep::collectives {

/// The number of a chunk among all of the group. For an all-to-all, source x chunks + its place in the source's
/// input; otherwise its place in the whole array.
using ChunkNumber = std::int64_t;

class Promise {
 public:
  /// Every rank's larger buffer has `chunks` chunks. Why it cannot be, if not "": "...; expected ..." in two parts.
  Promise(workloads::CollectiveKind kind, std::int32_t ranks, std::int32_t chunks);
  /// What is wrong with these numbers and what was expected; nothing if all is well. Nothing else may be asked for
  /// numbers that are wrong.
  [[nodiscard]] static std::optional<std::pair<std::string, std::string>> why_not(workloads::CollectiveKind kind,
                                                                                  std::int32_t ranks,
                                                                                  std::int32_t chunks);

  [[nodiscard]] workloads::CollectiveKind kind() const { return kind_; }
  [[nodiscard]] std::int32_t ranks() const { return ranks_; }
  [[nodiscard]] std::int32_t chunks() const { return chunks_; }
  [[nodiscard]] ChunkNumber all_chunks() const;
  /// Chunks of a rank's input and output; 0 where the kind reads or promises none.
  [[nodiscard]] std::int32_t input_chunks(MemberId rank) const;
  [[nodiscard]] std::int32_t output_chunks(MemberId rank) const;
  [[nodiscard]] ChunkNumber input(MemberId rank, std::int32_t place) const;
  [[nodiscard]] ChunkNumber output(MemberId rank, std::int32_t place) const;
  /// What a rank has in a chunk of its input at the start.
  [[nodiscard]] ContentId given(MemberId rank, std::int32_t place, Contributions& contents) const;

  /// A problem at `where` if chunks end with anything else than promised: the first one, and how many more. `found`:
  /// what a rank has at a place of its output.
  void check(const std::function<ContentId(MemberId rank, std::int32_t place)>& found, Contributions& contents,
             const Location& where, Problems& problems) const;

 private:
  [[nodiscard]] std::int32_t share() const { return chunks_ / ranks_; }
  [[nodiscard]] ContentId promised(MemberId rank, std::int32_t place, Contributions& contents) const;
  [[nodiscard]] std::string why_differs(const Content& found, const Content& promised) const;

  workloads::CollectiveKind kind_;
  std::int32_t ranks_, chunks_;
};

}  // namespace lockstep::collectives
