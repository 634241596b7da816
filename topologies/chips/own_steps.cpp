#include "topologies/chips/own_steps.hpp"

#include <algorithm>
#include <charconv>
#include <string_view>

namespace lockstep::topologies {
namespace {

constexpr std::string_view mark = "own steps of this machine: ";

}  // namespace

int own_steps(const ChipKernels& kernels) {
  for (const std::string_view source : kernels.sources) {
    if (!source.starts_with(mark)) continue;
    int steps = 0;
    std::from_chars(source.data() + mark.size(), source.data() + source.size(), steps);
    return std::max(steps, 0);
  }
  return 0;
}

void set_own_steps(ChipKernels& kernels, int steps) {
  std::erase_if(kernels.sources, [](const auto& source) { return source.starts_with(mark); });
  if (steps > 0) kernels.sources.push_back(std::string(mark) + std::to_string(steps));
}

}  // namespace lockstep::topologies
