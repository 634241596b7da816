#include <algorithm>
#include <array>

#include "workloads/replay/replay_private.hpp"

namespace lockstep::workloads {
namespace {

bool shares_compute(const ReplayOp& op) { return op.stream.empty(); }

class PairReader {
 public:
  PairReader(const ReplayOps& forward, const ReplayOps& backward)
      : passes_{&forward, &backward}, done_{Done(forward.size(), false), Done(backward.size(), false)} {}

  std::vector<PairTurn> read(const YamlView& list) {
    put_in_ready();
    for (const auto& name : list.items()) turn(name);
    if (!list.is_list()) return {};
    for (const auto pass : both) {
      for (const BlockStepId step : passes_[pass]->ids()) {
        const auto& op = (*passes_[pass])[step];
        if (shares_compute(op) && !done_[pass][step])
          list.problem("'" + op.name + "' is missing", "all operations of the compute stream");
      }
    }
    return std::move(turns_);
  }

 private:
  using Done = Indexed<BlockStepId, bool>;
  static constexpr std::array<std::size_t, 2> both{0, 1};  // forward, backward

  void turn(const YamlView& name) {
    int found = 0;
    std::size_t pass = 0;
    BlockStepId step = 0;
    for (const auto each : both) {
      for (const BlockStepId i : passes_[each]->ids()) {
        const auto& op = (*passes_[each])[i];
        if (!shares_compute(op) || op.name != name.text()) continue;
        ++found;
        pass = each;
        step = i;
      }
    }
    if (found == 0)
      return name.problem("no operation of the compute stream is called '" + name.text() + "'",
                          "one of the forward or the backward");
    if (found == 2)
      return name.problem("'" + name.text() + "' is in the forward and in the backward", "names that differ");
    if (done_[pass][step]) return name.problem("'" + name.text() + "' is there twice", "each operation once");
    if (!ready(pass, step))
      name.problem("'" + name.text() + "' waits for an operation that comes later",
                   "an order in which nothing waits for what follows");
    put(pass, step);
    put_in_ready();
  }

  [[nodiscard]] bool ready(std::size_t pass, BlockStepId step) const {
    const auto& after = (*passes_[pass])[step].after;
    return std::all_of(after.begin(), after.end(),
                       [&](int before) { return before == BlockStep::outside || done_[pass][before]; });
  }

  void put(std::size_t pass, BlockStepId step) {
    done_[pass][step] = true;
    turns_.push_back({pass == 0, step});
  }

  /// Other streams run beside the compute stream; steps wait only for earlier ones, so one round finds all.
  void put_in_ready() {
    for (const auto pass : both) {
      for (const BlockStepId step : passes_[pass]->ids()) {
        if (!done_[pass][step] && !shares_compute((*passes_[pass])[step]) && ready(pass, step)) put(pass, step);
      }
    }
  }

  std::array<const ReplayOps*, 2> passes_;
  std::array<Done, 2> done_;
  std::vector<PairTurn> turns_;
};

}  // namespace

std::vector<PairTurn> read_replay_pair(const YamlView& list, const ReplayOps& forward, const ReplayOps& backward) {
  return PairReader(forward, backward).read(list);
}

}  // namespace lockstep::workloads
