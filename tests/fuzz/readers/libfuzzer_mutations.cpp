// libFuzzer changes bytes; every other input is changed as texts are broken instead, by words and lines.
#include <algorithm>

#include "tests/fuzz/mutator.hpp"
#include "tests/fuzz/readers/target.hpp"

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t most);
extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t most, unsigned seed);

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t most, unsigned seed) {
  if (seed % 2 == 0) return LLVMFuzzerMutate(data, size, most);
  const auto text = lockstep::test::Mutator(seed, {std::string(lockstep::test::text_of(data, size))}).next();
  const auto kept = std::min(text.size(), most);
  std::copy_n(text.begin(), kept, data);
  return kept;
}
