#include <algorithm>
#include <set>

#include "workloads/sharding/derive.hpp"

namespace lockstep {
namespace {

bool contains(const AxisNames& list, const std::string& axis) {
  return std::find(list.begin(), list.end(), axis) != list.end();
}

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
    reorder();
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
        throw ShardingError("", to_.to_string() + " has other dimensions than " + now_.to_string(), "the same dimensions");
      }
    }
  }

  void reduce_scatter() {
    AxisNames axes;
    for (const auto& axis : now_.partial) {
      if (to_.sharded_by(axis) != nullptr) axes.push_back(axis);
    }
    if (axes.empty()) return;
    auto after = now_;
    remove(after.partial, axes);
    for (const auto& axis : axes) after.find(to_.sharded_by(axis)->name)->axes.push_back(axis);
    order_as_wanted(after);
    step(CollectiveKind::reduce_scatter, axes, after, times(sizes_.local_elements(after) * sizes_.product(axes), element_),
         "partial sum over " + subscript(axes) + ", wanted sharded over it");
  }

  void slice() {
    for (const auto& wanted : to_.dims) {
      for (const auto& axis : wanted.axes) {
        if (now_.sharded_by(axis) == nullptr && !now_.is_partial_over(axis)) now_.find(wanted.name)->axes.push_back(axis);
      }
    }
    order_as_wanted(now_);
  }

  void exchange() {
    AxisNames axes;
    auto after = now_;
    for (auto& dim : now_.dims) {
      for (const auto& axis : dim.axes) {
        const auto* wanted = to_.sharded_by(axis);
        if (wanted == nullptr || wanted->name == dim.name) continue;
        axes.push_back(axis);
        remove(after.find(dim.name)->axes, {axis});
        after.find(wanted->name)->axes.push_back(axis);
      }
    }
    if (axes.empty()) return;
    order_as_wanted(after);
    step(CollectiveKind::all_to_all, axes, after, times(sizes_.local_elements(now_) * sizes_.product(axes), element_),
         subscript(axes) + " moves to another dimension");
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
    const auto full = times(sizes_.local_elements(now_) * sizes_.product(axes), element_);
    step(CollectiveKind::all_gather, axes, gathered(now_, axes), full, "wanted whole along " + subscript(axes));
  }

  /// The same axes in another order are another layout: every shard changes its place.
  void reorder() {
    AxisNames axes;
    for (const auto& dim : now_.dims) {
      const auto& wanted = to_.find(dim.name)->axes;
      for (std::size_t i = 0; i < wanted.size(); ++i) {
        if (dim.axes[i] != wanted[i]) axes.push_back(wanted[i]);
      }
    }
    if (axes.empty()) return;
    auto after = to_;
    after.name = now_.name;
    step(CollectiveKind::all_to_all, axes, after, times(sizes_.local_elements(now_) * sizes_.product(axes), element_),
         "the axes " + subscript(axes) + " stand in another order");
  }

  /// New axes may go in at any place of the order for free; those that were there before keep theirs.
  void order_as_wanted(ShardedTensor& tensor) const {
    for (auto& dim : tensor.dims) {
      const auto& wanted = to_.find(dim.name)->axes;
      AxisNames before;
      for (const auto& axis : now_.find(dim.name)->axes) {
        if (contains(dim.axes, axis)) before.push_back(axis);
      }
      AxisNames in_wanted_order;
      for (const auto& axis : wanted) {
        if (contains(dim.axes, axis)) in_wanted_order.push_back(axis);
      }
      AxisNames kept = in_wanted_order;
      std::erase_if(kept, [&](const auto& axis) { return !contains(before, axis); });
      if (in_wanted_order.size() == dim.axes.size() && kept == before) dim.axes = in_wanted_order;
    }
  }

  void step(CollectiveKind kind, AxisNames axes, ShardedTensor after, Bytes full_size, std::string reason) {
    steps_.push_back({kind, std::move(axes), now_, after, full_size, std::move(reason)});
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

std::vector<DerivedCollective> settle(const ShardedTensor& from, const ShardedTensor& to, const Sizes& sizes, Bytes element) {
  return Settling(from, to, sizes, element).run();
}

}  // namespace lockstep
