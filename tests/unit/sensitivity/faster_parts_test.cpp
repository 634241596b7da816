// The cables and switches that a step uses most, twice as fast: the saving is that of the same network with faster
// cables in its file (two_leaves.hpp, with slow uplinks).
#include "sim/studies/sensitivity/faster_parts.hpp"

#include <gtest/gtest.h>
#include <spdlog/spdlog.h>

#include <algorithm>

#include "sim/studies/sensitivity/elasticity.hpp"
#include "tests/unit/scenario/two_leaves.hpp"

namespace lockstep {
namespace {

using test::on_two_leaves;
using test::with_cables_of_hosts;
using test::with_uplinks;

TEST(FasterParts, SaveWhatFasterCablesInTheFileDo) {
  spdlog::logger log("quiet");
  SimulateOptions options;
  options.engine = engine::EngineKind::max_min;
  options.record_phases = true;
  const auto slow = with_uplinks(on_two_leaves(), 0.05);
  const auto whole = sensitivity::simulate_with_elasticity(slow, options, log);
  const auto parts = sensitivity::faster_parts(slow, whole, log);
  const double twice =
      simulate(with_uplinks(on_two_leaves(), 0.1), options, log).metrics.step_time / whole.metrics.step_time;
  ASSERT_FALSE(parts.empty());
  EXPECT_GT(parts.front().gain, 0.1);
  EXPECT_NEAR(parts.front().gain, 1 - twice, 1e-6);
  bool names_uplinks = false;
  for (const auto& part : parts) {
    names_uplinks = names_uplinks || part.name == "leaf1 - spine1 and 1 more";
    if (part.name.starts_with("gpu")) {
      EXPECT_LT(part.gain, 1e-6) << "a NIC waits for the uplinks";
    }
    EXPECT_LE(part.used, 1);
  }
  EXPECT_TRUE(names_uplinks);
}

/// A cable to a NIC twice as fast is the machine whose file says so of the cable and of the NIC; a faster cable alone
/// changes nothing, since the NIC is as slow as before. The gain of a part keeps the protocols that were chosen, and
/// the faster machine may choose others that are better by a little: without LL128, 8 more of 128 bytes are data.
TEST(FasterParts, MakeNicsFasterWithTheirCables) {
  spdlog::logger log("quiet");
  SimulateOptions options;
  options.engine = engine::EngineKind::max_min;
  options.record_phases = true;
  const auto as_it_is = with_uplinks(on_two_leaves(), 4);
  const auto whole = sensitivity::simulate_with_elasticity(as_it_is, options, log);
  const auto parts = sensitivity::faster_parts(as_it_is, whole, log);
  const auto nic =
      std::find_if(parts.begin(), parts.end(), [](const auto& part) { return !part.is_switch && part.with_nics; });
  ASSERT_NE(nic, parts.end());
  EXPECT_TRUE(nic->name.starts_with("gpu")) << nic->name;
  EXPECT_GT(nic->gain, 0.05);

  auto faster = with_cables_of_hosts(as_it_is, 2);
  EXPECT_NEAR(simulate(faster, options, log).metrics.step_time / whole.metrics.step_time, 1, 1e-9);
  std::get<topologies::NodeSpec>(faster.cluster.unit).nic =
      std::get<topologies::NodeSpec>(as_it_is.cluster.unit).nic * 2.0;
  const double gain = 1 - simulate(faster, options, log).metrics.step_time / whole.metrics.step_time;
  EXPECT_GE(gain, nic->gain - 1e-6);
  EXPECT_LE(gain, nic->gain + 8.0 / 128 * (1 - nic->gain));
}

}  // namespace
}  // namespace lockstep
