// Colour refinement on graphs whose symmetries are known.
#include "sim/studies/faults/refine.hpp"

#include <gtest/gtest.h>

namespace lockstep {
namespace {

using Colours = std::vector<std::int32_t>;

/// On a path of five nodes a node looks like its mirror image; a mark on one end tells all apart.
TEST(Refined, FindsMirrorImages) {
  const std::vector<faults::Joint> path{{0, 1, 0}, {1, 2, 0}, {2, 3, 0}, {3, 4, 0}};
  EXPECT_EQ(faults::refined(Colours(5, 0), path), (Colours{0, 1, 2, 1, 0}));
  EXPECT_EQ(faults::refined({9, 0, 0, 0, 0}, path), (Colours{0, 1, 2, 3, 4}));
}

/// On a ring all nodes look alike, until one edge has another label: then its two ends do.
TEST(Refined, TellsEdgesApartByLabel) {
  std::vector<faults::Joint> ring{{0, 1, 0}, {1, 2, 0}, {2, 3, 0}, {3, 0, 0}};
  EXPECT_EQ(faults::refined(Colours(4, 5), ring), Colours(4, 0));
  ring[0].label = 1;
  EXPECT_EQ(faults::refined(Colours(4, 5), ring), (Colours{0, 0, 1, 1}));
}

}  // namespace
}  // namespace lockstep
