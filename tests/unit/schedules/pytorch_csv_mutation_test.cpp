// Whatever happens to a file, it is either refused with a problem that names a row, or what comes in is a sound order
// that runs to its end.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "tests/unit/schedules/csv_cells.hpp"
#include "tests/unit/schedules/golden_csv.hpp"
#include "workloads/pipeline/pipeline_timing.hpp"
#include "workloads/pipeline/verify_order.hpp"

namespace lockstep {
namespace {

/// True if it was taken.
bool taken_or_refused(const std::string& csv, workloads::StagePlacement placement, const std::string& about) {
  const auto imported = import_pytorch_csv(csv, placement);
  if (imported.problems.empty()) {
    EXPECT_TRUE(verify_order(imported.order).empty()) << about;
    EXPECT_NO_THROW((void)time_order(imported.order, {})) << about << "\n" << csv;
    return true;
  }
  const auto& first = imported.problems.front();
  EXPECT_GE(first.row, 0) << about << ": " << first.what;
  EXPECT_FALSE(first.what.empty() || first.expected.empty()) << about;
  return false;
}

class Mutator {
 public:
  /// Drops, doubles, swaps, moves or misspells a cell.
  std::string operator()(test::CsvRows rows) {
    auto& row = rows[below(rows.size())];
    const auto i = below(row.size());
    const auto place = [](std::size_t index) { return static_cast<std::ptrdiff_t>(index); };
    switch (row[i].empty() ? 0 : below(6)) {
      case 0: row.erase(row.begin() + place(i)); break;
      case 1: row.insert(row.begin() + place(below(row.size() + 1)), row[i]); break;
      case 2: std::swap(row[i], row[below(row.size())]); break;
      case 3: {
        auto& other = rows[below(rows.size())];
        auto cell = row[i];
        row.erase(row.begin() + place(i));
        other.insert(other.begin() + place(below(other.size() + 1)), cell);
        break;
      }
      case 4: row[i][below(row[i].size())] = "0123456789FBIW_SEND();, x"[below(25)]; break;
      default: row[i].insert(below(row[i].size() + 1), 1, static_cast<char>(below(256)));
    }
    return test::csv_of_cells(rows);
  }

 private:
  std::size_t below(std::size_t end) { return static_cast<std::size_t>(random_()) % end; }
  std::mt19937 random_{20240607};
};

TEST(PytorchCsvMutation, RefusedOrSound) {
  Mutator mutate;
  std::size_t taken = 0, refused = 0;
  for (const auto* folder : {"", "torch_comms", "torch_mergebw", "torch_raw_blanks", "derived_wave"}) {
    for (const auto& file : golden_csvs(folder)) {
      if (file.text.size() > 4000) continue;
      const auto rows = test::cells_of_csv(file.text);
      for (int i = 0; i < 100; ++i) ++(taken_or_refused(mutate(rows), file.placement, file.name) ? taken : refused);
    }
  }
  EXPECT_GT(taken, 100U);  // harmless swaps
  EXPECT_GT(refused, 5 * taken);
}

// A file cut short lacks at least its last action, unless only its last newline is gone. (Nobody can tell a file of
// linear stages cut after a whole row from that of a shorter pipeline.)
TEST(PytorchCsvMutation, TruncatedFilesAreRefused) {
  for (const auto* name :
       {"1f1b_P2_M4.csv", "dualpipev_P2_M4_V2.csv", "dualpipe_P2_M4.csv", "torch_comms/dualpipev_P2_M4_V2_comms.csv"}) {
    const auto file = golden_csv(name);
    const auto end = file.text.size();
    std::vector<std::size_t> whole = {end - 1};
    const auto first_row = file.text.find('\n');
    if (file.placement == workloads::StagePlacement::linear) whole.insert(whole.end(), {first_row, first_row + 1});
    // The last stage may stay unsharded, as earlier PyTorch leaves it.
    if (file.text.ends_with(",1RESHARD\n")) whole.insert(whole.end(), {end - 10, end - 9});
    for (std::size_t size = 0; size < end; ++size) {
      const auto imported = import_pytorch_csv(file.text.substr(0, size), file.placement);
      EXPECT_EQ(imported.problems.empty(), std::find(whole.begin(), whole.end(), size) != whole.end())
          << name << " cut after " << size;
    }
  }
}

}  // namespace
}  // namespace lockstep
