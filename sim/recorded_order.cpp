#include "sim/recorded_order.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <tuple>

namespace lockstep {
namespace {

/// A chain of operations on one rank, or a collective in one group.
struct Instance {
  double start_s, end_s;
  engine::ChainId chain;
  std::int32_t index;
  double launched_since_s = 0;  ///< a chain: its launches count from then on
  friend bool operator<(const Instance& a, const Instance& b) {
    return std::tie(a.start_s, a.end_s, a.chain, a.index) < std::tie(b.start_s, b.end_s, b.chain, b.index);
  }
};

class Recorded {
 public:
  Recorded(const program::Program& program, const engine::Chains& chains, const timeline::Timeline& timeline)
      : program_(program), chains_(chains), timeline_(timeline), begin_(position_of(chains.count()) + 1, 0) {
    for (engine::ChainId chain = 0; chain < chains.count(); ++chain) {
      const auto& op = first(chain);
      begin_[position_of(chain) + 1] = begin_[position_of(chain)] + timeline.ranks_of(chains.first(chain)).size();
      if (op.kind == program::ProgramOp::Kind::compute) {
        for (const auto rank : timeline.ranks_of(chains.first(chain))) add(chain, rank, rank);
      } else {
        const auto& groups = program.communicators[op.communicator].groups;
        for (const auto group : groups.ids()) add(chain, group, groups[group].members.front());
      }
    }
    std::sort(instances_.begin(), instances_.end());
    std::map<topologies::RankId, double> waited_until_s;
    for (auto& instance : instances_) {
      const auto& op = first(instance.chain);
      if (op.kind != program::ProgramOp::Kind::compute) continue;
      auto& since_s = waited_until_s[instance.index];
      if (op.host_waits) since_s = instance.start_s;
      instance.launched_since_s = since_s;
    }
    node_of_.resize(begin_.back());
    for (std::size_t node = 0; node < instances_.size(); ++node) {
      for (const auto rank : members(instances_[node])) node_of_[place(instances_[node].chain, rank)] = node;
    }
  }

  [[nodiscard]] const std::vector<Instance>& instances() const { return instances_; }
  [[nodiscard]] const program::ProgramOp& first(engine::ChainId chain) const {
    return program_.ops[chains_.first(chain)];
  }
  [[nodiscard]] std::span<const topologies::RankId> members(const Instance& instance) const {
    const auto& op = first(instance.chain);
    if (op.kind == program::ProgramOp::Kind::compute) return {&instance.index, 1};
    return program_.communicators[op.communicator].groups[instance.index].members;
  }
  /// The node in which a rank runs an operation; it takes part.
  [[nodiscard]] std::size_t node_of(program::ProgramOpId op, topologies::RankId rank) const {
    return node_of_[place(chains_.of(op), rank)];
  }
  /// Time in which a chain has its stream and waits for the host.
  [[nodiscard]] double launching_s(const Instance& instance) const {
    double sum = 0;
    for (const auto op : chains_.members(instance.chain)) {
      const auto span = timeline_.simulated(op, instance.index);
      const auto launched = program_.on_chip_of(instance.index, program_.ops[op]).launched;
      sum +=
          std::clamp(instance.launched_since_s + (launched - span.start).value(), 0.0, (span.end - span.start).value());
    }
    return sum;
  }

 private:
  void add(engine::ChainId chain, std::int32_t index, topologies::RankId rank) {
    const auto of_chain = chains_.members(chain);
    instances_.push_back({timeline_.simulated(of_chain.front(), rank).start.value(),
                          timeline_.simulated(of_chain.back(), rank).end.value(), chain, index});
  }
  [[nodiscard]] std::size_t place(engine::ChainId chain, topologies::RankId rank) const {
    const auto ranks = timeline_.ranks_of(chains_.first(chain));
    return begin_[position_of(chain)] +
           static_cast<std::size_t>(std::lower_bound(ranks.begin(), ranks.end(), rank) - ranks.begin());
  }

  const program::Program& program_;
  const engine::Chains& chains_;
  const timeline::Timeline& timeline_;
  std::vector<Instance> instances_;
  std::vector<std::size_t> begin_;    // by chain, in node_of_
  std::vector<std::size_t> node_of_;  // by chain and place of a rank among those that run it
};

}  // namespace

void RecordedOrder::wait(std::size_t node, std::size_t earlier) {
  // Operations of no length at one instant may stand in another order than they ran; they end at that instant anyway.
  if (earlier >= node) return;
  const auto from = waits_.begin() + nodes_[node].first_wait;
  const auto number = static_cast<std::uint32_t>(earlier);
  if (std::find(from, waits_.end(), number) == waits_.end()) waits_.push_back(number);
}

RecordedOrder::RecordedOrder(const program::Program& program, const engine::Chains& chains,
                             const timeline::Timeline& timeline)
    : ranks_(position_of(program.ranks())) {
  const Recorded recorded(program, chains, timeline);
  const auto& instances = recorded.instances();
  constexpr std::size_t nobody = std::numeric_limits<std::size_t>::max();
  std::vector<std::size_t> last_on(ranks_ * program.streams.size(), nobody);
  std::map<std::pair<program::CommunicatorId, const collectives::Phase*>, std::size_t> known;
  std::vector<bool> is_awaited(instances.size(), false);
  nodes_.reserve(instances.size() + 1);
  for (std::size_t node = 0; node < instances.size(); ++node) {
    const auto& instance = instances[node];
    const auto& op = recorded.first(instance.chain);
    const double length_s = instance.end_s - instance.start_s;
    nodes_.push_back({static_cast<std::uint32_t>(waits_.size()), 0, 0, 0});
    for (const auto rank : recorded.members(instance)) {
      for (const auto before : op.predecessors) {
        if (timeline.took_part(before, rank)) wait(node, recorded.node_of(before, rank));
      }
      for (const auto stream : op.streams) {
        auto& last = last_on[position_of(rank) * program.streams.size() + position_of(stream)];
        if (last != nobody) wait(node, last);
        last = node;
      }
    }
    double ready_s = 0;
    for (auto at = waits_.begin() + nodes_[node].first_wait; at != waits_.end(); ++at) {
      ready_s = std::max(ready_s, instances[*at].end_s);
      is_awaited[*at] = true;
    }
    auto& made = nodes_[node];
    const double late_s = std::max(0.0, instance.start_s - ready_s);
    if (op.kind == program::ProgramOp::Kind::compute) {
      const double launching_s = recorded.launching_s(instance);
      made.variable = static_cast<std::uint32_t>(instance.index);
      made.fixed_s = static_cast<float>(late_s + launching_s);
      made.varied = static_cast<float>(length_s - launching_s);
    } else {
      const auto [shape, is_new] = known.try_emplace({op.communicator, op.phases.begin()}, shapes_.size());
      if (is_new) shapes_.push_back({op.communicator, op.phases});
      made.variable = static_cast<std::uint32_t>(ranks_ + shape->second);
      made.fixed_s = static_cast<float>(late_s + length_s);
      made.varied = 1;
    }
  }
  for (std::size_t node = 0; node < instances.size(); ++node) {
    if (!is_awaited[node]) last_.push_back(static_cast<std::uint32_t>(node));
  }
  nodes_.push_back({static_cast<std::uint32_t>(waits_.size()), 0, 0, 0});
}

void RecordedOrder::block(std::size_t steps, std::size_t from, const std::vector<float>& values,
                          std::vector<float>& ends, std::vector<double>& makespans) const {
  using Side = std::array<float, width>;
  std::vector<Side> own(variables());  // the values of these steps, next to each other
  const auto count = std::min(width, steps - from);
  for (std::size_t variable = 0; variable < own.size(); ++variable) {
    own[variable].fill(0);
    std::copy_n(values.begin() + static_cast<std::ptrdiff_t>(variable * steps + from), count, own[variable].begin());
  }
  for (std::size_t node = 0; node + 1 < nodes_.size(); ++node) {
    Side end{};
    for (auto at = nodes_[node].first_wait; at < nodes_[node + 1].first_wait; ++at) {
      const float* earlier = ends.data() + std::size_t{waits_[at]} * width;
      for (std::size_t i = 0; i < width; ++i) end[i] = end[i] < earlier[i] ? earlier[i] : end[i];
    }
    const auto& value = own[nodes_[node].variable];
    const float fixed_s = nodes_[node].fixed_s, varied = nodes_[node].varied;
    float* to = ends.data() + node * width;
    for (std::size_t i = 0; i < width; ++i) to[i] = end[i] + (fixed_s + varied * value[i]);
  }
  for (const auto node : last_) {
    for (std::size_t i = 0; i < count; ++i)
      makespans[from + i] = std::max(makespans[from + i], static_cast<double>(ends[std::size_t{node} * width + i]));
  }
}

std::vector<double> RecordedOrder::makespans(std::size_t steps, const std::vector<float>& values) const {
  std::vector<double> result(steps, 0.0);
  std::vector<float> ends(nodes_.size() * width);
  for (std::size_t from = 0; from < steps; from += width) block(steps, from, values, ends, result);
  return result;
}

double RecordedOrder::recorded() const {
  std::vector<float> values(ranks_, 1.0F);
  values.resize(variables(), 0.0F);
  return makespans(1, values).front();
}

}  // namespace lockstep
