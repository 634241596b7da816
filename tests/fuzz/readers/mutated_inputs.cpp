// READER SEED COUNT SEEDS...: a deterministic stand-in for libFuzzer with any compiler. Every seed (a file, or those of
// a folder) as it is, then COUNT inputs made of them by random changes.
#include <cstdio>
#include <exception>
#include <fstream>

#include "tests/fuzz/mutator.hpp"
#include "tests/fuzz/readers/target.hpp"

namespace {

void read(const std::string& text) {
  try {
    (void)LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(text.data()), text.size());
  } catch (const std::exception& error) {
    std::ofstream("defect.input", std::ios::binary) << text;
    std::printf("defect.input: %s\n", error.what());
    throw;
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) return 64;
  const auto count = std::stoll(argv[2]);
  const auto seeds = lockstep::test::read_seeds({argv + 3, argv + argc});
  if (seeds.empty()) return 64;
  for (const auto& seed : seeds) read(seed);
  lockstep::test::Mutator mutator(std::stoull(argv[1]), seeds);
  for (long long i = 0; i < count; ++i) read(mutator.next());
  std::printf("%zu seeds and %lld inputs read\n", seeds.size(), count);
  return 0;
}
