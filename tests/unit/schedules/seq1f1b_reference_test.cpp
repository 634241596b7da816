// Orders of Seq1F1B against what its authors' code runs (tests/data/pipeline/seq1f1b*_reference.csv say which commit
// and how): every size of the grid, cell by cell. No order here is Lockstep's own.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "tests/source_dir.hpp"
#include "workloads/pipeline/schedules/schedules.hpp"

namespace lockstep {
namespace {

struct ReferenceOrder {
  std::map<char, std::int32_t> sizes;
  bool fails = false;
  std::string order;  ///< a line for each rank
};

/// Blocks "P4 M8 n2 V1", then a line for each rank, or "P3 M6 n2 V2 fails".
std::vector<ReferenceOrder> reference_orders(const std::string& name) {
  std::ifstream file(std::string(source_dir) + "/tests/data/pipeline/" + name);
  std::vector<ReferenceOrder> orders;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("#")) continue;
    if (!line.starts_with("P")) {
      orders.back().order += line + "\n";
      continue;
    }
    auto& made = orders.emplace_back();
    std::istringstream words(line);
    for (std::string word; words >> word;) {
      if (word == "fails")
        made.fails = true;
      else
        made.sizes[word.front()] = std::stoi(word.substr(1));
    }
  }
  return orders;
}

workloads::ScheduleRequest request_of(const std::string& name, const ReferenceOrder& reference) {
  workloads::ScheduleRequest request;
  request.name = name;
  request.ranks = reference.sizes.at('P');
  request.microbatches = reference.sizes.at('M');
  request.slices = reference.sizes.at('n');
  request.chunks = reference.sizes.at('V');
  return request;
}

std::string text(const ReferenceOrder& reference) {
  std::string words;
  for (const auto& [letter, size] : reference.sizes) words += letter + std::to_string(size) + " ";
  return words;
}

/// The cells with one letter, rank by rank: "0F0,0F1,".
std::string only(char letter, const std::string& order) {
  std::string found;
  std::istringstream ranks(order);
  for (std::string rank; std::getline(ranks, rank); found += "\n") {
    std::istringstream cells(rank);
    for (std::string cell; std::getline(cells, cell, ',');) {
      if (cell.find(letter) != std::string::npos) found += cell + ",";
    }
  }
  return found;
}

// P 2 to 8, M 1 to 9, n 1 to 8.
TEST(Seq1F1BReference, EverySizeOfTheGrid) {
  const auto orders = reference_orders("seq1f1b_reference.csv");
  ASSERT_EQ(orders.size(), 150U);
  for (const auto& reference : orders) {
    SCOPED_TRACE(text(reference));
    EXPECT_EQ(make_order(request_of("seq1f1b", reference)).to_string(), reference.order);
  }
}

// The released code keeps a branch of the Megatron that it started from: with as many microbatches as ranks all
// forwards go first, which holds every slice. Megatron has dropped it since, and Lockstep does not have it: there the
// forwards and the backwards go in the released order, each among themselves.
TEST(Seq1F1BReference, EverySizeOfTheInterleavedGrid) {
  int same = 0, all_forwards_first = 0, failed = 0;
  for (const auto& reference : reference_orders("seq1f1b_interleaved_reference.csv")) {
    SCOPED_TRACE(text(reference));
    const auto request = request_of("seq1f1b-interleaved", reference);
    const auto why = workloads::find_schedule(request.name)->why_not(request);
    if (reference.fails) {
      ++failed;
      ASSERT_TRUE(why.has_value());
      EXPECT_EQ(why->about, "slices");
      continue;
    }
    if (request.ranks % request.slices != 0) {  // only with all forwards first do such slices pass
      EXPECT_EQ(request.microbatches, request.ranks);
      EXPECT_EQ(why.value().about, "slices");
      continue;
    }
    const auto order = make_order(request).to_string();
    if (request.microbatches > request.ranks) {
      ++same;
      EXPECT_EQ(order, reference.order);
      continue;
    }
    ++all_forwards_first;
    EXPECT_EQ(only('F', order), only('F', reference.order));
    EXPECT_EQ(only('B', order), only('B', reference.order));
    EXPECT_LT(reference.order.substr(0, reference.order.find('\n')).rfind('F'), reference.order.find('B'));
  }
  EXPECT_EQ(same, 37);
  EXPECT_EQ(all_forwards_first, 20);
  EXPECT_EQ(failed, 22);
}

}  // namespace
}  // namespace lockstep
