// Communication cells of exported orders: a sound file has none too many and none too few, so dropping any one of them,
// or writing any one twice, is found, and told of in the row where it stood or where its other half does.
#include <gmock/gmock.h>

#include <map>

#include "tests/unit/pipeline/every_order.hpp"
#include "tests/unit/schedules/csv_cells.hpp"
#include "workloads/pipeline/csv/pytorch_csv.hpp"

namespace lockstep::test {
namespace {

bool is(const std::string& cell, const std::string& operation) { return cell.find(operation) != std::string::npos; }
bool is_communication(const std::string& cell) {
  return is(cell, "SEND") || is(cell, "RECV") || is(cell, "SHARD") || is(cell, "REDUCE");
}

/// Visits each small order with its cells.
template <class Visit>
int for_each_file(Visit visit) {
  int files = 0;
  for_each_request([&](const workloads::ScheduleRequest& request) {
    if (request.ranks > 3 || request.microbatches > 3 || *request.chunks > 2) return;
    const auto order = make_order(request);
    visit(order, cells_of_csv(export_pytorch_csv(order, {.communication = true})));
    ++files;
  });
  return files;
}

TEST(CommunicationCells, AreAsManyAsThereAreHopsAndStages) {
  const int files = for_each_file([](const workloads::PipelineOrder& order, const CsvRows& rows) {
    const auto& shape = order.shape;
    std::int32_t hops = 0, stages = 0;
    for (std::int32_t stage = 0; stage + 1 < shape.virtual_stages(); ++stage) {
      for (std::int32_t m = 0; m < shape.microbatches; ++m)
        hops += shape.rank_of(stage, m) == shape.rank_of(stage + 1, m) ? 0 : 1;
    }
    for (std::int32_t rank = 0; rank < shape.ranks; ++rank)
      stages += static_cast<std::int32_t>(shape.virtual_stages_of(rank).size());
    std::map<std::string, std::int32_t> counted;
    for (const auto& row : rows) {
      for (const auto& cell : row) {
        for (const auto* operation : {"SEND_F", "RECV_F", "SEND_B", "RECV_B", "REDUCE_GRAD"})
          counted[operation] += is(cell, operation) ? 1 : 0;
      }
    }
    EXPECT_EQ(counted["SEND_F"], hops);
    EXPECT_EQ(counted["RECV_F"], hops);
    EXPECT_EQ(counted["SEND_B"], hops);
    EXPECT_EQ(counted["RECV_B"], hops);
    EXPECT_EQ(counted["REDUCE_GRAD"], stages);
  });
  EXPECT_GT(files, 50);
}

TEST(CommunicationCells, AMissingOneIsFound) {
  int dropped = 0;
  for_each_file([&](const workloads::PipelineOrder& order, const CsvRows& rows) {
    ASSERT_TRUE(import_pytorch_csv(csv_of_cells(rows), order.shape.placement).problems.empty());
    for (std::size_t rank = 0; rank < rows.size(); ++rank) {
      for (std::size_t i = 0; i < rows[rank].size(); ++i) {
        const auto& cell = rows[rank][i];
        if (!is_communication(cell)) continue;
        // A stage that is never let go of again only holds more memory. The only reduction of a file makes it one
        // without reductions, and the only pair of transfers likewise is not looked for.
        if (is(cell, "RESHARD") || (is(cell, "REDUCE") && order.shape.ranks == 1 && order.shape.chunks == 1)) continue;
        auto changed = rows;
        changed[rank].erase(changed[rank].begin() + static_cast<std::ptrdiff_t>(i));
        const auto problems = import_pytorch_csv(csv_of_cells(changed), order.shape.placement).problems;
        ASSERT_FALSE(problems.empty()) << cell << " of\n" << csv_of_cells(rows);
        if (is(cell, "SEND") || is(cell, "RECV")) {
          const auto missing = std::string(is(cell, "SEND") ? "has no send" : "has no receive");
          EXPECT_THAT(problems.front().what, testing::HasSubstr(missing)) << cell;
          EXPECT_NE(problems.front().row, static_cast<std::int32_t>(rank)) << "the other half stands elsewhere";
          EXPECT_THAT(problems.front().expected, testing::StartsWith(cell));
        } else {
          EXPECT_EQ(problems.front().row, static_cast<std::int32_t>(rank)) << cell;
        }
        ++dropped;
      }
    }
  });
  EXPECT_GT(dropped, 1000);
}

TEST(CommunicationCells, OneTooManyIsFoundWhereItStands) {
  int doubled = 0;
  for_each_file([&](const workloads::PipelineOrder& order, const CsvRows& rows) {
    for (std::size_t rank = 0; rank < rows.size(); ++rank) {
      for (std::size_t i = 0; i < rows[rank].size(); ++i) {
        const auto& cell = rows[rank][i];
        if (!is_communication(cell)) continue;
        auto changed = rows;
        changed[rank].insert(changed[rank].begin() + static_cast<std::ptrdiff_t>(i), cell);
        const auto problems = import_pytorch_csv(csv_of_cells(changed), order.shape.placement).problems;
        ASSERT_FALSE(problems.empty()) << cell;
        EXPECT_EQ(problems.front().row, static_cast<std::int32_t>(rank));
        EXPECT_EQ(problems.front().column, static_cast<std::int32_t>(i) + 1) << "the second one of " << cell;
        EXPECT_EQ(problems.front().cell, cell);
        ++doubled;
      }
    }
  });
  EXPECT_GT(doubled, 1000);
}

}  // namespace
}  // namespace lockstep::test
