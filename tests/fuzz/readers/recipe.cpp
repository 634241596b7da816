// A recipe of LOCKSTEP_FUZZED_FORMAT, or of the format that it has where this is empty. A recipe that is imported is a
// scenario that loads.
#include "sim/scenario/scenario.hpp"
#include "sim/studies/recipes/import_recipe.hpp"
#include "tests/fuzz/readers/target.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace lockstep;
  recipes::RecipeRequest request;
  request.file = "fuzzed";
  request.format = LOCKSTEP_FUZZED_FORMAT;
  request.cluster = "h100:1";
  if (request.format == "deepspeed") {
    request.model = "llama-2-7b";
    request.sequence_length = 128;
  }
  return test::answered([&] {
    const auto recipe = recipes::import_recipe(test::text_of(data, size), request);
    try {
      (void)scenario::scenario_of_text(recipe.yaml, "written", ".");
    } catch (const ConfigError& error) {
      throw test::Defect("a scenario that does not load: " + error.problems().front().to_string());
    }
  });
}
