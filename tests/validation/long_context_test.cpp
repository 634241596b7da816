// The three ways to split attention's sequence on published shapes: the table of docs/models/long_context.md, and its
// reasons. Transferred once: ring and all_gather 2 D T K/N of keys and values; all_to_all 2 D T/n more for queries and
// results.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <iterator>

#include "tests/validation/validated.hpp"

namespace lockstep {
namespace {

struct Ways {
  studies::Outcome ring, gather, exchange;
};

Ways ways(const std::string& file, const std::vector<scenario::KeyOverride>& overrides) {
  const auto run = [&](const std::string& way) {
    auto with = overrides;
    with.push_back({"parallel.context_attention", way});
    return test::contended(test::shipped(file, with));
  };
  return {run("ring"), run("all_gather"), run("all_to_all")};
}

std::string cell(const studies::Outcome& outcome) {
  std::string made(80, '\0');
  const int size = std::snprintf(made.data(), made.size(), " %.3g s, %.0f %% |", outcome.step_s,
                                 100 * outcome.exposed_comm_s / outcome.step_s);
  made.resize(static_cast<std::size_t>(size));
  return made;
}

void expect_row(const std::string& start, const Ways& of) {
  const auto line = "| " + start + " |" + cell(of.ring) + cell(of.gather) + cell(of.exchange) + "\n";
  std::printf("%s", line.c_str());
  std::ifstream in(std::filesystem::path(source_dir) / "docs/models/long_context.md");
  EXPECT_THAT(std::string(std::istreambuf_iterator<char>(in), {}), testing::HasSubstr(line));
}

std::vector<scenario::KeyOverride> with(const std::string& model, const std::string& tokens) {
  return {{"model", model}, {"batch.sequence_length", tokens}};
}

// Attention of 8,192 queries over 65,536 keys takes longer than the keys of a layer travel: nothing is left to expose.
TEST(LongContext, TheRingHidesBehindAttention) {
  const auto of = ways("llama3-8b-131k.yaml", with("llama-3-8b", "131072"));
  expect_row("LLaMA-3 8B | 131,072", of);
  EXPECT_LT(of.ring.exposed_comm_s, 0.02 * of.ring.step_s);
  EXPECT_LT(of.gather.step_s, of.exchange.step_s);
}

TEST(LongContext, ShortPiecesDoNotHideTheRing) {
  const auto of = ways("llama3-8b-131k.yaml", with("llama-3-8b", "16384"));
  expect_row("LLaMA-3 8B | 16,384", of);
  EXPECT_LT(of.gather.step_s, of.ring.step_s);
}

// K = N: 2 D T (n-1)/n gathered against 4 D T (n-1)/n^2 exchanged.
TEST(LongContext, WithAsManyKeysAsQueriesExchangingIsLess) {
  const auto of = ways("llama3-8b-131k.yaml", with("llama-2-7b", "131072"));
  expect_row("LLaMA-2 7B | 131,072", of);
  EXPECT_LT(of.exchange.exposed_comm_s, of.gather.exposed_comm_s);
}

TEST(LongContext, RunsAt405BillionParameters) {
  const auto of = ways("published/llama3-405b-131k.yaml", {});
  expect_row("LLaMA-3 405B | 131,072", of);
  EXPECT_LT(of.ring.step_s, of.gather.step_s);
  EXPECT_LT(of.gather.step_s, of.exchange.step_s);
}

}  // namespace
}  // namespace lockstep
