// The critical path in one line: the times of all parts of one kind together, as shares of the step.
#include "tools/output/results/critical_path_text.hpp"

#include <gtest/gtest.h>

namespace lockstep {
namespace {

using Kind = metrics::CriticalPart::Kind;

metrics::CriticalPart part(Kind kind, const std::string& what, double seconds) {
  return {kind, what, Seconds(seconds), 1};
}

// In 10 s, 3 + 3 compute, 2 + 1 transfer, one latency; the transfers are mostly fsdp's, the latency all tensor's.
TEST(CriticalPathText, KindsByTheirShare) {
  metrics::CriticalPath path;
  path.parts = {part(Kind::compute, "forward a", 3), part(Kind::compute, "backward b", 3),
                part(Kind::transfer, "fsdp all_gather", 2), part(Kind::transfer, "tensor all_reduce", 1),
                part(Kind::latency, "tensor all_reduce", 1)};
  EXPECT_EQ(output::critical_path_line(path, Seconds(10)),
            "critical path: 60.0 % compute, 30.0 % transfer (mostly fsdp all_gather), 10.0 % latency (tensor "
            "all_reduce)");
}

// Two transfers of 2 s are more than one compute of 3 s, though the compute is the longest part.
TEST(CriticalPathText, TheLargestKindIsFirstNotTheLargestPart) {
  metrics::CriticalPath path;
  path.parts = {part(Kind::compute, "a", 3), part(Kind::transfer, "x", 2), part(Kind::transfer, "y", 2),
                part(Kind::update, "adam", 1)};
  EXPECT_EQ(output::critical_path_line(path, Seconds(8)),
            "critical path: 50.0 % transfer (mostly x), 37.5 % compute, 12.5 % update");
}

TEST(CriticalPathText, RatesShouldBeMoreAndTimesLess) {
  const std::vector<metrics::Elasticity> answers{
      {"compute rate", -0.61, true}, {"latency", 0.2, false}, {"ici", -0.1, true}};
  EXPECT_EQ(output::what_would_help(answers),
            "what would help most: 1 % more compute rate makes the step 0.61 % shorter, less latency 0.20 %, more ici "
            "0.10 %");
}

// A gain that would print as 0.00 % helps nobody, and neither does a change that makes the step longer.
TEST(CriticalPathText, NothingIsSaidOfWhatDoesNotHelp) {
  EXPECT_EQ(output::what_would_help({}), "");
  const std::vector<metrics::Elasticity> answers{{"a", 0.3, true}, {"b", -0.004, true}, {"c", -0.006, true}};
  EXPECT_EQ(output::what_would_help(answers), "what would help most: 1 % more c makes the step 0.01 % shorter");
}

}  // namespace
}  // namespace lockstep
