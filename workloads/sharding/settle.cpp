#include <algorithm>

#include "workloads/sharding/axis_digits.hpp"
#include "workloads/sharding/bounded_elements.hpp"
#include "workloads/sharding/derive.hpp"

namespace lockstep::workloads {
namespace {

void remove(AxisNames& list, const AxisNames& gone) {
  std::erase_if(list, [&](const auto& axis) { return contains(gone, axis); });
}

Bytes times(std::int64_t elements, Bytes element) { return element * elements; }

/// Walks one array from sharding to sharding, one collective at a time.
class Settling {
 public:
  Settling(ShardedTensor from, const ShardedTensor& to, const Sizes& sizes, Bytes element)
      : now_(std::move(from)), to_(to), sizes_(sizes), element_(element) {}

  std::vector<DerivedCollective> run() {
    refuse_what_cannot_be();
    reduce_scatter();
    slice();
    exchange();
    all_reduce();
    all_gather();
    return std::move(steps_);
  }

 private:
  void refuse_what_cannot_be() const {
    for (const auto& axis : to_.partial) {
      if (!now_.is_partial_over(axis)) {
        throw ShardingError(axis, to_.to_string() + " wants a partial sum over " + axis + " that does not arise",
                            "the axis to shard the contracted dimension on both sides");
      }
    }
    for (const auto& dim : now_.dims) {
      if (to_.find(dim.name) == nullptr || now_.dims.size() != to_.dims.size()) {
        throw ShardingError("", to_.to_string() + " has other dimensions than " + now_.to_string(),
                            "the same dimensions");
      }
    }
  }

  void reduce_scatter() {
    if (now_.partial.empty()) return;
    AxisNames axes;
    auto after = now_;
    remove(after.partial, wanted_axes());
    for (const auto& wanted : to_.dims) {
      for (const auto& axis : wanted.axes) {
        if (!now_.is_partial_over(axis)) continue;
        axes.push_back(axis);
        after.find(wanted.name)->axes.push_back(axis);
      }
    }
    if (axes.empty()) return;
    step(CollectiveKind::reduce_scatter, axes, after,
         times(bounded_elements(sizes_.local_elements(after), sizes_.product(axes), after.name), element_),
         "partial sum over " + subscript(axes) + ", wanted sharded over it");
  }

  /// A new axis cuts what a rank holds, so it comes innermost.
  void slice() {
    for (const auto& wanted : to_.dims) {
      for (const auto& axis : wanted.axes) {
        if (now_.sharded_by(axis) == nullptr) now_.find(wanted.name)->axes.push_back(axis);
      }
    }
  }

  /// All wanted axes to their places; those still to be gathered stay innermost, where gathering leaves blocks.
  void exchange() {
    auto after = now_;
    AxisNames axes;
    bool moves = false;
    for (auto& dim : after.dims) {
      const auto before = dim.axes;
      dim.axes = to_.find(dim.name)->axes;
      for (const auto& axis : before) {
        if (to_.sharded_by(axis) == nullptr) dim.axes.push_back(axis);
      }
      for (const auto& axis : rearranged(before, dim.axes)) {
        if (!contains(axes, axis)) axes.push_back(axis);
        moves = moves || !contains(before, axis);
      }
    }
    if (axes.empty()) return;
    step(CollectiveKind::all_to_all, axes, after,
         times(bounded_elements(sizes_.local_elements(now_), sizes_.product(axes), now_.name), element_),
         subscript(axes) + (moves ? " moves to another dimension" : " stands in another order"));
  }

  /// The axes whose ranks exchange data when a dimension's axes change from one list to the other:
  /// outer axes that stay keep the data inside their block, inner ones only if the blocks they cut stay as large.
  static AxisNames rearranged(const AxisNames& before, const AxisNames& after) {
    const auto [first, first_after] = std::mismatch(before.begin(), before.end(), after.begin(), after.end());
    AxisNames out(first, before.end());
    AxisNames in(first_after, after.end());
    if (std::is_permutation(out.begin(), out.end(), in.begin(), in.end())) {
      while (!out.empty() && out.back() == in.back()) {
        out.pop_back();
        in.pop_back();
      }
    }
    for (const auto& axis : in) {
      if (!contains(out, axis)) out.push_back(axis);
    }
    return out;
  }

  void all_reduce() {
    AxisNames axes;
    for (const auto& axis : now_.partial) {
      if (!to_.is_partial_over(axis)) axes.push_back(axis);
    }
    if (axes.empty()) return;
    auto after = now_;
    remove(after.partial, axes);
    step(CollectiveKind::all_reduce, axes, after, times(sizes_.local_elements(now_), element_),
         "partial sum over " + subscript(axes) + ", wanted whole");
  }

  void all_gather() {
    AxisNames axes;
    for (const auto& dim : now_.dims) {
      for (const auto& axis : dim.axes) {
        if (to_.sharded_by(axis) == nullptr) axes.push_back(axis);
      }
    }
    if (axes.empty()) return;
    const auto full = times(bounded_elements(sizes_.local_elements(now_), sizes_.product(axes), now_.name), element_);
    step(CollectiveKind::all_gather, axes, gathered(now_, axes), full, "wanted whole along " + subscript(axes));
  }

  [[nodiscard]] AxisNames wanted_axes() const {
    AxisNames all;
    for (const auto& dim : to_.dims) all.insert(all.end(), dim.axes.begin(), dim.axes.end());
    return all;
  }

  void step(CollectiveKind kind, AxisNames axes, ShardedTensor after, Bytes full_size, std::string reason) {
    steps_.push_back({kind, whole_axes(std::move(axes)), now_, after, full_size, std::move(reason)});
    now_ = std::move(after);
  }

  ShardedTensor now_;
  const ShardedTensor& to_;
  const Sizes& sizes_;
  Bytes element_;
  std::vector<DerivedCollective> steps_;
};

}  // namespace

std::string DerivedCollective::to_string() const {
  return std::string(book_name(kind)) + "_" + subscript(axes) + " " + before.to_string() + " -> " + after.to_string();
}

ShardedTensor gathered(ShardedTensor tensor, const AxisNames& axes) {
  for (auto& dim : tensor.dims) remove(dim.axes, axes);
  return tensor;
}

std::vector<DerivedCollective> settle(const ShardedTensor& from, const ShardedTensor& to, const Sizes& sizes,
                                      Bytes element) {
  if (from.same_sharding(to)) return {};
  return Settling(from, to, sizes, element).run();
}

}  // namespace lockstep::workloads
