#include "tools/trace/op_text.hpp"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "tests/unit/trace/simulated.hpp"

namespace lockstep {
namespace {

/// The words as one value: name, categories and colour, then the arguments.
auto all_of(const trace::OpWords& words) {
  std::vector<std::tuple<std::string_view, trace::OpWords::Value, bool>> arguments;
  for (const auto& [key, value, told] : words.arguments) arguments.emplace_back(key, value, told);
  return std::tuple(words.name, words.categories, words.colour, arguments);
}

class Phrases : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Trace, Phrases,
                         testing::Values("trace_two_axes.yaml", "trace_transformer.yaml", "pipeline_alike.yaml"),
                         [](const auto& file) {
                           return std::string(file.param).substr(0, std::string(file.param).size() - 5);
                         });

// Formats write what the first operation of a phrase says for all of them.
TEST_P(Phrases, SayOfEveryOperationWhatItsOwnWordsSay) {
  const Simulated run(GetParam());
  trace::OpText text(run.simulation);
  std::map<std::size_t, std::int32_t> first;
  for (std::int32_t op = 0; op < run.simulation.run.timeline.ops(); ++op) {
    const auto phrase = text.phrase(op);
    EXPECT_LE(phrase, first.size());  // numbered in the order of asking
    const auto said = first.try_emplace(phrase, op).first->second;
    EXPECT_EQ(all_of(text.words(op)), all_of(text.words(said))) << "operations " << said << " and " << op;
    EXPECT_EQ(text.phrase(op), phrase);
  }
}

// What a microbatch repeats is said once: two microbatches with the same operations but those of the update.
TEST(PhrasesOfMicrobatches, AreShared) {
  const Simulated run("trace_two_axes.yaml");
  trace::OpText text(run.simulation);
  std::map<std::int64_t, std::set<std::size_t>> of_microbatch;
  for (std::int32_t op = 0; op < run.simulation.run.timeline.ops(); ++op)
    of_microbatch[text.microbatch({0, 0, op})].insert(text.phrase(op));
  ASSERT_EQ(of_microbatch.size(), 2U);
  std::size_t shared = 0;
  for (const auto phrase : of_microbatch[0]) shared += of_microbatch[1].count(phrase);
  EXPECT_GT(shared, 10U);
}

}  // namespace
}  // namespace lockstep
