#include "sim/collectives/files/promise.hpp"

#include <algorithm>

namespace lockstep::collectives {
namespace {

using Kind = workloads::CollectiveKind;

constexpr std::int64_t most_chunks_of_all_ranks = 1 << 20;  // half a second and 150 MB of symbols

bool adds_up(Kind kind) { return kind == Kind::reduce_scatter || kind == Kind::all_reduce || kind == Kind::reduce; }
bool in_shares(Kind kind) {
  return kind == Kind::all_gather || kind == Kind::reduce_scatter || kind == Kind::all_to_all;
}

/// How often an input has been added up.
std::int32_t count_of(const Content& content, std::int64_t input) {
  for (const auto& run : content) {
    if (run.first <= input && input <= run.last) return run.count;
  }
  return 0;
}

}  // namespace

Promise::Promise(Kind kind, std::int32_t ranks, std::int32_t chunks) : kind_(kind), ranks_(ranks), chunks_(chunks) {}

std::optional<std::pair<std::string, std::string>> Promise::why_not(Kind kind, std::int32_t ranks,
                                                                    std::int32_t chunks) {
  if (kind == Kind::point_to_point) {
    return std::pair<std::string, std::string>(
        "point_to_point is no collective of chunks",
        "all_gather, reduce_scatter, all_reduce, all_to_all, broadcast or reduce");
  }
  if (in_shares(kind) && chunks % ranks != 0) {
    return std::pair<std::string, std::string>(
        std::to_string(chunks) + " chunks cannot be shared out evenly over " + std::to_string(ranks) + " ranks",
        "a multiple of the ranks");
  }
  if (std::int64_t{chunks} * ranks > most_chunks_of_all_ranks) {
    return std::pair<std::string, std::string>(
        std::to_string(ranks) + " ranks with " + std::to_string(chunks) + " chunks each are too many to follow",
        "at most " + std::to_string(most_chunks_of_all_ranks) + " chunks over all ranks");
  }
  return std::nullopt;
}

ChunkNumber Promise::all_chunks() const {
  return kind_ == Kind::all_to_all ? ChunkNumber{chunks_} * ranks_ : ChunkNumber{chunks_};
}

std::int32_t Promise::input_chunks(MemberId rank) const {
  if (kind_ == Kind::broadcast) return rank == 0 ? chunks_ : 0;
  return kind_ == Kind::all_gather ? share() : chunks_;
}

std::int32_t Promise::output_chunks(MemberId rank) const {
  if (kind_ == Kind::reduce) return rank == 0 ? chunks_ : 0;
  return kind_ == Kind::reduce_scatter ? share() : chunks_;
}

ChunkNumber Promise::input(MemberId rank, std::int32_t place) const {
  if (kind_ == Kind::all_to_all) return ChunkNumber{rank} * chunks_ + place;
  return kind_ == Kind::all_gather ? ChunkNumber{rank} * share() + place : ChunkNumber{place};
}

ChunkNumber Promise::output(MemberId rank, std::int32_t place) const {
  if (kind_ == Kind::all_to_all) return ChunkNumber{place / share()} * chunks_ + rank * share() + place % share();
  return kind_ == Kind::reduce_scatter ? ChunkNumber{rank} * share() + place : ChunkNumber{place};
}

ContentId Promise::given(MemberId rank, std::int32_t place, Contributions& contents) const {
  const auto number = input(rank, place) * ranks_ + rank;
  return contents.inputs(number, number);
}

ContentId Promise::promised(MemberId rank, std::int32_t place, Contributions& contents) const {
  const auto first = output(rank, place) * ranks_;
  if (adds_up(kind_)) return contents.inputs(first, first + ranks_ - 1);
  const MemberId source = kind_ == Kind::broadcast ? 0 : place / share();
  return contents.inputs(first + source, first + source);
}

std::string Promise::why_differs(const Content& found, const Content& promised) const {
  if (found.empty()) return "is never written";
  for (auto input = promised.front().first; input <= promised.front().last; ++input) {
    const auto count = count_of(found, input);
    const auto rank = std::to_string(input % ranks_);
    if (count == 0) return "lacks the contribution of rank " + rank;
    if (count > 1) return "counts the contribution of rank " + rank + " " + std::to_string(count) + " times";
  }
  for (const auto& run : found) {
    const auto other = run.first < promised.front().first ? run.first : run.last;
    if (other >= promised.front().first && other <= promised.front().last) continue;
    const auto place = kind_ == Kind::all_to_all ? other / ranks_ % chunks_ : other / ranks_;
    return "has rank " + std::to_string(other % ranks_) + "'s chunk " + std::to_string(place) + " in it";
  }
  return "has something else in it";
}

void Promise::check(const std::function<ContentId(MemberId rank, std::int32_t place)>& found, Contributions& contents,
                    const Location& where, Problems& problems) const {
  std::size_t wrong = 0;
  Problem first{where, "", "", ""};
  for (MemberId rank = 0; rank < ranks_; ++rank) {
    for (std::int32_t place = 0; place < output_chunks(rank); ++place) {
      const auto want = promised(rank, place, contents), have = found(rank, place);
      if (have == want || ++wrong > 1) continue;
      first.what = "chunk " + std::to_string(place) + " of the output of rank " + std::to_string(rank) + " " +
                   why_differs(contents[have], contents[want]);
      first.expected = adds_up(kind_) ? "the contribution of every rank exactly once"
                                      : "the chunk of rank " +
                                            std::to_string(kind_ == Kind::broadcast ? 0 : place / share()) + " alone";
    }
  }
  if (wrong == 0) return;
  if (wrong > 1)
    first.what += ", and " + std::to_string(wrong - 1) + " more chunk" +
                  (wrong == 2 ? " of outputs is" : "s of outputs are") + " not what " +
                  std::string(workloads::name(kind_)) + " promises";
  problems.add(std::move(first));
}

}  // namespace lockstep::collectives
