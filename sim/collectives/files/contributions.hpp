#pragma once
/// What a chunk holds, as a symbol: which ranks' inputs have been added up in it, and how often each.
#include <compare>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "sim/core/errors.hpp"

namespace lockstep::collectives {

using ContentId = std::int32_t;          ///< of a content that a Contributions knows; equal contents have equal ids
inline constexpr ContentId nothing = 0;  ///< a chunk that nobody has written

/// Inputs that follow one another, each added up `count` times. An input's number is chunk x ranks + rank.
struct InputRun {
  std::int64_t first, last;
  std::int32_t count;
  friend auto operator<=>(const InputRun&, const InputRun&) = default;
};
using Content = std::vector<InputRun>;  ///< ascending, apart, and as few runs as possible

/// All contents of an execution, each once.
class Contributions {
 public:
  Contributions();
  [[nodiscard]] ContentId inputs(std::int64_t first, std::int64_t last);
  /// The content of two chunks added up.
  [[nodiscard]] ContentId sum(ContentId left, ContentId right);
  [[nodiscard]] const Content& operator[](ContentId id) const { return *by_id_[static_cast<std::size_t>(id)]; }
  /// Whether sums have taken more memory than an execution may; then sum() is `nothing`.
  [[nodiscard]] bool full() const;

 private:
  ContentId known(Content content);
  std::map<Content, ContentId> ids_;
  std::vector<const Content*> by_id_;
  std::map<std::pair<ContentId, ContentId>, ContentId> sums_;
  std::size_t summed_runs_ = 0;
};

}  // namespace lockstep::collectives
