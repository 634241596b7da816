// lockstep calibrate.
#include <gmock/gmock.h>

#include <cmath>

#include "tests/cli/program_run.hpp"
#include "tests/cli/share_of_the_machine.hpp"

namespace lockstep::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class Calibrate : public CommandLine {
 protected:
  /// Products at 500 TFLOP/s and copies at 2 TB/s.
  void write_kernels() const {
    std::string text = "kernel,precision,batch,m,n,k,causal,backward,bytes,seconds\n";
    for (const double side : {4096.0, 8192.0, 16384.0}) {
      const auto edge = std::to_string(static_cast<int>(side));
      text += "product,bf16,1," + edge + "," + edge + "," + edge + ",,,," +
              std::to_string(2 * side * side * side / 500e12) + "\n";
    }
    for (const int gigabytes : {1, 2, 4})
      text +=
          "memory,,,,,,,," + std::to_string(gigabytes) + "000000000," + std::to_string(gigabytes * 1e9 / 2e12) + "\n";
    write("kernels.csv", text);
  }
};

// 500 of the data sheet's 989 TFLOP/s, and 2 of 3.35 TB/s; what was not measured is kept.
TEST_F(Calibrate, KernelsGiveAChip) {
  write_kernels();
  const auto made = json({"calibrate", "kernels.csv", "--chip", "h100"});
  EXPECT_LT(made["rms_after"], 0.02);
  for (const auto& row : made["rows"]) EXPECT_NEAR(row["error_pct"], 0, 3) << row["name"];
  for (const auto& parameter : made["parameters"]) {
    if (parameter["name"] == "memory") {
      EXPECT_NEAR(parameter["after"], 2 / 3.35, 0.01);
    } else if (parameter["name"] == "attention.forward") {
      EXPECT_TRUE(parameter["kept"]);
    }
  }
  const auto text = good({"calibrate", "kernels.csv", "--chip", "h100"});
  EXPECT_THAT(text, HasSubstr("kernels of h100, 6 measured"));
  EXPECT_THAT(text, HasSubstr("kept: no row depends on it"));
}

// The written block is a chip to calibrate further, and one to simulate with: products at 500 TFLOP/s take longer than
// at the catalog's 754.
TEST_F(Calibrate, WhatItWritesCanBeUsed) {
  write_kernels();
  (void)good({"calibrate", "kernels.csv", "--chip", "h100", "--write", "mine.yaml"});
  const auto again = json({"calibrate", "kernels.csv", "--chip", "mine.yaml"});
  EXPECT_LT(again["rms_before"], 0.02);

  std::string block = content("mine.yaml"), indented;
  for (std::size_t start = 0; start < block.size();) {
    const auto end = block.find('\n', start);
    indented += "    " + block.substr(start, end - start) + "\n";
    start = end + 1;
  }
  const auto scenario = [](const std::string& chip) {
    return "format: 1\nmodel: llama-3-8b\ncluster:\n  node:\n    like: dgx-h100\n" + chip +
           "  nodes: 1\nparallel: {fsdp: 8}\nbatch: {sequences: 8, sequence_length: 8192}\nmodel_of_time: calibrated\n";
  };
  write("catalog.yaml", scenario(""));
  write("own.yaml", scenario(indented));
  const double catalog = json({"run", "catalog.yaml"})["step_time_s"], own = json({"run", "own.yaml"})["step_time_s"];
  EXPECT_GT(own / catalog, 1.2);
}

// Steps of compute alone that take a quarter longer than the catalog's chip. Two steps are not believed whole: the
// clock goes down by the part of log 1.25 that measured steps say is a machine's, and the written chip counts them.
TEST_F(Calibrate, StepsGiveTheClock) {
  std::string rows;
  double catalog = 0;
  for (const int sequences : {64, 128}) {
    write("step.yaml",
          "format: 1\nmodel: llama-3-8b\ncluster: tpu-v5p:4x4x4\nparallel: {fsdp: 64}\nbatch: {sequences: " +
              std::to_string(sequences) + ", sequence_length: 8192}\nmodel_of_time: calibrated\n");
    const auto result = json({"run", "step.yaml"});
    ASSERT_LT(result["breakdown"]["exposed_comm_s"].get<double>(), 0.05 * result["step_time_s"].get<double>());
    rows += "llama-3-8b,tpu-v5p:4x4x4,64," + std::to_string(sequences) + ",8192," +
            std::to_string(1.25 * result["step_time_s"].get<double>()) + ",made\n";
  }
  write("steps.csv", "model,cluster,fsdp,sequences,sequence_length,measured_step_s,source\n" + rows);
  const auto made = json({"calibrate", "steps.csv", "--chip", "tpu-v5p"});
  EXPECT_NEAR(made["rms_before"], std::log(1.25), 1e-3);
  const double share = share_of_the_machine(good({"calibrate", "steps.csv", "--chip", "tpu-v5p"}), 2);
  EXPECT_GT(share, 0.05);
  EXPECT_NEAR(made["rms_after"], (1 - share) * std::log(1.25), 0.01);
  for (const auto& parameter : made["parameters"]) {
    if (parameter["name"] == "sustained")
      catalog = parameter["after"].get<double>() / parameter["before"].get<double>();
  }
  EXPECT_NEAR(catalog, std::pow(1.25, -share), 0.03);
  EXPECT_THAT(made["yaml"].get<std::string>(), HasSubstr("own_steps: 2\n"));
}

// Products of one's own without steps: what the clock of whole steps was fitted with is another machine's. With steps
// beside them there is one block, and the shapes of these steps that no product has are said.
TEST_F(Calibrate, SeveralKindsTogetherAndWhatIsNotKnown) {
  write(
      "products.csv",
      "chip,precision,m,n,k,tflops\nh100,bf16,8192,8192,8192,500\nh100,bf16,16384,16384,16384,510\nb200,bf16,8192,8192,"
      "8192,900\n");
  const auto alone = json({"calibrate", "products.csv", "--chip", "h100"});
  ASSERT_EQ(alone["rows"].size(), 2U);
  EXPECT_THAT(alone["warnings"].dump(), HasSubstr("1 rows of other chips are left out"));
  EXPECT_THAT(alone["warnings"].dump(), HasSubstr("were fitted to whole steps of other machines, where `matrix` was"));
  for (const auto& parameter : alone["parameters"]) {
    if (parameter["name"] == "memory") {
      EXPECT_EQ(parameter["kept_because"], "no copy was measured");
      EXPECT_EQ(parameter["after"], parameter["before"]);
    }
  }
  write("steps.csv",
        "model,cluster,fsdp,sequences,sequence_length,measured_step_s,source\nllama-3-8b,h100:1,8,8,8192,1.4,made\n");
  write("collectives.csv", "collective,ranks,nodes,bytes,seconds\nall_reduce,8,1,1073741824,4.5e-3\n");
  const auto made = json({"calibrate", "products.csv", "steps.csv", "collectives.csv", "--node", "dgx-h100"});
  EXPECT_EQ(made["rows"].size(), 4U);
  EXPECT_THAT(made["title"].get<std::string>(),
              AllOf(HasSubstr("kernels of h100, 2 measured"), HasSubstr("collectives of dgx-h100, 1 measured"),
                    HasSubstr("steps on h100, 1 measured")));
  EXPECT_THAT(made["warnings"].dump(), HasSubstr("shapes of products"));
  EXPECT_THAT(made["yaml"].get<std::string>(),
              AllOf(testing::StartsWith("node:\n  like: dgx-h100\n  chip:\n    like: h100\n    kernels:\n"),
                    HasSubstr("      own_steps: 1\n"), HasSubstr("\n  scale_up: {")));
  write("other.csv", "chip,precision,m,n,k,tflops\nb200,bf16,8192,8192,8192,500\n");
  EXPECT_THAT(run({"calibrate", "other.csv", "--chip", "h100"}).errors, HasSubstr("chip: has no product of h100"));
}

TEST_F(Calibrate, MistakesAreTheUsers) {
  write_kernels();
  write("collectives.csv", "collective,ranks,nodes,bytes,seconds\nall_reduce,8,1,1048576,5e-5\nall_shuffle,8,1,1,1\n");
  write("other.csv", "a,b\n1,2\n");
  const auto errors = [&](const std::vector<std::string>& arguments) {
    const auto made = run(arguments);
    EXPECT_EQ(made.exit_code, 2) << made.errors;
    EXPECT_EQ(made.output, "");
    return made.errors;
  };
  EXPECT_THAT(errors({"calibrate", "kernels.csv"}), HasSubstr("--chip: is missing"));
  EXPECT_THAT(errors({"calibrate", "kernels.csv", "--chip", "h1000"}), HasSubstr("did you mean `h100`"));
  EXPECT_THAT(errors({"calibrate", "kernels.csv", "--chip", "tpu-v3"}), HasSubstr("has no key `kernels`"));
  EXPECT_THAT(errors({"calibrate", "collectives.csv", "--node", "dgx-h100"}),
              HasSubstr("collectives.csv:3:1: collective: 'all_shuffle' is not known"));
  EXPECT_THAT(errors({"calibrate", "other.csv", "--chip", "h100"}),
              HasSubstr("other.csv:1:1: has no columns of measurements"));
  EXPECT_THAT(errors({"calibrate", "nowhere.log", "--node", "dgx-h100"}), HasSubstr("nowhere.log"));
}

}  // namespace
}  // namespace lockstep::test
