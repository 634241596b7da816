// Sequences of documents that do not see each other. Causal attention of a document of l tokens takes l^2 / 2, so that
// a sequence of T = sum of l has sum of l^2 / T^2 of the work of one that is one document; a window of w < l leaves l w
// - w^2 / 2 of a document. What is drawn follows from the seed.
#include <gtest/gtest.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <fstream>
#include <numeric>

#include "sim/preparation/documents.hpp"
#include "sim/simulate.hpp"

namespace lockstep {
namespace {

class Documents : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() /
              (std::string("lockstep_documents_") + testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  /// 16 sequences of 8,192 tokens in 2 microbatches on the 8 chips of a node.
  scenario::Scenario scenario_of(const std::string& histogram, const std::string& parallel,
                                 const std::string& batch = "", const std::string& more = "") {
    std::ofstream(folder_ / "lengths.csv") << "tokens,count\n" << histogram;
    return scenario::scenario_of_text(
        "format: 1\nmodel: {layers: 4, d_model: 1024, heads: 8, d_ff: 2048, vocabulary: 32000}\ncluster: h100:1\n"
        "parallel: " +
            parallel +
            "\nmodel_of_time: ideal\nbatch: {sequences: 16, sequence_length: 8192, "
            "microbatches: 2" +
            (histogram.empty() ? "" : ", lengths: lengths.csv") + batch + "}\n" + more,
        "documents", folder_);
  }
  static Simulation simulated(const scenario::Scenario& scenario, int draws = 1) {
    spdlog::logger silent("test");
    SimulateOptions options;
    options.engine = engine::EngineKind::reference;
    options.draws = draws;
    return simulate(scenario, options, silent);
  }
  static double time(const scenario::Scenario& scenario) { return simulated(scenario).metrics.step_time.value(); }
  static workloads::SequenceLoad load(const scenario::Scenario& scenario) {
    return preparation::sequence_load(scenario, preparation::prepare(scenario).model.parallel);
  }

  std::filesystem::path folder_;
};

const workloads::LayerKind full{}, window{.reach = workloads::AttentionReach::sliding, .span = 1024};

// Eight documents of T / 8: 1/8 of the work; of a window of T / 8 as much as a document: the first T / 8 tokens of a
// whole sequence see half of the window, so (8 x 1/2) / (8 - 1/2).
TEST_F(Documents, AttentionFollowsFromTheirLengths) {
  const auto even = load(scenario_of("1024,1\n", "{data: 8}"));
  for (const auto microbatch : even.microbatches.ids()) {
    EXPECT_DOUBLE_EQ(even.attended(full, microbatch), 1.0 / 8);
    EXPECT_DOUBLE_EQ(even.attended(window, microbatch), 4 / 7.5);
  }
}

// A whole sequence is one document: the step is what it is without lengths, to the last bit, however it is split.
TEST_F(Documents, OfWholeSequencesChangeNothing) {
  for (const std::string parallel : {"{data: 8}", "{fsdp: 8}", "{data: 2, context: 4}", "{data: 2, pipeline: 4}"})
    EXPECT_EQ(time(scenario_of("8192,1\n", parallel)), time(scenario_of("", parallel))) << parallel;
  const auto dynamic = scenario_of("8192,1\n", "{data: 2, context: 4, context_tokens: 2048}");
  EXPECT_NEAR(time(dynamic) / time(scenario_of("", "{data: 2, context: 4}")), 1, 1e-9);
}

// Cut where sequences end they fill all tokens; whole ones leave padding, and none is longer than was drawn.
TEST_F(Documents, FillTheSequences) {
  const std::string lengths = "300,5\n5000,2\n7000,1\n";
  const auto cut = preparation::documents_of_step(scenario_of(lengths, "{data: 8}"));
  const auto whole = preparation::documents_of_step(scenario_of(lengths, "{data: 8}", ", packing: whole"));
  ASSERT_EQ(cut.size(), 16U);
  std::int64_t padding = 0;
  for (const auto& sequence : cut) EXPECT_EQ(std::accumulate(sequence.begin(), sequence.end(), std::int64_t{0}), 8192);
  for (const auto& sequence : whole) {
    const auto tokens = std::accumulate(sequence.begin(), sequence.end(), std::int64_t{0});
    EXPECT_LE(tokens, 8192);
    padding += 8192 - tokens;
    for (const auto document : sequence) EXPECT_TRUE(document == 300 || document == 5000 || document == 7000);
  }
  EXPECT_GT(padding, 0);
}

TEST_F(Documents, FollowFromTheSeed) {
  const std::string lengths = "512,8\n8192,1\n";
  const auto drawn = [&](int seed) {
    return preparation::documents_of_step(scenario_of(lengths, "{data: 8}", ", lengths_seed: " + std::to_string(seed)));
  };
  EXPECT_EQ(drawn(3), drawn(3));
  EXPECT_NE(drawn(3), drawn(4));
  std::int64_t longest = 0, all = 0;  // of 4,000 documents and more, one in nine has 8,192 tokens
  for (int seed = 1; seed <= 200; ++seed) {
    for (const auto& sequence : drawn(seed)) {
      all += std::ssize(sequence);
      longest += std::count(sequence.begin(), sequence.end(), 8192);
    }
  }
  EXPECT_GT(all, 4000);
  EXPECT_LT(static_cast<double>(longest) / static_cast<double>(all), 1.0 / 9);  // most are cut
}

// Replicas that only meet at the end wait for the one with the most work in both microbatches; ranks that gather
// weights in every layer wait for the most in each, which is no less. Both lie between the mean and one document.
TEST_F(Documents, RanksWaitForTheSlowest) {
  const std::string lengths = "512,8\n8192,1\n";
  for (int seed = 1; seed <= 10; ++seed) {
    const auto more = ", lengths_seed: " + std::to_string(seed);
    const auto apart = load(scenario_of(lengths, "{data: 8}", more)),
               together = load(scenario_of(lengths, "{fsdp: 8}", more));
    double of_apart = 0, of_together = 0;
    for (const auto microbatch : apart.microbatches.ids()) {
      of_apart += apart.attended(full, microbatch);
      of_together += together.attended(full, microbatch);
    }
    double mean = 0;
    for (const auto& sequence : preparation::documents_of_step(scenario_of(lengths, "{data: 8}", more))) {
      for (const auto tokens : sequence) mean += static_cast<double>(tokens * tokens) / 8192 / 8192 / 8;
    }
    EXPECT_GE(of_apart, mean * (1 - 1e-12));
    EXPECT_GE(of_together, of_apart * (1 - 1e-12));
    EXPECT_LE(of_together, 2);
  }
}

// Documents of at most T / n tokens lie on one rank each: nothing travels. Those of T on n ranks, and all of them
// travel.
TEST_F(Documents, LieOnAsFewRanksAsHoldThem) {
  const std::string parallel = "{data: 2, context: 4, context_tokens: 2048}";
  for (const auto& microbatch : load(scenario_of("2048,1\n", parallel)).microbatches) {
    EXPECT_EQ(microbatch.travelling, 0);
    EXPECT_NEAR(microbatch.attention, 1, 1e-12);
  }
  for (const auto& microbatch : load(scenario_of("8192,1\n", parallel)).microbatches) {
    EXPECT_NEAR(microbatch.travelling, 1, 1e-12);
    EXPECT_NEAR(microbatch.attention, 1, 1e-12);
  }
  // On two ranks of four a document passes its tokens once, on four three times: 1/3 of what travels.
  for (const auto& microbatch : load(scenario_of("4096,1\n", parallel)).microbatches)
    EXPECT_NEAR(microbatch.travelling, 1.0 / 3, 1e-12);
}

// Shared out over all replicas the work is more even than where each keeps its own documents, and less travels.
TEST_F(Documents, FewRanksTakeLessTime) {
  const std::string lengths = "256,16\n1024,8\n8192,1\n";
  double all = 0, few = 0;
  for (int seed = 1; seed <= 8; ++seed) {
    const auto more = ", lengths_seed: " + std::to_string(seed);
    all += time(scenario_of(lengths, "{data: 2, context: 4}", more));
    few += time(scenario_of(lengths, "{data: 2, context: 4, context_tokens: 2048}", more));
  }
  EXPECT_LT(few, all);
}

// The draws of a run are the steps under the seeds that follow, whatever else is drawn.
TEST_F(Documents, AreDrawnAnewForEachStep) {
  const std::string lengths = "512,8\n8192,1\n";
  const auto scenario = scenario_of(lengths, "{data: 8}");
  const auto simulation = simulated(scenario, 5);
  ASSERT_TRUE(simulation.document_draws);
  EXPECT_FALSE(simulation.routing_draws);
  ASSERT_EQ(simulation.document_draws->count(), 5U);
  std::vector<double> alone;
  for (std::uint64_t further = 0; further < 5; ++further)
    alone.push_back(time(with_other_documents(scenario, further)));
  std::sort(alone.begin(), alone.end());
  EXPECT_NEAR(simulation.document_draws->median().value(), alone[2], 1e-9 * alone[2]);
  EXPECT_NEAR(simulation.document_draws->quantile(0.95).value(), alone[3] + 0.8 * (alone[4] - alone[3]), 1e-9);
  EXPECT_LT(alone.front(), alone.back());
  EXPECT_FALSE(simulated(scenario_of("", "{data: 8}"), 5).document_draws);
}

// MFU counts the documents: 8 of T / 8 have an eighth of the attention of one.
TEST_F(Documents, ModelFlopsAreTheirs) {
  const auto whole = simulated(scenario_of("", "{data: 8}")).metrics.model_flops.value();
  const auto parts = simulated(scenario_of("1024,1\n", "{data: 8}")).metrics.model_flops.value();
  const double attention = 3 * 4 * 2.0 * (8192 / 2.0) * 8 * (128 + 128) * 16 * 8192;  // layers x 2 t N (H + H), x 3
  EXPECT_NEAR(whole - parts, attention * 7 / 8, 1e-6 * attention);
}

}  // namespace
}  // namespace lockstep
