#pragma once
/// SplitMix64 (Steele, Lea, Flood, "Fast splittable pseudorandom number generators", 2014).
#include <cstdint>

namespace lockstep {

/// By how much the state grows from number to number.
inline constexpr std::uint64_t splitmix64_step = 0x9e3779b97f4a7c15U;

/// The number that follows a state. Every bit of the state is spread over all bits of it.
[[nodiscard]] constexpr std::uint64_t splitmix64(std::uint64_t state) {
  auto number = state + splitmix64_step;
  number = (number ^ (number >> 30U)) * 0xbf58476d1ce4e5b9U;
  number = (number ^ (number >> 27U)) * 0x94d049bb133111ebU;
  return number ^ (number >> 31U);
}

}  // namespace lockstep
