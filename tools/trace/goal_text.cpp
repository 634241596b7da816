// Grammar: spcl/atlahs 8837294, sim/LogGOPSim/txt2bin.re.
#include "tools/trace/goal_text.hpp"

#include <algorithm>
#include <cmath>

#include "sim/engine/engine.hpp"
#include "sim/program/fold.hpp"
#include "tools/trace/goal_messages.hpp"
#include "tools/trace/step_of_ranks.hpp"

namespace lockstep::trace {
namespace {

using program::ProgramOp;
using program::ProgramOpId;
using program::StreamId;

constexpr std::int64_t most_lines = 20'000'000;
constexpr std::int32_t most_cpus = 256;

[[noreturn]] void refuse(std::string what, std::string expected) {
  throw ConfigError({{{"--goal", 0, 0}, "", std::move(what), std::move(expected)}});
}

class Writing {
 public:
  Writing(const scenario::Scenario& scenario, const preparation::PreparedStep& preparation, spdlog::logger& log)
      : step_(preparation.step), ranks_(scenario, preparation, "--goal"), program_(ranks_.program()) {
    if (std::ssize(program_.streams) > most_cpus)
      refuse("the step has " + std::to_string(program_.streams.size()) + " streams", "at most 256");
    count_lines();
    const auto folded = fold(program_);
    const auto ran = engine::run(folded.program, {engine::EngineKind::reference, {}, false}, log);
    class_of_rank_ = folded.ranks.class_of_rank;
    for (std::int32_t lane = 0; lane < folded.ranks.count(); ++lane)
      order_.push_back(order_of(folded.ranks.representative[lane], lane, ran.timeline));
  }

  [[nodiscard]] std::int32_t ranks() const { return ranks_.ranks(); }

  /// The ranks in the order of their numbers, as the format wants them.
  [[nodiscard]] std::vector<topologies::RankId> by_number() const {
    std::vector<topologies::RankId> list(position_of(ranks_.ranks()));
    for (topologies::RankId rank = 0; rank < ranks_.ranks(); ++rank) list[position_of(ranks_.number_of(rank))] = rank;
    return list;
  }

  [[nodiscard]] std::string text_of(topologies::RankId rank) const {
    std::string text = "rank " + std::to_string(ranks_.number_of(rank)) + " {\n";
    Indexed<StreamId, ProgramOpId> last(program_.streams.size(), -1);
    for (const auto id : order_[class_of_rank_[rank]]) {
      const auto& op = program_.ops[id];
      const auto first = operation(id, rank, text);
      std::vector<ProgramOpId> before;
      for (const auto other : op.predecessors) {
        if (ranks_.takes_part(other, rank)) before.push_back(other);
      }
      for (const auto stream : op.streams) {
        if (const auto other = std::exchange(last[stream], id); other >= 0) before.push_back(other);
      }
      std::sort(before.begin(), before.end());
      before.erase(std::unique(before.begin(), before.end()), before.end());
      for (const auto& label : first) {
        for (const auto other : before) text += label + " requires e" + std::to_string(other) + "\n";
      }
    }
    return text + "}\n";
  }

  [[nodiscard]] std::string left_out() const {
    std::string text;
    if (ranks_.launches_or_shares())
      text += "GOAL holds neither the host's launches nor that kernels slow down beside collectives.\n";
    const bool copies = std::any_of(program_.ops.begin(), program_.ops.end(), [&](const ProgramOp& op) {
      return op.kind == ProgramOp::Kind::collective && step_.op(op.vertex)->copies.each > 1;
    });
    if (copies) text += "In GOAL a token goes to each of its experts by itself, also where they share a node.\n";
    return text;
  }

 private:
  /// What a rank does, by when it began: whatever waits for an operation began after it.
  [[nodiscard]] std::vector<ProgramOpId> order_of(topologies::RankId rank, std::int32_t lane,
                                                  const timeline::Timeline& timeline) const {
    std::vector<ProgramOpId> order;
    for (const auto id : program_.ops.ids()) {
      if (ranks_.takes_part(id, rank)) order.push_back(id);
    }
    std::stable_sort(order.begin(), order.end(), [&](ProgramOpId a, ProgramOpId b) {
      return timeline.span(a, lane).start < timeline.span(b, lane).start;
    });
    return order;
  }

  [[nodiscard]] std::vector<GoalStep> steps_of(const ProgramOp& op, std::int32_t members, std::int32_t place) const {
    const auto& vertex = step_.op(op.vertex);
    const bool one_way = vertex->collective == workloads::CollectiveKind::point_to_point;
    if (vertex.other_stage < 0 || !one_way)
      return goal_steps(vertex->collective, vertex->full_size, vertex.other_stage >= 0, members, place);
    return {};  // written by transfer()
  }

  void count_lines() const {
    std::int64_t lines = 0;
    for (const auto& op : program_.ops) {
      const auto& vertex = step_.op(op.vertex);
      if (StepOfRanks::is_timed(op, vertex)) {
        lines += program_.ranks();
      } else {
        for (const auto& group : program_.communicators[op.communicator].groups) {
          const auto members = static_cast<std::int32_t>(group.members.size());
          lines += std::int64_t{members} * (2 + 4 * std::ssize(steps_of(op, members, 0)));
        }
      }
      if (lines > most_lines)
        refuse("the step has more than 20 million operations and messages of all ranks", "fewer ranks or microbatches");
    }
  }

  /// Writes an operation, at whose end label e stands. Returns the labels of those of its parts that wait for what
  /// comes before it.
  [[nodiscard]] std::vector<std::string> operation(ProgramOpId id, topologies::RankId rank, std::string& text) const {
    const auto& op = program_.ops[id];
    const auto& vertex = step_.op(op.vertex);
    const auto cpu = " cpu " + std::to_string(op.streams.front());
    const auto end = "e" + std::to_string(id);
    if (StepOfRanks::is_timed(op, vertex)) {
      const auto time = ranks_.time_of(op, vertex, rank);
      text += end + ": calc " + std::to_string(std::llround(time.value() * 1e9)) + cpu + "\n";
      return {end};
    }
    const auto& members = ranks_.members(op, rank);
    const auto number = [&](std::int32_t place) {
      return std::to_string(ranks_.number_of(members[position_of(place)]));
    };
    const auto place = static_cast<std::int32_t>(std::find(members.begin(), members.end(), rank) - members.begin());
    const auto tag = " tag " + std::to_string(id) + cpu + "\n";
    if (vertex.other_stage >= 0 && vertex->collective == workloads::CollectiveKind::point_to_point) {
      const bool sends = program_.stage_of_rank[rank] == vertex.stage;
      text += end + (sends ? ": send " : ": recv ") +
              std::to_string(std::max<std::int64_t>(1, vertex->full_size.value())) + "b " + (sends ? "to " : "from ") +
              number(place == 0 ? 1 : 0) + tag;
      return {end};
    }
    const auto steps = steps_of(op, static_cast<std::int32_t>(members.size()), place);
    std::vector<std::string> first, parts;
    for (std::size_t step = 0; step < steps.size(); ++step) {
      const auto& now = steps[step];
      auto waits = std::exchange(parts, {});
      const auto part = [&](const std::string& letter, const std::string& what) {
        const auto label = letter + std::to_string(id) + "_" + std::to_string(step);
        text += label + what + tag;
        for (const auto& before : waits) text += label + " requires " + before + "\n";
        parts.push_back(label);
      };
      if (now.to >= 0) part("s", ": send " + std::to_string(now.sent) + "b to " + number(now.to));
      if (now.from >= 0) part("r", ": recv " + std::to_string(now.received) + "b from " + number(now.from));
      if (step == 0) first = parts;
    }
    text += end + ": calc 0" + cpu + "\n";
    for (const auto& part : parts) text += end + " requires " + part + "\n";
    if (first.empty()) first.push_back(end);
    return first;
  }

  const workloads::StepGraph& step_;
  StepOfRanks ranks_;
  const program::Program& program_;
  Indexed<topologies::RankId, program::RankClassId> class_of_rank_;
  Indexed<program::RankClassId, std::vector<ProgramOpId>> order_;
};

}  // namespace

std::string write_goal(output::NewFiles& files, const std::filesystem::path& file, const scenario::Scenario& scenario,
                       const preparation::PreparedStep& preparation, spdlog::logger& log) {
  const Writing writing(scenario, preparation, log);
  auto& made = files.open(file);
  made.write("num_ranks " + std::to_string(writing.ranks()) + "\n");
  for (const auto rank : writing.by_number()) made.write(writing.text_of(rank));
  return writing.left_out();
}

}  // namespace lockstep::trace
