#include <algorithm>
#include <array>

#include "workloads/replay/replay_private.hpp"

namespace lockstep::workloads {
namespace {

bool shares_compute(const ReplayOp& op) { return op.stream.empty(); }

class PairReader {
 public:
  PairReader(const std::vector<ReplayOp>& forward, const std::vector<ReplayOp>& backward)
      : passes_{&forward, &backward},
        done_{std::vector<bool>(forward.size(), false), std::vector<bool>(backward.size(), false)} {}

  std::vector<PairTurn> read(const YamlView& list) {
    put_in_ready();
    for (const auto& name : list.items()) turn(name);
    if (!list.is_list()) return {};
    for (const auto pass : both) {
      for (std::size_t step = 0; step < passes_[pass]->size(); ++step) {
        const auto& op = (*passes_[pass])[step];
        if (shares_compute(op) && !done_[pass][step])
          list.problem("'" + op.name + "' is missing", "all operations of the compute stream");
      }
    }
    return std::move(turns_);
  }

 private:
  static constexpr std::array<std::size_t, 2> both{0, 1};  // forward, backward

  void turn(const YamlView& name) {
    int found = 0;
    std::size_t pass = 0, step = 0;
    for (const auto each : both) {
      for (std::size_t i = 0; i < passes_[each]->size(); ++i) {
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

  [[nodiscard]] bool ready(std::size_t pass, std::size_t step) const {
    const auto& after = (*passes_[pass])[step].after;
    return std::all_of(after.begin(), after.end(), [&](int before) {
      return before == BlockStep::outside || done_[pass][static_cast<std::size_t>(before)];
    });
  }

  void put(std::size_t pass, std::size_t step) {
    done_[pass][step] = true;
    turns_.push_back({pass == 0, static_cast<int>(step)});
  }

  /// Other streams run beside the compute stream; steps wait only for earlier ones, so one round finds all.
  void put_in_ready() {
    for (const auto pass : both) {
      for (std::size_t step = 0; step < passes_[pass]->size(); ++step) {
        if (!done_[pass][step] && !shares_compute((*passes_[pass])[step]) && ready(pass, step)) put(pass, step);
      }
    }
  }

  std::array<const std::vector<ReplayOp>*, 2> passes_;
  std::array<std::vector<bool>, 2> done_;
  std::vector<PairTurn> turns_;
};

}  // namespace

std::vector<PairTurn> read_replay_pair(const YamlView& list, const std::vector<ReplayOp>& forward,
                                       const std::vector<ReplayOp>& backward) {
  return PairReader(forward, backward).read(list);
}

}  // namespace lockstep::workloads
