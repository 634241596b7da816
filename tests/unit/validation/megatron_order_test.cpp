// Megatron's ranks as a mesh: tensor, context, expert, fsdp, data, pipeline from the inside out, chips of a node first.
#include "sim/studies/megatron_order.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

namespace lockstep {
namespace {

std::string mesh(std::int64_t chips, const std::map<std::string, std::int64_t, std::less<>>& sizes,
                 bool pipeline_before_data = false) {
  std::string text;
  const auto size_of = [&](std::string_view axis) {
    const auto found = sizes.find(axis);
    return found == sizes.end() ? 1 : found->second;
  };
  for (const auto& [axis, place] : studies::megatron_order(chips, size_of, pipeline_before_data))
    text += axis + " " + place + "; ";
  return text;
}

// 2 tensor ranks leave 4 of 8 chips: 16 experts' ranks take these on 4 nodes. With pipeline before data 4 stages take
// the 4 that are left.
TEST(MegatronOrder, FillsNodesFromTheInsideOut) {
  EXPECT_EQ(mesh(8, {{"tensor", 2}, {"expert", 16}, {"pipeline", 8}}),
            "tensor [gpu/2]; expert [node/4, gpu/4]; pipeline [node/8]; ");
  EXPECT_EQ(mesh(8, {{"tensor", 2}, {"data", 4}, {"pipeline", 4}}),
            "tensor [gpu/2]; data [gpu/4]; pipeline [node/4]; ");
  EXPECT_EQ(mesh(8, {{"tensor", 2}, {"data", 4}, {"pipeline", 4}}, true),
            "tensor [gpu/2]; pipeline [gpu/4]; data [node/4]; ");
  EXPECT_EQ(mesh(8, {{"tensor", 16}, {"data", 4}}), "tensor [node/2, gpu/8]; data [node/4]; ");
}

// 6 ranks of 8 chips reach into the next node at another place for each group: no part of both axes.
TEST(MegatronOrder, IsLeftOpenWhereNodesAreNoProduct) {
  EXPECT_EQ(mesh(8, {{"tensor", 6}, {"data", 4}}), "");
  EXPECT_EQ(mesh(8, {}), "");
}

// 8 experts' ranks on 2 tensor ranks with experts of their own are 4 on an axis of their own, which 4 replicas have; of
// 2 replicas and 2 context ranks the axis has 2. Without either they lie nowhere.
TEST(MegatronOrder, ExpertsTakeTensorRanksThenReplicasThenContext) {
  const auto of = [](std::int64_t inside, std::int64_t context, std::int64_t replicas) {
    const auto ranks = studies::ranks_of_experts(8, inside, context, replicas);
    return ranks ? std::to_string(ranks->expert) + " " + ranks->over : "none";
  };
  EXPECT_EQ(of(2, 2, 4), "4 [expert, tensor]");
  EXPECT_EQ(of(1, 1, 16), "8 [expert]");
  EXPECT_EQ(of(2, 2, 2), "2 [expert, tensor, context]");
  EXPECT_EQ(of(1, 4, 2), "2 [expert, context]");
  EXPECT_EQ(of(1, 1, 4), "none");
}

}  // namespace
}  // namespace lockstep
