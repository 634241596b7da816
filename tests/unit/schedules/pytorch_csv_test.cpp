// Golden orders by other implementations come in without a problem and go out as the same text, with and without
// communication; both dialects and everything cosmetic mean the same order.
#include "workloads/pipeline/csv/pytorch_csv.hpp"

#include <gtest/gtest.h>

#include "tests/unit/schedules/golden_csv.hpp"
#include "workloads/pipeline/pipeline_timing.hpp"

namespace lockstep {
namespace {

using enum workloads::StagePlacement;

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
  return text;
}

/// The computation cells of a text that may have blank cells and, as PyTorch's GPipe, REDUCE_GRAD at the end of a row.
std::string computation_of(std::string text) {
  for (char stage = '0'; stage < '8'; ++stage)
    text = replaced(std::move(text), std::string{',', stage} + "REDUCE_GRAD", "");
  std::string result;
  for (const char c : text) {
    const bool begins_cell = result.empty() || result.back() == '\n' || result.back() == ',';
    if (c == ',' && begins_cell) continue;
    if (c == '\n' && !result.empty() && result.back() == ',') result.pop_back();
    result += c;
  }
  return result;
}

void expect_same_text_again(const std::string& folder, std::size_t files) {
  const auto golden = golden_csvs(folder);
  ASSERT_EQ(golden.size(), files);
  for (const auto& file : golden) {
    const auto imported = import_pytorch_csv(file.text, file.placement);
    EXPECT_EQ(text_of(imported.problems), "") << file.name;
    EXPECT_EQ(imported.had_communication, file.text.find("REDUCE_GRAD") != std::string::npos) << file.name;
    EXPECT_FALSE(imported.older_dialect) << file.name;
    EXPECT_EQ(export_pytorch_csv(imported.order), computation_of(file.text)) << file.name;
    EXPECT_GT(time_order(imported.order, {}).makespan, 0) << file.name;
  }
}

// Export after import is the identity but for blank cells. 145 = all files of tests/data/pipeline itself.
TEST(PytorchCsv, GoldenOrdersComeBackAsTheyWere) { expect_same_text_again("", 145); }
TEST(PytorchCsv, WavesComeBackAsTheyWere) { expect_same_text_again("derived_wave", 6); }
TEST(PytorchCsv, OrdersUnderMemoryModelsComeBackAsTheyWere) { expect_same_text_again("zbauto_memmodels", 3); }
TEST(PytorchCsv, BlankCellsAreCosmetic) { expect_same_text_again("torch_raw_blanks", 12); }
TEST(PytorchCsv, MergedBackwardsBesideSplitOnes) { expect_same_text_again("torch_mergebw", 6); }

// PyTorch lowered the order of the same name: "..._comms" with each receive at its send, "..._comms_defer" with
// receives put off. Dropping the communication gives that order back; adding it gives PyTorch's text.
TEST(PytorchCsv, CommunicationOfPyTorch) {
  const auto lowered = golden_csvs("torch_comms");
  ASSERT_EQ(lowered.size(), 20U);
  for (const auto& file : lowered) {
    const auto base =
        golden_csv(replaced(replaced(replaced(file.name, "torch_comms/", ""), "_defer", ""), "_comms", ""));
    const auto imported = import_pytorch_csv(file.text, file.placement);
    EXPECT_EQ(text_of(imported.problems), "") << file.name;
    EXPECT_TRUE(imported.had_communication) << file.name;
    EXPECT_EQ(imported.order.to_string(), base.text) << file.name;
    if (file.name.ends_with("_defer.csv")) continue;
    EXPECT_EQ(export_pytorch_csv(imported.order, {.communication = true}), file.text) << file.name;
  }
}

// Whatever the schedule, its communication passes the importer's checks, bidirectional ones too.
TEST(PytorchCsv, ExportedCommunicationImports) {
  for (const bool older : {false, true}) {
    for (const auto& file : golden_csvs("")) {
      const auto order = import_pytorch_csv(file.text, file.placement).order;
      const auto again = import_pytorch_csv(export_pytorch_csv(order, {.communication = true, .older_dialect = older}),
                                            file.placement);
      EXPECT_EQ(text_of(again.problems), "") << file.name;
      EXPECT_EQ(again.order.ranks, order.ranks) << file.name;
    }
  }
}

// Five stages on one rank: three are held at a time, so stage 3 is fetched when stage 0 is done with.
TEST(PytorchCsv, StagesBeyondThreeAreShardedAgain) {
  const auto order = import_pytorch_csv("0F0,1F0,2F0,3F0,4F0,4B0,3B0,2B0,1B0,0B0\n", loop).order;
  EXPECT_EQ(export_pytorch_csv(order, {.communication = true}),
            "0UNSHARD,1UNSHARD,2UNSHARD,0F0,0RESHARD,3UNSHARD,1F0,1RESHARD,4UNSHARD,2F0,3F0,4F0,4B0,4REDUCE_GRAD,"
            "4RESHARD,1UNSHARD,3B0,3REDUCE_GRAD,3RESHARD,0UNSHARD,2B0,2REDUCE_GRAD,2RESHARD,1B0,1REDUCE_GRAD,1RESHARD,"
            "0B0,0REDUCE_GRAD,0RESHARD\n");
}

TEST(PytorchCsv, OlderDialectMeansTheSame) {
  for (const auto* name : {"zbh1_light_P4_M8.csv", "dualpipev_P4_M8_V2.csv",
                           "torch_mergebw/zbv_torch_P4_M8_V2_mergebw.csv", "1f1b_P4_M8.csv"}) {
    const auto file = golden_csv(name);
    const auto older = replaced(replaced(file.text, "B", "BW"), "I", "B");
    const auto text = replaced(older, "OVERLAP_F_BW", "OVERLAP_F_B");
    const auto imported = import_pytorch_csv(text, file.placement);
    EXPECT_EQ(text_of(imported.problems), "") << name;
    EXPECT_TRUE(imported.older_dialect) << name;
    EXPECT_EQ(imported.order.to_string(), file.text) << name;
    EXPECT_EQ(export_pytorch_csv(imported.order, {.older_dialect = true}), text) << name;
  }
}

TEST(PytorchCsv, CosmeticsMeanTheSame) {
  const std::string plain = "0F0,0F1,0B0,0B1\n1F0,1B0,1F1,1B1\n";
  for (const auto& text :
       {plain, plain.substr(0, plain.size() - 1), plain + "\n", replaced(plain, "\n", "\r\n"), "\xEF\xBB\xBF" + plain,
        replaced(plain, "\n", ",,\n"), replaced(plain, ",", " ,\t"), "," + plain, replaced(plain, "0F1,", "0F1,,,")}) {
    const auto imported = import_pytorch_csv(text, linear);
    EXPECT_EQ(text_of(imported.problems), "") << text;
    EXPECT_EQ(imported.order.to_string(), plain);
  }
}

// Rows = ranks, highest stage + 1 = stages, highest microbatch + 1 = microbatches.
TEST(PytorchCsv, SizesComeFromTheCells) {
  const auto file = golden_csv("interleaved1f1b_P4_M8_V4.csv");
  const auto shape = import_pytorch_csv(file.text, file.placement).order.shape;
  EXPECT_EQ(shape.ranks, 4);
  EXPECT_EQ(shape.chunks, 4);
  EXPECT_EQ(shape.microbatches, 8);
}

TEST(PytorchCsv, CommunicationOfABrokenOrderIsRefused) {
  auto order = import_pytorch_csv("0F0,0B0\n1F0,1B0\n", linear).order;
  order.ranks[1].pop_back();
  EXPECT_THROW((void)export_pytorch_csv(order, {.communication = true}), workloads::ScheduleError);
}

}  // namespace
}  // namespace lockstep
