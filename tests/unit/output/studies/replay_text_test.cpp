// A replayed job as text and as JSON: error = replayed / recorded - 1, and both say the same.
#include "tools/output/studies/replay_text.hpp"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "tests/unit/output/lines_of.hpp"

namespace lockstep::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using workloads::RecordedEvent;

workloads::RecordedJob job() {
  workloads::RecordedJob job;
  job.format = "Kineto";
  job.world = 4;
  job.guessed = {"Groups have their usual order."};
  job.missing = {"It has no sizes."};
  return job;
}

/// Rank 1 took 5 s and is replayed in 4; rank 2 has no dates.
replay::Replay replayed() {
  replay::Replay replay;
  replay.recorded_step = Seconds(5);
  replay.step = Seconds(4);
  replay.world = 8;
  replay.notes = {"Two of four."};
  for (const std::int32_t number : {1, 2}) {
    auto& rank = replay.ranks.emplace_back();
    rank.rank = number;
    rank.file = "trace" + std::to_string(number);
    rank.later = Seconds(0.5);
    if (number == 1) rank.recorded = Seconds(5);
    rank.simulated = Seconds(4);
    rank.waited = Seconds(0.25);
    rank.gaps = {Seconds(1e-3), Seconds(2e-3), Seconds(3e-3), 7};
    rank.streams.push_back({"compute", Seconds(3), Seconds(2), Seconds(2.5)});
    rank.counts.kernels = 10 * number;
    rank.counts.copies = number;
    rank.counts.collectives = 2;
    rank.counts.communicated = Bytes(1000);
    rank.counts.kernel_time = Seconds(1.5);
  }
  replay.collectives.push_back({"all_reduce", 8, Bytes(1'000'000), "dp", 3, Seconds(0.3), Seconds(0.1), "ring"});
  replay.collectives.push_back({"unknown", 2, {}, "", 1, Seconds(0.2), Seconds(0.2), "as recorded"});
  return replay;
}

// Sums over ranks: 10 + 20 kernels, 1 + 2 copies, 2 + 2 collectives; 4 / 5 - 1 = -20 %.
TEST(ReplayText, TheHead) {
  auto replay = replayed();
  auto lines = lines_of(output::replay_text(job(), replay, "dgx-h100:1"));
  EXPECT_EQ(lines[0], "Kineto of 2 ranks of 4: 30 kernels, 3 copies, 4 collectives");
  EXPECT_EQ(lines[1], "on dgx-h100:1, 8 ranks");
  EXPECT_EQ(lines[2], "step  4.00 s, recorded 5.00 s (-20.0 %)");
  replay.ranks.pop_back();
  replay.steps = 3;
  replay.step = Seconds(6);
  lines = lines_of(output::replay_text(job(), replay, ""));
  EXPECT_EQ(lines[0], "Kineto of 1 rank of 4: 10 kernels, 1 copy, 2 collectives, 3 steps");
  EXPECT_EQ(lines[1], "on the recorded machine: collectives take the least time that a member recorded");
  EXPECT_EQ(lines[2], "step  6.00 s, recorded 5.00 s (+20.0 %)");
  replay.recorded_step.reset();
  EXPECT_EQ(lines_of(output::replay_text(job(), replay, ""))[2], "step  6.00 s");
}

// What was recorded and its error stay empty for a graph without dates: rank 2 has two cells less.
TEST(ReplayText, RowsOfRanks) {
  const auto text = output::replay_text(job(), replayed(), "");
  const auto lines = lines_of(text);
  EXPECT_THAT(cells_of_line(lines[5]), ElementsAre("1", "500.00 ms", "5.00 s", "4.00 s", "-20.0 %", "250.00 ms"));
  EXPECT_THAT(cells_of_line(lines[6]), ElementsAre("2", "500.00 ms", "4.00 s", "250.00 ms"));
  EXPECT_THAT(cells_of_line(lines[9]), ElementsAre("1", "1.00 ms", "2.00 ms", "3.00 ms", "7"));
  EXPECT_THAT(cells_of_line(line_with(text, "compute")),
              ElementsAre("compute", "3.00 s", "2.00 s", "2.50 s", "+25.0 %"));
}

TEST(ReplayText, RowsOfCollectives) {
  const auto text = output::replay_text(job(), replayed(), "x");
  EXPECT_THAT(cells_of_line(line_with(text, "all_reduce")),
              ElementsAre("all_reduce dp", "8", "1000000", "3", "300.00 ms", "100.00 ms", "ring"));
  EXPECT_THAT(cells_of_line(line_with(text, "unknown")),
              ElementsAre("unknown", "2", "unknown", "1", "200.00 ms", "200.00 ms", "as recorded"));
}

// Each list has its title once, and none without sentences.
TEST(ReplayText, NotesHaveTitles) {
  const auto text = output::replay_text(job(), replayed(), "");
  EXPECT_TRUE(text.ends_with(
      "\ntaken for granted:\n  Two of four.\nguessed:\n  Groups have their usual order.\nmissing in the trace:\n"
      "  It has no sizes.\n"));
  auto quiet = replayed();
  quiet.notes.clear();
  EXPECT_THAT(output::replay_text({}, quiet, ""), Not(HasSubstr("taken for granted")));
}

// 40 ranks and 50 collectives: 32 rows of each, then 40 - 32 and 50 - 32 more. Long names and numbers go on in
// the next line, so that no table is wider than 80 letters.
TEST(ReplayText, LongJobsStayReadable) {
  auto replay = replayed();
  while (replay.ranks.size() < 40) {
    replay.ranks.push_back(replay.ranks.front());
    replay.ranks.back().rank = static_cast<std::int32_t>(replay.ranks.size()) + 1'000'000;
  }
  replay.collectives.clear();
  for (auto& rank : replay.ranks) {
    rank.simulated = rank.later = rank.waited = Seconds(0.12345);
    rank.gaps = {Seconds(0.12345), Seconds(0.12345), Seconds(0.12345), 123'456};
    const replay::StreamShares shares{Seconds(0.12345), Seconds(0.12345), Seconds(0.12345),
                                      Seconds(0.12345), Seconds(0.12345), Seconds(0.12345)};
    rank.streams = {{"device 7 stream 20", Seconds(0.12345), Seconds(0.12345), Seconds(0.12345), shares, shares}};
  }
  replay.collectives.resize(50);
  replay.collectives.front() = {
      "reduce_scatter", 16'384,          Bytes(123'456'789'012),   "DATA_PARALLEL_GROUP_WITH_CP", 1'234,
      Seconds(0.1234),  Seconds(0.1234), "tree over nodes (LL128)"};
  replay.pauses.push_back({1'000'000, "device 7 stream 20", std::string(300, 'k'), Seconds(1.2345), Seconds(0.12345)});
  EXPECT_LE(widest_line(output::replay_text(job(), replay, "", 80)), 80u) << output::replay_text(job(), replay, "", 80);
  const auto text = output::replay_text(job(), replay, "", 80);
  EXPECT_THAT(text, HasSubstr("\nand 8 more\n"));
  EXPECT_THAT(text, HasSubstr("\nand 18 more; --json has them all\n"));
  const auto lines = lines_of(text);
  EXPECT_EQ(std::count_if(lines.begin(), lines.end(), [](const auto& line) { return line.starts_with("10000"); }),
            2 * (32 - 2));
  EXPECT_EQ(nlohmann::json::parse(output::replay_json(job(), replay, ""))["ranks"].size(), 40u);
}

TEST(ReplayText, JsonSaysTheSame) {
  const auto json = nlohmann::json::parse(output::replay_json(job(), replayed(), "dgx-h100:1"));
  EXPECT_EQ(json["cluster"], "dgx-h100:1");
  EXPECT_EQ(json["recorded_ranks"], 2);
  EXPECT_EQ(json["world"], 8);
  EXPECT_EQ(json["step_time_s"], 4);
  EXPECT_EQ(json["recorded"]["step_time_s"], 5);
  EXPECT_DOUBLE_EQ(json["error"], 4.0 / 5 - 1);
  EXPECT_EQ(json["kernels"], 30);
  EXPECT_EQ(json["communicated_bytes"], 2000);
  EXPECT_EQ(json["kernel_time_s"], 3);
  EXPECT_EQ(json["collectives"][0]["group"], "dp");
  EXPECT_TRUE(json["collectives"][1]["bytes"].is_null());
  EXPECT_EQ(json["ranks"][0]["gaps"]["guessed_dependences"], 7);
  EXPECT_EQ(json["ranks"][0]["streams"][0]["replayed_end_s"], 2.5);
  EXPECT_TRUE(json["ranks"][1]["recorded_s"].is_null());
  EXPECT_TRUE(json["ranks"][1]["streams"][0]["recorded_end_s"].is_null());
  EXPECT_EQ(json["missing"][0], "It has no sizes.");
  EXPECT_TRUE(nlohmann::json::parse(output::replay_json(job(), replayed(), ""))["cluster"].is_null());
}

// A replay of a rank that recorded nothing has no error: nothing / 0.
TEST(ReplayText, NothingRecordedHasNoError) {
  auto replay = replayed();
  replay.recorded_step = Seconds(0);
  EXPECT_TRUE(nlohmann::json::parse(output::replay_json(job(), replay, ""))["error"].is_null());
}

// difference = recorded - derived, with its sign; nothing where both agree.
TEST(ReplayText, AgainstAScenario) {
  const std::vector<replay::ComparedCollective> rows = {
      {"all_gather", 4, Bytes(64), 3, 1.5}, {"unknown", 0, {}, 0, 2}, {"all_reduce", 8, Bytes(32), 2, 2}};
  const auto text = output::against_text(rows, 5, "a.yaml");
  const auto lines = lines_of(text);
  EXPECT_EQ(lines[0], "Collectives in a step of rank 5, recorded and derived from a.yaml: 2 of 3 rows differ");
  EXPECT_THAT(cells_of_line(lines[3]), ElementsAre("all_gather", "4", "64", "3.0", "1.5", "+1.5"));
  EXPECT_THAT(cells_of_line(lines[4]), ElementsAre("unknown", "unknown", "unknown", "0.0", "2.0", "-2.0"));
  EXPECT_THAT(cells_of_line(lines[5]), ElementsAre("all_reduce", "8", "32", "2.0", "2.0"));
  EXPECT_THAT(output::against_text({rows[2]}, 5, "a.yaml"), HasSubstr("from a.yaml: all agree\n"));
  const auto json = nlohmann::json::parse(output::against_json(rows, 5, "a.yaml"));
  EXPECT_EQ(json["rank"], 5);
  EXPECT_EQ(json["scenario"], "a.yaml");
  EXPECT_EQ(json["collectives"][0]["recorded"], 3);
  EXPECT_EQ(json["collectives"][0]["derived"], 1.5);
  EXPECT_TRUE(json["collectives"][1]["bytes"].is_null());
}

}  // namespace
}  // namespace lockstep::test
