// A placement says how many positions of each physical axis each mesh axis takes: a table of parts with
//   product over a row = size of the mesh axis,   product over a column = size of the physical axis.
// Axes that come earlier lie inside later ones. Tables that differ only by exchanging like axes of a torus are one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "tests/unit/topologies/small_fabric.hpp"

namespace lockstep {
namespace {

using test::on;
using test::sized;
using Table = std::vector<std::vector<int>>;  // by mesh axis and physical axis

/// Every way to write `size` as a product with a factor for each column that divides what is left of it.
void rows(int size, std::size_t column, std::vector<int>& left, std::vector<int>& row,
          const std::function<void()>& visit) {
  if (column == left.size()) {
    if (size == 1) visit();
    return;
  }
  for (int part = 1; part <= size; ++part) {
    if (size % part != 0 || left[column] % part != 0) continue;
    left[column] /= part;
    row.push_back(part);
    rows(size / part, column + 1, left, row, visit);
    row.pop_back();
    left[column] *= part;
  }
}

void tables(const std::vector<int>& sizes, std::size_t next, std::vector<int>& left, Table& table,
            std::set<Table>& all) {
  if (next == sizes.size()) {
    if (std::all_of(left.begin(), left.end(), [](int size) { return size == 1; })) all.insert(table);
    return;
  }
  std::vector<int> row;
  rows(sizes[next], 0, left, row, [&] {
    table.push_back(row);
    tables(sizes, next + 1, left, table, all);
    table.pop_back();
  });
}

std::set<Table> every_table(const std::vector<int>& sizes, std::vector<int> shape) {
  Table table;
  std::set<Table> all;
  tables(sizes, 0, shape, table, all);
  return all;
}

Table table_of(const std::vector<topologies::MeshAxis>& axes, std::size_t columns) {
  Table table;
  for (const topologies::MeshAxis& axis : axes) {
    auto& row = table.emplace_back(columns, 1);
    for (const topologies::Factor& factor : axis.factors) row[static_cast<std::size_t>(factor.axis)] *= factor.size;
  }
  return table;
}

/// The smallest of the tables that exchanging columns of like axes makes of one.
Table canonical(const Table& table, const topologies::Cluster& cluster) {
  const auto& axes = cluster.axes();
  std::vector<std::size_t> order(axes.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  Table least = table;
  do {
    bool alike = true;
    for (std::size_t i = 0; i < order.size(); ++i) {
      const topologies::PhysicalAxis &one = axes[i], &other = axes[order[i]];
      const bool torus =
          one.kind == topologies::PhysicalAxis::Kind::torus && other.kind == topologies::PhysicalAxis::Kind::torus;
      alike = alike && (i == order[i] || (torus && one.size == other.size && one.wraps == other.wraps));
    }
    if (!alike) continue;
    Table exchanged = table;
    for (std::size_t row = 0; row < table.size(); ++row) {
      for (std::size_t i = 0; i < order.size(); ++i) exchanged[row][i] = table[row][order[i]];
    }
    least = std::min(least, exchanged);
  } while (std::next_permutation(order.begin(), order.end()));
  return least;
}

std::vector<std::vector<topologies::MeshAxis>> all_placements(const topologies::Cluster& cluster,
                                                              const std::vector<topologies::AxisRequest>& requests) {
  auto result = every_placement(cluster, requests);
  if (const auto* error = std::get_if<topologies::PlacementError>(&result)) throw std::runtime_error(error->what);
  return std::get<std::vector<std::vector<topologies::MeshAxis>>>(std::move(result));
}

struct Case {
  std::vector<int> shape, sizes;
};
const std::vector<Case> cases{{{8}, {2, 4}},         {{4, 4}, {4, 4}},       {{4, 4}, {2, 8}},    {{8, 2}, {4, 4}},
                              {{4, 4, 4}, {4, 16}},  {{4, 4, 4}, {2, 4, 8}}, {{2, 3, 4}, {6, 4}}, {{6, 6}, {2, 3, 6}},
                              {{4, 4, 8}, {8, 16}},  {{1, 4}, {2, 2}},       {{3, 5}, {1, 15}},   {{4, 2, 4}, {4, 8}},
                              {{2, 2, 2}, {2, 2, 2}}};

std::vector<topologies::AxisRequest> requests_of(const std::vector<int>& sizes) {
  std::vector<topologies::AxisRequest> requests;
  for (std::size_t i = 0; i < sizes.size(); ++i) requests.push_back(sized(std::string(1, "abc"[i]), sizes[i]));
  return requests;
}

TEST(EveryPlacement, IsEveryTableOnceUpToLikeAxes) {
  bool folded = false;
  for (const topologies::WrapRule& wrap : {test::never, test::always, test::multiple_of_four}) {
    for (const Case& each : cases) {
      SCOPED_TRACE(testing::PrintToString(each.shape) + " for " + testing::PrintToString(each.sizes));
      const topologies::Cluster cluster = test::torus(each.shape, wrap);
      const std::set<Table> tables = every_table(each.sizes, each.shape);
      std::set<Table> expected, found;
      for (const Table& table : tables) expected.insert(canonical(table, cluster));
      for (const auto& placement : all_placements(cluster, requests_of(each.sizes))) {
        EXPECT_TRUE(found.insert(canonical(table_of(placement, each.shape.size()), cluster)).second) << "told twice";
        EXPECT_NO_THROW(topologies::Mesh(cluster, placement, ""));
      }
      EXPECT_EQ(found, expected);
      folded = folded || expected.size() < tables.size();

      int tried = 0;
      const auto any = place_by_cost(
          cluster, requests_of(each.sizes), [](const topologies::Mesh&) { return Seconds(1); }, tried);
      EXPECT_TRUE(std::holds_alternative<std::vector<topologies::MeshAxis>>(any));
      EXPECT_EQ(tried, std::ssize(tables)) << "a search computes the cost of each";
    }
  }
  EXPECT_TRUE(folded) << "no case has like axes";
}

// Nodes and chips of a node are never alike, even where there are as many.
TEST(EveryPlacement, BehindSwitchesNothingIsAlike) {
  const topologies::Cluster cluster =
      build_cluster(test::nodes(4, test::fabric(topologies::Crossbar{}), test::node(4, 4)));
  EXPECT_EQ(all_placements(cluster, {sized("a", 4), sized("b", 4)}).size(), every_table({4, 4}, {4, 4}).size());
}

// Only the axes of a single torus are exchanged: those of several pods are told apart.
TEST(EveryPlacement, AxesOfPodsAreNotExchanged) {
  const topologies::Cluster cluster = build_cluster(test::pods(2, test::fabric(topologies::Crossbar{}), {4, 4}));
  EXPECT_EQ(all_placements(cluster, {sized("a", 8), sized("b", 4)}).size(), every_table({8, 4}, {2, 4, 4}).size());
}

// Earlier axes lie innermost: the stride of a part is the product of those that earlier axes take of the physical axis.
TEST(EveryPlacement, EarlierAxesLieInside) {
  const topologies::Cluster cluster = test::torus({8, 8}, test::always);
  for (const auto& placement : all_placements(cluster, {sized("a", 4), sized("b", 2), sized("c", 8)})) {
    std::vector<int> taken(2, 1);
    for (const topologies::MeshAxis& axis : placement) {
      for (const topologies::Factor& factor : axis.factors) {
        EXPECT_EQ(factor.stride, taken[static_cast<std::size_t>(factor.axis)]);
        taken[static_cast<std::size_t>(factor.axis)] *= factor.size;
      }
    }
  }
}

// Parts that are placed stay where they are; `rest` or an axis without a size takes what the others leave.
TEST(EveryPlacement, KeepsWhatIsPlaced) {
  const topologies::Cluster cluster = test::torus({4, 4, 4}, test::always);
  const auto placements = all_placements(cluster, {on("a", {"x"}), sized("b", 4), on("c", {"rest"})});
  // b on y and z as 4 x 1 (like 1 x 4) or 2 x 2.
  EXPECT_EQ(placements.size(), 2U);
  for (const auto& placement : placements) {
    EXPECT_EQ(placement[0].factors, (std::vector<topologies::Factor>{{0, 4, 1}}));
    EXPECT_EQ(placement[1].size(), 4);
    EXPECT_EQ(placement[2].size(), 4);
  }
  EXPECT_EQ(all_placements(test::torus({1}, test::never), {sized("a", 1)}).size(), 1U);
}

TEST(EveryPlacement, WhatCannotBePlacedIsAnError) {
  const topologies::Cluster cluster = test::torus({4, 4}, test::always);
  const auto error = [&](const std::vector<topologies::AxisRequest>& requests) {
    return std::get<topologies::PlacementError>(every_placement(cluster, requests));
  };
  EXPECT_EQ(error({sized("a", 3), sized("b", 5)}).axis, "b");
  EXPECT_EQ(error({sized("a", 0), sized("b", 0)}).what, "it and `a` would both take what is left");
  EXPECT_EQ(error({on("a", {"q"}), sized("b", 4)}).axis, "a");
}

// A search finds the cheapest of all, whatever the cost: here one that has no pattern.
TEST(PlaceByCost, FindsTheLeastOfAll) {
  for (const Case& each : cases) {
    const topologies::Cluster cluster = test::torus(each.shape, test::always);
    const auto cost_of = [&](const Table& table) {
      unsigned mixed = 17;
      for (const auto& row : table) {
        for (const int part : row) mixed = mixed * 31 + static_cast<unsigned>(part);
      }
      return static_cast<double>(mixed % 1009);
    };
    double least = 1e9;
    for (const Table& table : every_table(each.sizes, each.shape)) least = std::min(least, cost_of(table));
    int tried = 0;
    const auto found = place_by_cost(
        cluster, requests_of(each.sizes),
        [&](const topologies::Mesh& mesh) { return Seconds(cost_of(table_of(mesh.axes(), each.shape.size()))); },
        tried);
    const auto& axes = std::get<std::vector<topologies::MeshAxis>>(found);
    EXPECT_EQ(cost_of(table_of(axes, each.shape.size())), least) << testing::PrintToString(each.shape);
  }
}

}  // namespace
}  // namespace lockstep
