// A scenario's text. What reads is a value that knows its own places and chips.
#include "sim/scenario/scenario.hpp"
#include "tests/fuzz/readers/target.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace lockstep;
  static const auto folder = test::source_folder() / "tests/data/scenarios";
  return test::answered([&] {
    const auto scenario = scenario::scenario_of_text(test::text_of(data, size), "fuzzed.yaml", folder);
    if (scenario.chips() < 1) throw test::Defect("a scenario of no chips");
  });
}
