// A model, a machine and a batch on the command line instead of a scenario file: run, check, plan, init; and what can
// be named at all: list.
#include <gmock/gmock.h>

#include <cstdlib>

#include "tests/cli/program_run.hpp"

namespace lockstep::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;
using Words = std::vector<std::string>;

/// A model of a moment: four layers on one node.
class ModelAlone : public CommandLine {
 protected:
  ModelAlone() {
    write("config.json",
          R"({"model_type": "llama", "hidden_size": 512, "intermediate_size": 1024, "num_hidden_layers": 4,
              "num_attention_heads": 8, "num_key_value_heads": 4, "vocab_size": 4096, "tie_word_embeddings": false,
              "rms_norm_eps": 1e-5, "hidden_act": "silu", "max_position_embeddings": 2048})");
  }

  [[nodiscard]] static Words with(Words command, const Words& more = {}) {
    command.insert(command.end(),
                   {"config.json", "--cluster", "h100:1", "--batch-tokens", "16k", "--sequence-length", "512"});
    command.insert(command.end(), more.begin(), more.end());
    return command;
  }
  void refused(const Words& command, const std::string& line) const {
    const auto done = run(command);
    EXPECT_EQ(done.exit_code, 2);
    EXPECT_EQ(done.output, "");
    EXPECT_EQ(done.errors, line);
  }
};

// 16k tokens are 16,384, as 32 sequences of 512; the step of every way is that of the fastest plan.
TEST_F(ModelAlone, EveryCommandTakesTheFastestPlan) {
  const auto best = json(with({"plan"}, {"--top", "1"}))["best"][0]["step_time_s"];
  const auto ran = json(with({"run"}));
  EXPECT_EQ(ran["step_time_s"], best);
  EXPECT_EQ(ran["tokens_per_step"], 16'384);
  EXPECT_THAT(good(with({"run"})), AllOf(StartsWith("plan: "), HasSubstr("the fastest of "), HasSubstr("config: ")));
  EXPECT_THAT(good(with({"check"})), AllOf(StartsWith("plan: "), HasSubstr("config.json: ok; memory peak ")));
  EXPECT_EQ(good(with({"init"}, {"--out", "sub.yaml"})), "written: sub.yaml\n");
  EXPECT_EQ(json({"run", "sub.yaml"})["step_time_s"], best);
  EXPECT_THAT(content("sub.yaml"), HasSubstr("\n# Where each axis of ranks lies"));
}

// H100 is h100, 1F1B is 1f1b, 2k is 2,048: the same bytes as with the catalog's own words.
TEST_F(ModelAlone, CaseAndThousandsAreTheUsersChoice) {
  EXPECT_EQ(
      good({"check", "config.json", "--cluster", "H100:1", "--batch-tokens", "16K", "--sequence-length", "2k"}),
      good({"check", "config.json", "--cluster", "h100:1", "--batch-tokens", "16k", "--sequence-length", "2048"}));
  EXPECT_EQ(good({"model", "LLaMA-3-70B"}), good({"model", "llama-3-70b"}));
  EXPECT_EQ(good({"schedule", "1F1B", "--stages", "4", "--microbatches", "8"}),
            good({"schedule", "1f1b", "--stages", "4", "--microbatches", "8"}));
  const Words collective{"collective", "all_reduce", "--group", "gpu", "--bytes", "1MiB", "--json", "-", "--cluster"};
  auto upper = collective, lower = collective;
  upper.emplace_back("DGX-H100:1");
  lower.emplace_back("dgx-h100:1");
  const auto rows = [&](const Words& words) { return nlohmann::json::parse(good(words))["rows"]; };
  EXPECT_EQ(rows(upper), rows(lower));
  const auto with_fabric = [&](const std::string& fabric) {
    return json({"run", small, "--set", "cluster={node: h100, nodes: 2, fabric: " + fabric + "}", "--set", "mesh={}",
                 "--set", "parallel={data: 16}", "--set",
                 "batch={sequences: 64, sequence_length: 128}"})["step_time_s"];
  };
  EXPECT_EQ(with_fabric("Infiniband-NDR-Rail"), with_fabric("infiniband-ndr-rail"));
}

// Names of the catalog with the word's letters, not all of the catalog.
TEST_F(ModelAlone, PartsOfNamesSuggest) {
  refused({"model", "llama3"},
          "model: model 'llama3' is not in the catalog; expected one of llama-3-405b, llama-3-70b, llama-3-8b, or a "
          "path to "
          "a config.json\n");
  refused({"model", "nothing-like-it"},
          "model: model 'nothing-like-it' is not in the catalog; expected a name that `lockstep list` shows, or a path "
          "to a "
          "config.json\n");
}

// A file that somebody may have edited stays, until --force says so.
TEST_F(ModelAlone, InitReplacesNoFileSilently) {
  write("mine.yaml", "my work\n");
  refused(with({"init"}, {"--out", "mine.yaml"}),
          "--out: 'mine.yaml' exists; expected another name, or --force to replace it\n");
  EXPECT_EQ(content("mine.yaml"), "my work\n");
  EXPECT_EQ(good(with({"init"}, {"--out", "mine.yaml", "--force"})), "written: mine.yaml\n");
  EXPECT_THAT(content("mine.yaml"), HasSubstr("\nparallel: "));
}

TEST_F(ModelAlone, GoodputIsThatOfTheFastestPlan) {
  const std::string reliability =
      "reliability={failures: {gpu: {of: chip, mtbf: 50000 h}}, restart: 5 min, checkpoint: {size: 1 GB, "
      "write_bandwidth: "
      "2 GB/s}}";
  EXPECT_THAT(good(with({"goodput"}, {"--set", reliability})), AllOf(StartsWith("plan: "), HasSubstr("useful time")));
}

TEST_F(ModelAlone, WhoSplitsTheModelIsObeyed) {
  const auto text = good(with({"run"}, {"--set", "parallel.tensor=8"}));
  EXPECT_THAT(text, AllOf(Not(HasSubstr("plan: ")), HasSubstr("tensor 8")));
}

TEST_F(ModelAlone, AFileInAnotherFolderSeesTheModel) {
  std::filesystem::create_directories(scratch / "work" / "made");
  EXPECT_EQ(good(with({"init"}, {"--out", "made/own.yaml"})), "written: made/own.yaml\n");
  EXPECT_THAT(content("made/own.yaml"), HasSubstr("\nmodel: ../config.json\n"));
  EXPECT_THAT(good({"check", "made/own.yaml"}), HasSubstr("ok"));
}

TEST_F(ModelAlone, ScenariosComeOnStdin) {
  write("own.yaml",
        "format: 1\nmodel: ./config.json\ncluster: h100:1\nparallel: {fsdp: 8}\n"
        "batch: {sequences: 32, sequence_length: 512}\n");
  const auto command =
      "cd '" + (scratch / "work").string() + "' && " LOCKSTEP_PROGRAM " run - --json piped.json < own.yaml > text";
  ASSERT_EQ(std::system(command.c_str()), 0);
  EXPECT_THAT(content("text"), StartsWith("stdin: "));
  EXPECT_EQ(json_file("piped.json")["step_time_s"], json({"run", "own.yaml"})["step_time_s"]);
}

TEST_F(ModelAlone, RefusesWhatIsMissingOrDoesNotBelong) {
  refused({"run", "config.json"},
          "--batch-tokens: is missing: 'config.json' is a model alone; expected the tokens of a step, such as 4M\n"
          "--cluster: is missing: 'config.json' is a model alone; expected a machine such as dgx-h100:8 for 8 nodes "
          "(64 chips), or tpu-v5p:4x4x8\n"
          "--sequence-length: is missing: 'config.json' is a model alone; expected the tokens of a sequence, such as "
          "8192 or 8k\n");
  refused({"run", "config.json", "--cluster", "h100:1", "--batch-tokens", "1000", "--sequence-length", "512"},
          "--batch-tokens: 1000 tokens are no whole number of sequences of 512; expected 512 or 1024\n");
  for (const std::string text : {"many", "-1", "0", "1.5", "4G", "nan", "1e12"}) {
    refused({"run", "config.json", "--cluster", "h100:1", "--batch-tokens", text, "--sequence-length", "512"},
            "--batch-tokens: '" + text +
                "' is not a number of tokens; expected a number such as 4M (4,194,304), 512k or 4e6, at most 1e11\n");
  }
  refused({"run", small, "--cluster", "h100:1"},
          "--cluster: belongs to a model, and '" + small +
              "' is a scenario; expected --set cluster=..., --set batch.sequences=...\n");
  refused(
      {"run", "lama-3-8b", "--cluster", "h100:1"},
      "lama-3-8b: there is no such file, and no model of that name; expected a config.json, a scenario or a name of "
      "lockstep list models; did you mean `llama-3-8b`\n");
  refused({"init", small},
          "MODEL: '" + small + "' is a scenario already; expected a config.json or a name of lockstep list models\n");
  EXPECT_THAT(run(with({"run"}, {"--set", "training.precision=fp8", "--set", "search.memory=1 MB"})).errors,
              HasSubstr("no plan of "));
}

// Each list names what the commands take: the first and a later one of each can be used.
TEST_F(ModelAlone, ListsNameWhatExists) {
  EXPECT_THAT(good({"list", "models"}), AllOf(HasSubstr("\ndeepseek-v3 "), HasSubstr("671.0e9")));
  EXPECT_THAT(good({"list", "chips"}), AllOf(HasSubstr("\ntpu-v5p "), HasSubstr("pod 16x20x28")));
  EXPECT_THAT(good({"list", "nodes"}), AllOf(HasSubstr("\ndgx-h100 "), HasSubstr("infiniband-ndr-rail")));
  EXPECT_THAT(good({"list", "fabrics"}), HasSubstr("\nroce-400g "));
  EXPECT_EQ(good({"list", "schedules"}), good({"schedule", "--list"}));
  EXPECT_EQ(run({"list", "planets"}).exit_code, 2);
}

// A config.json in any folder, and the command of the page gives the same step again in a shell.
TEST_F(ModelAlone, PathsMayHoldSpacesAndQuotes) {
  const std::string folder = "it's \"my\" folder";
  std::filesystem::create_directory(scratch / "work" / folder);
  std::filesystem::copy_file(scratch / "work" / "config.json", scratch / "work" / folder / "con fig.json");
  const auto found = json({"plan", folder + "/con fig.json", "--cluster", "h100:1", "--batch-tokens", "16k",
                           "--sequence-length", "512", "--write", folder + "/best.yaml"});
  EXPECT_EQ(json({"run", folder + "/best.yaml"}).at("step_time_s"), found.at("best").at(0).at("step_time_s"));
}

}  // namespace
}  // namespace lockstep::test
