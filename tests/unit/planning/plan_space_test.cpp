// Spaces counted by hand: 4 chips on a ring and 8 layers, 16 sequences.
#include "sim/studies/planning/plan_space.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "sim/core/errors.hpp"
#include "tests/source_dir.hpp"
#include "tests/unit/planning/small_space.hpp"

namespace lockstep::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const SmallSpace ring{.search =
                          "tensor: 1, pipeline: [1, 2, 4], zero: [0, 3], recompute: none, microbatches: [1, 2, 4], "
                          "schedules: [1f1b, gpipe, interleaved], chunks: [2, 4]"};

/// The problems of a space, a line each.
std::string refusal_of(const SmallSpace& small) {
  try {
    const planning::PlanSpace space(small.load());
  } catch (const ConfigError& error) {
    std::string text;
    for (const auto& problem : error.problems()) text += problem.to_string() + "\n";
    return text;
  }
  return "";
}

// data 4: 4 sequences a rank, in 1, 2 or 4 microbatches; two ZeRO stages, one placement: 3 x 2 = 6 plans.
// data 2, pipeline 2: 8 sequences a rank. Each microbatch count has 1f1b, gpipe and interleaved with V = 2 and V = 4,
// and all of these take 1, 2 or 4 microbatches: 4 orders x 3 x 2
// ZeRO stages. On one ring axes are laid innermost first, so there is one placement.
// pipeline 4: nothing is replicated, so one ZeRO stage. V = 4 would need 16 layers: 3 orders x 3.
TEST(PlanSpaceTest, NodesAreCountedByHand) {
  const planning::PlanSpace space(ring.load());
  ASSERT_EQ(space.nodes().size(), 3u);
  const auto& nodes = space.nodes();
  EXPECT_EQ(nodes[0].degrees, (planning::Degrees{1, 1, 1, 4, 1}));
  EXPECT_THAT(nodes[0].zeros, ElementsAre(0, 3));
  EXPECT_THAT(nodes[0].microbatches, ElementsAre(1, 2, 4));
  EXPECT_EQ(nodes[0].placements.size(), 1u);
  EXPECT_EQ(nodes[0].plans, 3 * 2);
  EXPECT_EQ(nodes[1].degrees, (planning::Degrees{1, 1, 1, 2, 2}));
  EXPECT_EQ(nodes[1].placements.size(), 1u);
  EXPECT_EQ(nodes[1].plans, 3 * 4 * 2);
  EXPECT_EQ(nodes[2].degrees, (planning::Degrees{1, 1, 1, 1, 4}));
  EXPECT_THAT(nodes[2].zeros, ElementsAre(0));
  EXPECT_EQ(nodes[2].placements.size(), 1u);
  EXPECT_EQ(nodes[2].plans, 3 * 3);
  EXPECT_EQ(space.size(), 6 + 24 + 9);
}

TEST(PlanSpaceTest, MicrobatchesDivideTheSequencesOfARank) {
  SmallSpace small = ring;
  small.sequences = 12;
  const planning::PlanSpace space(small.load());
  EXPECT_THAT(space.nodes()[0].microbatches, ElementsAre(1));        // 3 sequences on each of 4
  EXPECT_THAT(space.nodes()[1].microbatches, ElementsAre(1, 2));     // 6 on each of 2
  EXPECT_THAT(space.nodes()[2].microbatches, ElementsAre(1, 2, 4));  // 12
}

TEST(PlanSpaceTest, PlansStandInCanonicalOrderAndAreAllDifferent) {
  const planning::PlanSpace space(ring.load());
  std::int64_t size = 0;
  for (const auto& node : space.nodes()) {
    const auto plans = space.plans_of(node);
    EXPECT_EQ(std::ssize(plans), node.plans);
    for (std::size_t i = 1; i < plans.size(); ++i) EXPECT_LT(plans[i - 1], plans[i]);
    for (const auto& plan : plans) EXPECT_EQ(&space.node_of(plan), &node);
    size += std::ssize(plans);
  }
  EXPECT_EQ(size, space.size());
  planning::PlanChoice elsewhere;
  elsewhere.degrees = {2, 1, 1, 2, 1};
  EXPECT_THROW((void)space.node_of(elsewhere), InternalError);
}

TEST(PlanSpaceTest, SchedulesOfOneFormHaveOnePlacementChunksAndKindOfBackward) {
  SmallSpace small = ring;
  small.search =
      "tensor: 1, pipeline: [1, 2], zero: 0, recompute: none, schedules: [1f1b, gpipe, zb-h1, zb-h2, interleaved, "
      "bfs], "
      "chunks: [1, 2]";
  const planning::PlanSpace space(small.load());
  // One chunk of a looped schedule is another by name: interleaved and bfs with V = 2 only.
  EXPECT_EQ(space.schedules(2, 4).size(), 6u);
  const auto& forms = space.schedule_forms(2, 4);
  ASSERT_EQ(forms.size(), 3u);
  EXPECT_EQ(forms[0], (std::vector<planning::ScheduleChoice>{{0, 1}, {1, 1}}));
  EXPECT_EQ(forms[1], (std::vector<planning::ScheduleChoice>{{2, 1}, {3, 1}}));
  EXPECT_EQ(forms[2], (std::vector<planning::ScheduleChoice>{{4, 2}, {5, 2}}));
  EXPECT_EQ(space.schedule({3, 1}).name, "zb-h2");
  EXPECT_EQ(space.schedules(1, 4), (std::vector<planning::ScheduleChoice>{{}}));
  EXPECT_FALSE(space.schedule({}).splits_backward);
}

// 8 layers in 4 parts: the first follows nothing, the others a layer. In 1 part, one.
TEST(PlanSpaceTest, PartsOfTheSameBlocksAfterTheSameBlockAreAlike) {
  const planning::PlanSpace space(ring.load());
  EXPECT_EQ(space.kinds(), std::vector<int>(8, 0));
  const auto& four = space.virtual_stages(4);
  EXPECT_THAT(four.which, ElementsAre(0, 1, 1, 1));
  ASSERT_EQ(four.different.size(), 2u);
  EXPECT_EQ(four.different[0].first, 0);
  EXPECT_EQ(four.different[0].last, 2);
  EXPECT_EQ(four.different[1].first, 2);
  EXPECT_EQ(four.different[1].last, 4);
  EXPECT_THAT(space.virtual_stages(1).which, ElementsAre(0));
  EXPECT_EQ(space.virtual_stages(1).different.front().last, 8);
  EXPECT_EQ(&space.virtual_stages(4), &four);
}

// Embedding, 8 layers, unembedding: the ends differ from what lies between.
TEST(PlanSpaceTest, PartsWithTheEndsOfAModelStandAlone) {
  auto scenario = ring.load();
  scenario.model.attention = true;
  scenario.model.heads = scenario.model.kv_heads = 4;
  scenario.model.head_size = 16;
  scenario.model.vocabulary = 128;
  const planning::PlanSpace space(scenario);
  ASSERT_EQ(space.kinds().size(), 10u);
  const auto& parts = space.virtual_stages(4);
  EXPECT_THAT(parts.which, ElementsAre(0, 1, 1, 2));
  EXPECT_EQ(parts.different[0].first, 0);
  EXPECT_EQ(parts.different[0].last, 3);
  EXPECT_EQ(parts.different[2].first, 7);
  EXPECT_EQ(parts.different[2].last, 10);
}

// The keys, written over the file, load as the scenario that the space makes of the plan.
TEST(PlanSpaceTest, KeysMakeTheSameScenario) {
  SmallSpace small = ring;
  small.cluster = "tpu-v5p:4x2";
  small.search =
      "tensor: [1, 2], pipeline: [1, 2], zero: [1, 3], recompute: [none, full], microbatches: [2], schedules: [gpipe, "
      "interleaved], chunks: 2";
  const auto file = std::filesystem::temp_directory_path() / "lockstep_plan_space.yaml";
  std::ofstream(file) << small.text();
  const planning::PlanSpace space(scenario::load_scenario(file));
  int plans = 0;
  for (const auto& node : space.nodes()) {
    for (const auto& plan : space.plans_of(node)) {
      const auto loaded = load_scenario(file, space.keys(node, plan));
      const auto made = space.scenario(node, plan);
      std::vector<topologies::AxisRequest> mesh;
      for (const auto& axis : loaded.mesh) {
        if (axis.size > 1) mesh.push_back(axis);
      }
      ASSERT_EQ(mesh.size(), made.mesh.size());
      for (std::size_t i = 0; i < mesh.size(); ++i) {
        EXPECT_EQ(mesh[i].name, made.mesh[i].name);
        EXPECT_EQ(mesh[i].size, made.mesh[i].size);
        EXPECT_EQ(mesh[i].place, made.mesh[i].place);
      }
      EXPECT_EQ(loaded.parallel.zero, made.parallel.zero);
      EXPECT_EQ(loaded.batch.microbatches, made.batch.microbatches);
      EXPECT_EQ(loaded.step.microbatches, made.step.microbatches);
      EXPECT_EQ(loaded.batch.sequences, made.batch.sequences);
      EXPECT_EQ(loaded.derive.recompute, made.derive.recompute);
      if (node.degrees.pipeline > 1) {
        EXPECT_EQ(loaded.pipeline.schedule, made.pipeline.schedule);
        EXPECT_EQ(loaded.pipeline.chunks, made.pipeline.chunks);
      }
      ++plans;
    }
  }
  EXPECT_EQ(plans, space.size());
  std::filesystem::remove(file);
}

TEST(PlanSpaceTest, AxesAreNamedLikeTheScenariosKeys) {
  EXPECT_EQ(planning::plan_axis_name(0, 3), "tensor");
  EXPECT_EQ(planning::plan_axis_name(planning::data_axis, 2), "data");
  EXPECT_EQ(planning::plan_axis_name(planning::data_axis, 3), "fsdp");
  EXPECT_EQ(planning::plan_axis_name(planning::pipeline_axis_number, 3), "pipeline");
  const planning::Degrees degrees{2, 3, 5, 7, 11};
  std::int32_t product = 1;
  for (int axis = 0; axis < std::ssize(planning::plan_axes); ++axis) product *= size_of(degrees, axis);
  EXPECT_EQ(product, 2 * 3 * 5 * 7 * 11);
  EXPECT_EQ(size_of(degrees, planning::data_axis), 7);
  EXPECT_EQ(size_of(degrees, planning::pipeline_axis_number), 11);
}

TEST(PlanSpaceTest, RecomputationsAreThoseSearchedOrTheScenarios) {
  SmallSpace small = ring;
  small.search = "tensor: 1, pipeline: 1, zero: 0";
  const planning::PlanSpace all(small.load());
  ASSERT_EQ(all.recomputations().size(), 3u);  // none, selective, full
  EXPECT_FALSE(all.recomputations()[static_cast<std::size_t>(all.least_recomputation())].any());
  small.more = "training: {recompute: full}\n";
  const planning::PlanSpace own(small.load());
  ASSERT_EQ(own.recomputations().size(), 1u);
  EXPECT_TRUE(own.recomputations().front().all);
  small.search += ", recompute: [full, selective]";
  const planning::PlanSpace searched(small.load());
  ASSERT_EQ(searched.recomputations().size(), 2u);
  EXPECT_EQ(searched.least_recomputation(), 1);
}

// The keys of a plan, put over the scenario, compute again what the search took the plan to compute again.
TEST(PlanSpaceTest, KeysKeepTheOperationsThatAScenarioComputesAgain) {
  SmallSpace small = ring;
  small.search = "tensor: 1, pipeline: 1, zero: 0, microbatches: 1, recompute: [none, selective, full]";
  for (const std::string own : {"none", "selective", "full", "{mode: selective, parts: [norms, mlp]}",
                                "{mode: selective, kept: [in projection]}"}) {
    small.more = "training: {recompute: " + own + "}\n";
    const auto file = std::filesystem::temp_directory_path() / "lockstep_plan_space_recompute.yaml";
    std::ofstream(file) << small.text();
    const planning::PlanSpace space(scenario::load_scenario(file));
    const auto& node = space.nodes().front();
    for (const auto& plan : space.plans_of(node)) {
      const auto loaded = load_scenario(file, space.keys(node, plan));
      EXPECT_EQ(loaded.derive.recompute, space.recomputations()[static_cast<std::size_t>(plan.recompute)])
          << own << ", plan " << plan.recompute;
    }
  }
}

// A TPU v5p leaves 95.74 GiB to a program, 95.74 x 2^30 bytes.
TEST(PlanSpaceTest, MemoryIsTheChipsOrTheSearches) {
  SmallSpace small = ring;
  EXPECT_EQ(planning::PlanSpace(small.load()).memory(), Bytes(102'800'042'230));
  small.search += ", memory: 3 MB";
  EXPECT_EQ(planning::PlanSpace(small.load()).memory(), Bytes(3'000'000));
}

TEST(PlanSpaceTest, RefusesWhatBelongsToOnePlan) {
  SmallSpace small = ring;
  small.more = "perturbations: [{chip: [0], slowdown: 2}]\npipeline: {layers: [8]}\n";
  const auto refusal = refusal_of(small);
  EXPECT_THAT(refusal,
              HasSubstr("perturbations: a search looks at the machine without faults; expected no perturbations"));
  EXPECT_THAT(refusal, HasSubstr("pipeline.layers: layers of stages belong to one plan; expected even stages"));
  EXPECT_EQ(std::count(refusal.begin(), refusal.end(), '\n'), 2);
  EXPECT_THAT(refusal, HasSubstr("small.yaml:"));
}

TEST(PlanSpaceTest, RefusesRecomputationOfSomeLayers) {
  SmallSpace small = ring;
  small.more = "training: {recompute: {mode: full, layers: 2}}\n";
  EXPECT_THAT(refusal_of(small), HasSubstr("training.recompute.layers: a number of layers belongs to one plan"));
}

TEST(PlanSpaceTest, RefusesWhatDocumentsCannotBeHadWith) {
  auto scenario = SmallSpace(ring).load();
  scenario.lengths.documents = {{8, 1.0}};
  const auto refused = [&] {
    try {
      static_cast<void>(planning::PlanSpace(scenario));
      return std::string("not refused");
    } catch (const ConfigError& error) {
      return error.problems().front().to_string();
    }
  };
  EXPECT_THAT(refused(), HasSubstr("batch.lengths: there is no attention whose work would follow from lengths"));
  scenario.lengths.tokens_of_rank = 4;
  EXPECT_THAT(refused(), HasSubstr("parallel.context_tokens: documents on few ranks belong to one plan"));
}

TEST(PlanSpaceTest, RefusesExpertsSplitOverAPartOfTheTensorAxis) {
  SmallSpace small = ring;
  small.more = "parallel: {tensor: 4, expert_tensor: 2}\n";
  EXPECT_THAT(refusal_of(small), HasSubstr("parallel.expert_tensor: a size for each expert belongs to one plan"));
}

// Sequences that the file splits are split in a search too, unless it says over how many ranks.
TEST(PlanSpaceTest, TriesTheFilesOwnContextAxis) {
  const auto contexts = [](const std::string& search) {
    const auto scenario = scenario::scenario_of_text(
        "format: 1\nmodel: {layers: 2, d_model: 64, d_ff: 128, heads: 4, vocabulary: 256}\ncluster: tpu-v5p:4\n"
        "batch: {sequences: 16, sequence_length: 512}\nparallel: {context: 2, data: 2}\n"
        "search: {tensor: 1, pipeline: 1, zero: 0, microbatches: 2" +
            search + "}\n",
        "small", source_dir);
    const planning::PlanSpace space(scenario);
    std::set<std::int32_t> all;
    for (const auto& node : space.nodes()) all.insert(node.degrees.context);
    return all;
  };
  EXPECT_THAT(contexts(""), ElementsAre(1, 2));
  EXPECT_THAT(contexts(", context: 1"), ElementsAre(1));
  EXPECT_THAT(contexts(", context: [1, 4]"), ElementsAre(1, 4));
}

// A file with lengths keeps them in what a plan sets of it.
TEST(PlanSpaceTest, KeysOfAPlanKeepTheFilesLengths) {
  const auto keys = [](const std::string& batch) {
    const auto scenario = scenario::scenario_of_text(
        "format: 1\nmodel: {layers: 2, d_model: 64, d_ff: 128, heads: 4, vocabulary: 256}\ncluster: tpu-v5p:4\n"
        "batch: {sequences: 16, sequence_length: 512, lengths: tests/data/lengths_of_documents.csv" +
            batch + "}\nparallel: {data: 4}\nsearch: {tensor: 1, pipeline: 1, zero: 0, microbatches: 2}\n",
        "small", source_dir);
    const planning::PlanSpace space(scenario);
    const auto plan = space.plans_of(space.nodes().front()).front();
    std::string all;
    for (const auto& key : space.keys(space.nodes().front(), plan)) all += key.path + "=" + key.value + " ";
    return all;
  };
  EXPECT_THAT(keys(""), HasSubstr("batch.microbatches=2 "));
  EXPECT_THAT(keys(", microbatch_size: 4"), HasSubstr("batch.microbatch_size=2 "));
}

TEST(PlanSpaceTest, TellsThatNoPlanSplitsTheBatch) {
  SmallSpace small = ring;
  small.search = "tensor: 1, pipeline: 1";
  small.sequences = 3;
  EXPECT_THAT(refusal_of(small), HasSubstr("search: no plan splits 3 sequences over 4 chips; expected sizes that "
                                           "multiply to the chips and divide the model and the batch"));
}

// DualPipe needs two microbatches in flight on each of its ranks at the least.
TEST(PlanSpaceTest, TellsWhyAScheduleCannotBeHad) {
  SmallSpace small = ring;
  small.search = "tensor: 1, pipeline: 4, microbatches: 2, schedules: dualpipe";
  const auto why = workloads::find_schedule("dualpipe")->why_not(4, 2, 1);
  ASSERT_TRUE(why);
  EXPECT_THAT(refusal_of(small), HasSubstr("no plan splits 16 sequences over 4 chips (" + why->what + ")"));
}

}  // namespace
}  // namespace lockstep::test
