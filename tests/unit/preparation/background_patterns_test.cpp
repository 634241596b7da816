// Names of links with * against regular expressions with .*, and what loads leave: 1 - (the sum of the loads of all
// patterns that a link has), in any order of the list. What takes bandwidth alone takes 1 / (1 - load) times as long.
#include <gmock/gmock.h>

#include <map>
#include <random>
#include <regex>

#include "sim/preparation/preparation.hpp"
#include "tests/unit/scenario/small_scenario.hpp"

namespace lockstep::test {
namespace {

struct Load {
  std::string links;
  double load;
};

Keys with(const std::vector<Load>& loads) {
  std::string list;
  for (const auto& [links, load] : loads)
    list += (list.empty() ? "" : ", ") + ("{links: '" + links + "', load: " + std::to_string(load) + "}");
  return {{"cluster",
           "{node: {like: dgx-h100, chips: 2, algorithms: [ring]}, nodes: 4, fabric: {like: infiniband-ndr-fat-tree, "
           "radix: 6}, "
           "background: [" +
               list + "]}"},
          {"parallel", "{data: 8}"}};
}

topologies::Cluster shared(const std::vector<Load>& loads) {
  return preparation::cluster_of(small_scenario(with(loads)));
}

std::regex regex_of(const std::string& pattern) {
  std::string text;
  for (const char letter : pattern) text += letter == '*' ? std::string(".*") : std::string("[") + letter + "]";
  return std::regex(text);
}

/// A pattern with > means links, another the links of all nodes of such names.
bool means(const std::string& pattern, const topologies::Cluster& cluster, topologies::LinkId link) {
  const auto matches = [&](const std::string& name) { return std::regex_match(name, regex_of(pattern)); };
  if (pattern.find('>') != std::string::npos) return matches(cluster.link_name(link));
  return matches(cluster.node(cluster.link(link).from).name) || matches(cluster.node(cluster.link(link).to).name);
}

/// The name with up to three of its parts, which may be empty, replaced by *; a link's name stays one, with its >.
std::string with_stars(const std::string& name, std::mt19937& random) {
  std::string pattern = name;
  for (std::size_t stars = random() % 4; stars > 0; --stars) {
    const auto from = random() % (pattern.size() + 1);
    pattern.replace(from, random() % (pattern.size() - from + 1), "*");
  }
  const bool is_link = name.find('>') != std::string::npos;
  return is_link == (pattern.find('>') != std::string::npos) ? pattern : name;
}

// 40 patterns made from names of this cluster, so that each means at least that link.
TEST(BackgroundPatterns, AreWhatTheirRegularExpressionsAre) {
  std::mt19937 random(7);
  const auto whole = shared({});
  int several = 0;
  for (int draw = 0; draw < 40; ++draw) {
    const auto link = static_cast<topologies::LinkId>(random() % static_cast<unsigned>(whole.links()));
    const auto pattern =
        with_stars(draw % 2 == 0 ? whole.link_name(link) : whole.node(whole.link(link).from).name, random);
    const auto cluster = shared({{pattern, 0.25}});
    int meant = 0;
    for (topologies::LinkId id = 0; id < whole.links(); ++id) {
      const bool is_meant = means(pattern, whole, id);
      EXPECT_EQ(cluster.background(id), is_meant ? 0.25 : 0) << "'" << pattern << "' on " << whole.link_name(id);
      EXPECT_EQ(cluster.link(id).bandwidth.value(), whole.link(id).bandwidth.value() * (is_meant ? 0.75 : 1))
          << "'" << pattern << "' on " << whole.link_name(id);
      meant += is_meant ? 1 : 0;
    }
    EXPECT_GE(meant, 1) << pattern;
    several += meant > 1 ? 1 : 0;
  }
  EXPECT_GT(several, 10);
}

// Loads of one link add up whatever their order: 1 - sum of those whose pattern means it.
TEST(BackgroundPatterns, LoadsAddUpInAnyOrder) {
  std::vector<Load> loads{{"*", 0.05}, {"leaf(0)>*", 0.2}, {"nic(*,1)", 0.1}, {"*>spine*", 0.3}, {"leaf(*", 0.125}};
  const auto whole = shared({});
  const auto one = shared(loads);
  std::map<topologies::LinkId, double> left;
  for (topologies::LinkId id = 0; id < whole.links(); ++id) {
    left[id] = 1;
    for (const auto& [links, load] : loads) left[id] -= means(links, whole, id) ? load : 0;
    EXPECT_NEAR(one.link(id).bandwidth.value(), left[id] * whole.link(id).bandwidth.value(), 1) << one.link_name(id);
  }
  std::reverse(loads.begin(), loads.end());
  const auto turned = shared(loads);
  for (topologies::LinkId id = 0; id < whole.links(); ++id) EXPECT_NEAR(turned.background(id), 1 - left[id], 1e-12);
}

/// What an all-gather of 2 V takes longer than one of V: the part that grows with the bytes.
double for_bytes(const std::vector<Load>& loads) {
  const auto step = preparation::prepare(small_scenario(with(loads)));
  const auto cost = [&](std::int64_t bytes) {
    return step.machine.collectives->cost(workloads::CollectiveKind::all_gather, {"data"}, Bytes(bytes)).value();
  };
  constexpr std::int64_t v = std::int64_t{1} << 34;
  return cost(2 * v) - cost(v);
}

// With a load on all links each rate is (1 - load) of what it was, so that part takes 1 / (1 - load) times as long.
TEST(BackgroundPatterns, LoadOnAllLinksStretchesTheBytes) {
  const double whole = for_bytes({});
  for (const double load : {0.0, 0.2, 0.5, 0.9})
    EXPECT_NEAR(for_bytes({{"*", load}}), whole / (1 - load), 1e-6 * whole / (1 - load)) << load;
}

// More load never makes it shorter, on any pattern, and less of the network loaded never longer.
TEST(BackgroundPatterns, MoreLoadIsNeverFaster) {
  for (const auto* links : {"leaf(0)>*", "nic(3,1)", "*>spine*", "nic(*", "*"}) {
    double before = for_bytes({});
    for (const double load : {0.1, 0.4, 0.7, 0.95}) {
      const double now = for_bytes({{links, load}});
      EXPECT_GE(now, before * (1 - 1e-12)) << links << " at " << load;
      EXPECT_LE(now, for_bytes({{"*", load}}) * (1 + 1e-12)) << links << " at " << load;
      before = now;
    }
    EXPECT_GT(before, 1.5 * for_bytes({})) << links << ": at 95 % it must be felt";
  }
}

}  // namespace
}  // namespace lockstep::test
