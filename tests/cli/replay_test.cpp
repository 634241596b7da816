// `lockstep replay`: recorded jobs run again, and simulated steps that go out as Chakra and come back.
#include <gmock/gmock.h>

#include <cmath>

#include "tests/cli/program_run.hpp"
#include "tests/unit/from_trace/llama_trace.hpp"

namespace lockstep::test {
namespace {

using Words = std::vector<std::string>;

class Replay : public CommandLine {
 protected:
  const std::string traces = LOCKSTEP_SCENARIOS "/../traces/";
  const std::string rank0 = traces + "kineto_rank0.json", rank1 = traces + "kineto_rank1.json";
};

// Both ranks mark two steps of 2 ms. The late rank's all-reduce takes 300 us; the other's 400 us hold 100 us of waiting
// in each step, which are thrown away and come back, since it is ready 100 us earlier again.
TEST_F(Replay, TheRecordedMachine) {
  const auto result = json({"replay", rank0, rank1});
  EXPECT_EQ(result["steps"], 2);
  EXPECT_NEAR(result["recorded"]["step_time_s"], 2000e-6, 1e-12);
  EXPECT_NEAR(result["step_time_s"], 2000e-6, 2e-9);
  EXPECT_EQ(result["kernels"], 12);
  EXPECT_EQ(result["collective_operations"], 4);
  EXPECT_EQ(result["communicated_bytes"], 4 * 4'000'000);
  ASSERT_EQ(result["ranks"].size(), 2u);
  EXPECT_NEAR(result["ranks"][0]["waited_for_others_s"], 200e-6, 1e-12);
  EXPECT_NEAR(result["ranks"][1]["waited_for_others_s"], 0, 1e-12);
  for (const auto& rank : result["ranks"]) EXPECT_LT(std::abs(rank["error"].get<double>()), 1e-5);
  ASSERT_EQ(result["collectives"].size(), 1u);
  EXPECT_EQ(result["collectives"][0]["count"], 2) << "a collective of two ranks counts once";
  EXPECT_NEAR(result["collectives"][0]["recorded_s"], 600e-6, 1e-12);
}

// On another network the all-reduce of 4 MB takes what `collective` says. It ends before the kernel beside it, 720 us
// after the step's begin; what began 1 us after the all-reduce, at 923 us, now begins at 721, and all that comes after
// it is 202 us earlier: the host that waits for it, and the next step.
TEST_F(Replay, AnotherNetwork) {
  const auto alone = json({"collective", "all_reduce", "--cluster", "dgx-h100:1", "--group", "2", "--bytes",
                           "4MB"})["rows"][0]["closed_form_s"]
                         .get<double>();
  const auto result = json({"replay", rank0, rank1, "--cluster", "dgx-h100:1"});
  EXPECT_NEAR(result["collectives"][0]["replayed_alone_s"], 2 * alone, 1e-12);
  ASSERT_LT(622e-6 + alone, 720e-6);
  EXPECT_NEAR(result["step_time_s"], 2000e-6 - 202e-6, 2e-9);
}

// Kernels of 600 us, then 300 us after the all-reduce, at half their time: each step is 450 us shorter. The first
// kernel is launched as before.
TEST_F(Replay, AFasterClock) {
  const auto result = json({"replay", rank0, rank1, "--clock", "2"});
  EXPECT_NEAR(result["step_time_s"], 2000e-6 - 450e-6, 2e-9);
}

// One rank stands for both, then for 16 data-parallel ranks: the same array among more of them. The all-reduce ends
// after the kernel beside it, so the step is shorter by as much as the all-reduce.
TEST_F(Replay, OtherDataParallelSizes) {
  const auto alone = json({"collective", "all_reduce", "--cluster", "dgx-h100:2", "--group", "gpu+node", "--bytes",
                           "4MB"})["rows"][0]["closed_form_s"]
                         .get<double>();
  const auto result = json({"replay", rank1, "--cluster", "dgx-h100:2", "--data", "16"});
  EXPECT_EQ(result["world"], 16);
  EXPECT_EQ(result["collectives"][0]["ranks"], 16);
  EXPECT_NEAR(result["collectives"][0]["replayed_alone_s"], 2 * alone, 1e-12);
  ASSERT_GT(622e-6 + alone, 720e-6);
  EXPECT_NEAR(result["step_time_s"], 2000e-6 - (300e-6 - alone), 2e-9);
}

// One rank of two, then alone: its all-reduces have nobody left to communicate with and take no time. Each step is as
// much shorter as the critical path allows: what waited for the all-reduce until 923 us begins 1 us after the kernel
// that ends at 720 us.
TEST_F(Replay, OneDataParallelRankCommunicatesNothing) {
  const auto result = json({"replay", rank1, "--cluster", "dgx-h100:1", "--data", "1"});
  EXPECT_EQ(result["world"], 1);
  EXPECT_EQ(result["collectives"][0]["replayed_alone_s"], 0);
  EXPECT_EQ(result["collectives"][0]["algorithm"], "one rank");
  EXPECT_NEAR(result["step_time_s"], 2000e-6 - 202e-6, 2e-9);
}

// A layer of measured operations around an all-to-all that the network times: 1 + 2 + 3 ms and what `collective` says.
TEST_F(Replay, MeasuredLayersWithSimulatedCollectives) {
  const auto scenario = [&](const std::string& axis) {
    write("measured.yaml", R"(format: 1
model:
  replay:
    layers: 1
    forward:
      - {name: a, time: 1 ms}
      - {name: dispatch, simulated: {kind: all_to_all, axis: )" +
                               axis + R"(, bytes: 64 MB}}
      - {name: b, time: 2 ms}
    backward: [{name: c, time: 3 ms}]
cluster: dgx-h100:1
mesh: {tensor: rest}
parallel: {tensor: 8}
batch: {sequences: 8, sequence_length: 128}
)");
    return Words{"run", "measured.yaml", "--json", "-"};
  };
  const auto alone = json({"collective", "all_to_all", "--cluster", "dgx-h100:1", "--group", "gpu", "--bytes",
                           "64MB"})["rows"][0]["closed_form_s"]
                         .get<double>();
  const auto result = nlohmann::json::parse(good(scenario("tensor")));
  EXPECT_NEAR(result["step_time_s"], 6e-3 + alone, 1e-12);
  const auto wrong = run(scenario("expert"));
  EXPECT_EQ(wrong.exit_code, 2);
  EXPECT_THAT(wrong.errors, testing::HasSubstr("'dispatch' runs along 'expert', which is no axis"));
}

// Gradients of 64 MB are reduced after the one backward: 6 ms and what `collective` says; scattered, they are scattered
// and the updated weights gathered.
TEST_F(Replay, MeasuredLayersWithGradients) {
  const auto alone = [&](const std::string& kind) {
    return json({"collective", kind, "--cluster", "dgx-h100:1", "--group", "gpu", "--bytes",
                 "64MB"})["rows"][0]["closed_form_s"]
        .get<double>();
  };
  const auto step = [&](const std::string& gradients) {
    write("measured.yaml", R"(format: 1
model:
  replay:
    layers: 1
    forward: [{name: a, time: 3 ms}]
    backward: [{name: c, time: 3 ms}]
    gradients: [)" + gradients +
                               R"(]
cluster: dgx-h100:1
mesh: {data: rest}
parallel: {data: 8}
batch: {sequences: 8, sequence_length: 128}
)");
    return json({"run", "measured.yaml"})["step_time_s"].get<double>();
  };
  EXPECT_NEAR(step("{axis: data, bytes: 64 MB}"), 6e-3 + alone("all_reduce"), 1e-9);
  EXPECT_NEAR(step("{axis: data, bytes: 64 MB, kind: reduce_scatter}"),
              6e-3 + alone("reduce_scatter") + alone("all_gather"), 1e-9);
  write("wrong.yaml", R"(format: 1
model:
  replay:
    layers: 1
    forward: [{name: a, time: 3 ms}]
    backward: [{name: c, time: 3 ms}]
    gradients: [{axis: pipeline, bytes: 64 MB}, {axis: data, bytes: 0 B}]
cluster: dgx-h100:1
mesh: {data: rest}
parallel: {data: 8}
batch: {sequences: 8, sequence_length: 128}
)");
  const auto wrong = run({"check", "wrong.yaml"});
  EXPECT_EQ(wrong.exit_code, 2);
  EXPECT_THAT(wrong.errors,
              testing::HasSubstr("wrong.yaml:7:24: model.replay.gradients[0].axis: is no axis along which"));
  EXPECT_THAT(wrong.errors, testing::HasSubstr("model.replay.gradients[1].bytes"));
}

// A folder with a page of both lanes and the JSON of the replay.
TEST_F(Replay, APage) {
  const auto text = good({"replay", rank0, rank1, "--cluster", "dgx-h100:1", "--out", "page"});
  EXPECT_THAT(text, testing::HasSubstr("what a stream's time goes to"));
  const auto files = files_in("page");
  EXPECT_THAT(files, testing::Contains("result.json"));
  EXPECT_EQ(json_file("page/result.json")["world"], 2);
  const auto refused = run({"replay", rank0, "--against", small, "--out", "page"});
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_EQ(refused.errors, "--out: its page shows a replay; expected neither --against nor --scenario\n");
}

// Kernels that the user names are collectives: one all-to-all for each of the two steps on the network.
TEST_F(Replay, NamedCollectives) {
  write("named.yaml", "- {kernels: adam, kind: all_to_all, ranks: 2, bytes: 1 MB}\n");
  const auto alone = json({"collective", "all_to_all", "--cluster", "dgx-h100:1", "--group", "2", "--bytes",
                           "1MB"})["rows"][0]["closed_form_s"]
                         .get<double>();
  const auto result = json({"replay", rank0, rank1, "--collectives", "named.yaml", "--cluster", "dgx-h100:1"});
  ASSERT_EQ(result["collectives"].size(), 2u);
  EXPECT_EQ(result["collectives"][1]["kind"], "all_to_all");
  EXPECT_NEAR(result["collectives"][1]["replayed_alone_s"], 2 * alone, 1e-12);
}

// A step's own collectives, written as Chakra, are those that its scenario derives; another scenario's are not.
TEST_F(Replay, AgainstAScenario) {
  (void)json({"run", small, "--chakra", "own"});
  const auto own = json({"replay", "own", "--against", small})["collectives"];
  ASSERT_GT(own.size(), 0u);
  for (const auto& row : own) EXPECT_EQ(row["recorded"], row["derived"]) << row;
  write("wider.yaml", R"(format: 1
model: {layers: 4, d_model: 2048, d_ff: 4096, heads: 16, vocabulary: 32000}
cluster: tpu-v5p:4x4x4
mesh: {tensor: [x], fsdp: rest}
parallel: {tensor: 4, fsdp: 16}
batch: {sequences: 64, sequence_length: 512}
)");
  const auto other = json({"replay", "own", "--against", "wider.yaml"})["collectives"];
  EXPECT_NE(other[0]["recorded"], other[0]["derived"]);
}

TEST_F(Replay, Refusals) {
  const auto refused = [&](const Words& words) {
    const auto run = this->run(words);
    EXPECT_EQ(run.exit_code, 2);
    EXPECT_EQ(run.output, "");
    return run.errors;
  };
  EXPECT_THAT(refused({"replay", rank0, rank1, "--cluster", "dgx-h100:1", "--data", "4"}),
              testing::HasSubstr("--data: the traces are those of 2"));
  EXPECT_THAT(refused({"replay", rank0, "--cluster", "dgx-h100:1", "--data", "64"}),
              testing::HasSubstr("--cluster: the cluster has 8 chips, the job 64 ranks"));
  EXPECT_EQ(refused({"replay", rank0, "--data", "0"}), "--data: 0 is out of range; expected 1 to 1048576\n");
  EXPECT_EQ(refused({"replay", rank0, "--data", "-1"}), "--data: -1 is out of range; expected 1 to 1048576\n");
  EXPECT_EQ(refused({"replay", rank0, "--data", "1e18"}),
            "--data: '1e18' is not a whole number; expected digits, such as 16\n");
  EXPECT_EQ(refused({"schedule", "1f1b", "--stages", "1e18"}),
            "--stages: '1e18' is not a whole number; expected digits, such as 16\n");
  EXPECT_EQ(refused({"replay", rank0, "--data", "4"}),
            "--data: collectives of another size take what a network makes of them; expected --cluster, such as "
            "dgx-h100:4\n");
  const auto scenario = [&](const Words& more) {
    Words words = {"replay", rank0, "--cluster", "dgx-h100:1", "--scenario", "job.yaml"};
    words.insert(words.end(), more.begin(), more.end());
    return refused(words);
  };
  EXPECT_EQ(scenario({"--data", "4"}),
            "--data: --scenario takes the job as it was recorded; expected --set parallel.data=4\n");
  EXPECT_EQ(scenario({"--clock", "1"}),
            "--clock: --scenario takes the kernels as they were recorded; expected a replay, without --scenario\n");
  EXPECT_THAT(scenario({"--longest-pause", "1us"}), testing::StartsWith("--longest-pause: --scenario has no pauses"));
  EXPECT_THAT(refused({"replay", rank0, "--against", small, "--clock", "2"}),
              testing::StartsWith("--clock: --against"));
  EXPECT_THAT(refused({"replay", rank0, "--against", small, "--cluster", "dgx-h100:1"}),
              testing::StartsWith("--cluster: the scenario of --against has its own"));
  EXPECT_EQ(refused({"replay", traces + "flight_recorder_rank0.json", "--clock", "2"}),
            "--clock: the trace (flight recorder) has no kernels; expected a trace of the device's work\n");
  EXPECT_THAT(refused({"replay", "nowhere.json"}), testing::HasSubstr("nowhere.json: no such file"));
  EXPECT_THAT(refused({"replay", small}), testing::HasSubstr("no trace of a known format"));
  EXPECT_THAT(refused({"replay", rank0, traces + "chakra.1.et"}), testing::HasSubstr("one kind"));
}

// A step written as Chakra and read back is the same step: the same durations, arrays and order on the same network.
TEST_F(Replay, StepsGoOutAsChakraAndComeBack) {
  for (const std::string name : {"small", "pipeline_alike", "zero_on_slow_links", "pipeline_early_receive"}) {
    const std::string scenario = std::string(LOCKSTEP_SCENARIOS "/") + name + ".yaml";
    const double step = json({"run", scenario, "--chakra", name})["step_time_s"];
    const auto result = json({"replay", name, "--cluster", scenario});
    EXPECT_NEAR(result["step_time_s"].get<double>() / step, 1, 1e-9) << name;
  }
}

// Chakra has no times for collectives. Without a network they take none, and the replay says so.
TEST_F(Replay, CollectivesWithoutTimes) {
  (void)json({"run", small, "--chakra", "own"});
  const auto result = json({"replay", "own"});
  int collectives = 0;
  for (const auto& row : result["collectives"]) collectives += row["count"].get<int>();
  EXPECT_EQ(result["collectives_without_time"], collectives);
  EXPECT_THAT(result["notes"].dump(), testing::HasSubstr("take no time here"));
  EXPECT_THAT(good({"replay", "own"}), testing::HasSubstr("; without the time of "));
  EXPECT_EQ(json({"replay", "own", "--cluster", small})["collectives_without_time"], 0);
}

// A trace becomes a scenario that `check` and `plan` take, and its kernels calibrate a chip.
TEST_F(Replay, FromATraceToAScenario) {
  LlamaTrace trace;
  write("rank0.json", trace.json());
  const auto made = json({"replay", "rank0.json", "--cluster", "dgx-h100:1", "--scenario", "job.yaml"});
  for (const auto& row : made["kernels"]) {
    if (row["class"] != "other kernels") EXPECT_LT(std::abs(row["residual"].get<double>()), 2e-3) << row;
  }
  EXPECT_EQ(content("job.yaml"), made["yaml"]);
  EXPECT_THAT(good({"check", "job.yaml"}), testing::HasSubstr("job.yaml: ok"));
  EXPECT_THAT(good({"plan", "job.yaml"}), testing::HasSubstr("a model of 3 layers on 8 h100"));
  const auto rates = json({"calibrate", "rank0.json", "--chip", "h100"});
  EXPECT_GT(rates["rows"].size() + rates["residuals"].size(), 0u);
  const auto refused = run({"replay", "rank0.json", "--scenario", "job.yaml"});
  EXPECT_EQ(refused.errors,
            "--scenario: the machine of the job is not known; expected --cluster, such as dgx-h100:4\n");
}

// Graphs of a step with fewer ranks would be mixed with those of more.
TEST_F(Replay, GraphsOfOneStepInAFolder) {
  (void)json({"run", small, "--chakra", "own"});
  (void)json({"run", small, "--chakra", "own"});
  const auto refused = run({"run", LOCKSTEP_SCENARIOS "/pipeline_alike.yaml", "--chakra", "own"});
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.errors, testing::HasSubstr("--chakra: the folder has a graph of another step, small."));
}

// Sizes that no trace can tell are refused with the reason and with the way that leads there.
TEST_F(Replay, OtherSplitsAreRefusedWithTheReason) {
  for (const char* option : {"--tensor", "--context", "--pipeline"}) {
    const auto done = run({"replay", "trace.json", option, "2"});
    EXPECT_EQ(done.exit_code, 2);
    EXPECT_THAT(done.errors, testing::HasSubstr(std::string(option) + ": "));
    EXPECT_THAT(done.errors,
                testing::HasSubstr("recorded; expected --data, or --scenario and a plan of that scenario\n"));
  }
}

}  // namespace
}  // namespace lockstep::test
