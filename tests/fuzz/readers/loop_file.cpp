// The file of a loop of post-training, and its generation where it is short.
#include <cmath>

#include "sim/studies/rl/generation.hpp"
#include "tests/fuzz/readers/target.hpp"

namespace {

/// A file of the tree, wherever the loop is.
void name_in_full(std::string& text, const std::string& name, const std::string& file) {
  for (auto at = text.find(name); at != std::string::npos; at = text.find(name, at + file.size()))
    text.replace(at, name.size(), file);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace lockstep;
  static const test::InputFile file("loop.yaml");
  return test::answered([&] {
    std::string text(test::text_of(data, size));
    name_in_full(text, "policy.yaml", test::source_folder() / "tests/data/scenarios/small.yaml");
    name_in_full(text, "lengths.csv", test::source_folder() / "tests/data/lengths_of_documents.csv");
    const auto loop = rl::load_loop(file.with(text));
    if (loop.generation.time || loop.rollouts() > 100'000) return;
    const auto phase = generation_of(loop.generation, 2, loop.prompt_tokens, loop.responses.drawn(100, loop.seed));
    if (!std::isfinite(phase.time.value()) || phase.time < Seconds(0)) throw test::Defect("a phase of no time");
  });
}
