// A step as GOAL, read back with the grammar of its readers: num_ranks, rank blocks, LABEL: send|recv|calc, and
// LABEL requires LABEL.
#include "tools/trace/goal_text.hpp"

#include <gmock/gmock.h>
#include <spdlog/logger.h>

#include <map>
#include <sstream>

#include "sim/engine/engine.hpp"
#include "tests/unit/trace/simulated.hpp"

namespace lockstep {
namespace {

struct GoalOp {
  std::string kind;
  std::int64_t size = 0, peer = -1, tag = 0, cpu = 0;
  std::vector<std::string> after;
};
using Graph = std::map<std::string, GoalOp>;

std::int64_t number(const std::string& text) {
  std::size_t end = 0;
  const auto value = std::stoll(text, &end);
  EXPECT_TRUE(end == text.size() || text.substr(end) == "b") << text;
  return value;
}

std::vector<Graph> parse(const std::string& text) {
  std::vector<Graph> ranks;
  std::istringstream lines(text);
  std::string line;
  std::getline(lines, line);
  const auto count = number(line.substr(std::string("num_ranks ").size()));
  bool open = false;
  while (std::getline(lines, line)) {
    std::istringstream in(line);
    std::vector<std::string> words;
    for (std::string word; in >> word;) words.push_back(word);
    if (words.at(0) == "rank") {
      EXPECT_EQ(number(words.at(1)), static_cast<std::int64_t>(ranks.size())) << "in order";
      ranks.emplace_back();
      open = true;
    } else if (words.at(0) == "}") {
      open = false;
    } else if (words.at(1) == "requires") {
      ranks.back().at(words[0]).after.push_back(words.at(2));
      EXPECT_TRUE(ranks.back().contains(words.at(2))) << line << ": labels stand before they are used";
    } else {
      EXPECT_TRUE(open);
      EXPECT_EQ(words[0].back(), ':') << line;
      GoalOp op;
      op.kind = words.at(1);
      op.size = number(words.at(2));
      for (std::size_t i = 3; i + 1 < words.size(); i += 2) {
        if (words[i] == "to" || words[i] == "from") op.peer = number(words[i + 1]);
        if (words[i] == "tag") op.tag = number(words[i + 1]);
        if (words[i] == "cpu") op.cpu = number(words[i + 1]);
      }
      EXPECT_TRUE(op.kind == "send" || op.kind == "recv" || op.kind == "calc") << line;
      EXPECT_TRUE(ranks.back().emplace(words[0].substr(0, words[0].size() - 1), op).second) << "a label for each";
    }
  }
  EXPECT_EQ(static_cast<std::int64_t>(ranks.size()), count);
  return ranks;
}

struct Goal {
  explicit Goal(const std::string& scenario) : simulated(scenario, false) {
    spdlog::logger log("test");
    const auto folder = scratch("goal");
    std::filesystem::create_directories(folder);
    output::NewFiles files;
    prepared.emplace(preparation::prepare_step(simulated.scenario));
    (void)trace::write_goal(files, folder / "step.goal", simulated.scenario, *prepared, log);
    files.finish();
    ranks = parse(bytes_of(folder / "step.goal"));
  }
  Simulated simulated;
  std::optional<preparation::PreparedStep> prepared;
  std::vector<Graph> ranks;
};

using Messages = std::map<std::tuple<std::int64_t, std::int64_t, std::int64_t>, std::vector<std::int64_t>>;

/// When the last rank ends if messages take no time; -1 if operations wait for each other in a circle. Of the messages
/// of a pair under a tag the k-th sent is the k-th received.
std::int64_t makespan(const std::vector<Graph>& ranks) {
  using Node = std::pair<std::int64_t, std::string>;
  std::map<std::tuple<std::int64_t, std::int64_t, std::int64_t>, std::map<std::int64_t, std::string>> sends, receives;
  std::map<Node, std::vector<Node>> followers;
  std::map<Node, std::size_t> waits;
  const auto edge = [&](const Node& before, const Node& after) {
    followers[before].push_back(after);
    ++waits[after];
  };
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    const auto here = static_cast<std::int64_t>(rank);
    for (const auto& [label, op] : ranks[rank]) {
      waits[{here, label}] += 0;
      for (const auto& before : op.after) edge({here, before}, {here, label});
      const auto mark = label.find('_');
      const auto step = mark == std::string::npos ? 0 : number(label.substr(mark + 1));
      if (op.kind == "send") sends[{here, op.peer, op.tag}][step] = label;
      if (op.kind == "recv") receives[{op.peer, here, op.tag}][step] = label;
    }
  }
  for (const auto& [key, messages] : sends) {
    auto received = receives.at(key).begin();
    for (const auto& [step, label] : messages)
      edge({std::get<0>(key), label}, {std::get<1>(key), (received++)->second});
  }
  std::vector<Node> ready;
  for (const auto& [node, count] : waits) {
    if (count == 0) ready.push_back(node);
  }
  std::map<Node, std::int64_t> start;
  std::int64_t last = 0;
  std::size_t done = 0;
  for (; !ready.empty(); ++done) {
    const auto node = ready.back();
    ready.pop_back();
    const auto& op = ranks[static_cast<std::size_t>(node.first)].at(node.second);
    const auto end = start[node] + (op.kind == "calc" ? op.size : 0);
    last = std::max(last, end);
    for (const auto& after : followers[node]) {
      start[after] = std::max(start[after], end);
      if (--waits[after] == 0) ready.push_back(after);
    }
  }
  return done == waits.size() ? last : -1;
}

// What every pair sends under a tag is what it receives; nothing waits for itself, so that all ranks come to their end;
// and without a network the step takes as long as its computations in their order, at most the whole step.
TEST(GoalText, SendsMeetReceivesAndAllEnds) {
  for (const std::string scenario : {"trace_fsdp.yaml", "pipeline_alike.yaml", "pipeline_early_receive.yaml"}) {
    const Goal made(scenario);
    EXPECT_EQ(static_cast<std::int32_t>(made.ranks.size()), made.simulated.scenario.chips());
    Messages sent, received;
    for (std::size_t rank = 0; rank < made.ranks.size(); ++rank) {
      const auto here = static_cast<std::int64_t>(rank);
      for (const auto& [label, op] : made.ranks[rank]) {
        if (op.kind == "send") sent[{here, op.peer, op.tag}].push_back(op.size);
        if (op.kind == "recv") received[{op.peer, here, op.tag}].push_back(op.size);
      }
    }
    EXPECT_FALSE(sent.empty());
    ASSERT_EQ(sent.size(), received.size());
    for (auto& [key, sizes] : sent) {
      auto& others = received[key];
      std::sort(sizes.begin(), sizes.end());
      std::sort(others.begin(), others.end());
      EXPECT_EQ(sizes, others);
    }
    const auto time = makespan(made.ranks);
    ASSERT_GT(time, 0) << scenario << ": ranks wait for each other in a circle";
    const auto step = made.simulated.simulation.metrics.step_time.value() * 1e9;
    EXPECT_LE(static_cast<double>(time), step * (1 + 1e-6));
    std::int64_t computed = 0;
    for (const auto& [label, op] : made.ranks[0]) computed += op.cpu == 0 && op.kind == "calc" ? op.size : 0;
    EXPECT_GE(time, computed);
  }
}

// All-gathers and reduce-scatters of V over n ranks send V (n - 1) / n from each.
TEST(GoalText, BytesOfTheStep) {
  const Goal made("trace_fsdp.yaml");
  double expected = 0;
  const auto& step = made.prepared->step;
  for (workloads::OpId id = 0; id < step.size(); ++id) {
    const auto& vertex = step.op(id);
    if (vertex->kind != workloads::StepOp::Kind::collective || vertex->given_time) continue;
    ASSERT_TRUE(vertex->collective == workloads::CollectiveKind::all_gather ||
                vertex->collective == workloads::CollectiveKind::reduce_scatter);
    expected += static_cast<double>(vertex->full_size.value()) * 63 / 64;
  }
  std::int64_t sent = 0;
  for (const auto& [label, op] : made.ranks[5]) sent += op.kind == "send" ? op.size : 0;
  EXPECT_NEAR(static_cast<double>(sent) / expected, 1, 1e-6);
}

}  // namespace
}  // namespace lockstep
