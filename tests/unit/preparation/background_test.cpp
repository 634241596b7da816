// The traffic of others on links: names, with and without *, the sum of several loads, and what is refused.
#include <gmock/gmock.h>

#include "sim/preparation/preparation.hpp"
#include "tests/unit/scenario/small_scenario.hpp"

namespace lockstep::test {
namespace {

using ::testing::HasSubstr;

topologies::Cluster with_background(const std::string& background) {
  return preparation::cluster_of(small_scenario(
      {{"cluster",
        "{node: {like: dgx-h100, chips: 2}, nodes: 4, fabric: {like: infiniband-ndr-fat-tree, radix: 6}, "
        "background: " +
            background + "}"},
       {"parallel", "{data: 8}"}}));
}

/// By the name of the link, the share that the two clusters' rates leave.
std::map<std::string, double> left(const std::string& background) {
  const auto whole = with_background("[]"), shared = with_background(background);
  std::map<std::string, double> shares;
  for (topologies::LinkId link = 0; link < whole.links(); ++link) {
    shares[whole.link_name(link)] = shared.link(link).bandwidth.value() / whole.link(link).bandwidth.value();
    EXPECT_NEAR(shares[whole.link_name(link)] + shared.background(link), 1, 1e-12);
  }
  return shares;
}

// Leaves of 3 ports down hold one node of 2 NICs each: 4 leaves. A pattern with > is one way, a node's name means all
// of its links, and loads of one link add up.
TEST(Background, LeavesTheRestOfTheLinks) {
  const auto shares = left(
      "[{links: 'leaf(0)>*', load: 30 %}, {links: 'leaf(*)>spine*', load: 0.2}, "
      "{links: 'nic(3,1)', load: 50 %}]");
  int checked = 0;
  for (const auto& [name, share] : shares) {
    const bool up = name.starts_with("leaf(") && name.find(">spine") != std::string::npos;
    const bool of_leaf_0 = name.starts_with("leaf(0)>"), of_nic = name.find("nic(3,1)") != std::string::npos;
    const double expected = 1 - (of_leaf_0 ? 0.3 : 0) - (up ? 0.2 : 0) - (of_nic ? 0.5 : 0);
    EXPECT_NEAR(share, expected, 1e-12) << name;
    checked += expected < 1;
  }
  EXPECT_GE(checked, 4 + 2 + 4);  // uplinks, leaf 0's links down, both ways of the NIC's two links
}

TEST(Background, RefusesWhatCannotBe) {
  const auto problems = refused([] {
    (void)with_background(
        "[{links: 'leef*', load: 10 %}, {links: 'leaf(0)>*', load: 60 %}, {links: 'leaf(0)', load: 0.5}]");
  });
  EXPECT_THAT(problems, HasSubstr("cluster.background[0]: the cluster has no link called 'leef*' [a name such as '"));
  EXPECT_THAT(problems, HasSubstr("cluster.background[2]: others take 110.0 % of leaf(0)>"));
  EXPECT_THAT(problems, HasSubstr("[less than 100 %]"));
  EXPECT_THAT(refused([] { (void)with_background("[{links: 'leaf(0)', load: 100 %}]"); }),
              HasSubstr("cluster.background[0].load: `100 %` is not a share of a link [0 % to less than 100 %]"));
  EXPECT_THAT(refused([] { (void)with_background("[{links: 'leaf(0)', load: much %}]"); }), HasSubstr("`much %`"));
}

}  // namespace
}  // namespace lockstep::test
