// The notation of shardings: what is read is printed alike, and every mistake is named with its place.
#include <gtest/gtest.h>

#include "workloads/sharding/notation.hpp"

namespace lockstep {
namespace {

const workloads::AxisNames letters{"X", "Y", "Z"};
const workloads::AxisNames words{"data", "fsdp", "tensor"};

TEST(ShardingNotation, PrintsWhatItReads) {
  for (const auto* text :
       {"In[B, D]", "In[B_X, D_Y]", "In[B_XY, D]", "In[B_YX, D_Z]", "Out[B, D] {U_X}", "Out[B_Z, D] {U_XY}", "W[D]"}) {
    EXPECT_EQ(workloads::parse_tensor(text, letters).to_string(), text);
  }
  for (const auto* text : {"In[B_data, D_tensor]", "In[B_{data,fsdp}, D]", "Out[B, D_tensor] {U_{data,fsdp}}",
                           "Wq[D_fsdp, N_tensor, H]"}) {
    EXPECT_EQ(workloads::parse_tensor(text, words).to_string(), text);
  }
  const auto* product = "In[B_X, D_Y] * Win[D_X, F_Y] -> Tmp[B_X, F_Y]";
  EXPECT_EQ(workloads::parse_einsum(product, letters).to_string(), product);
}

TEST(ShardingNotation, SpacesDoNotMatter) {
  EXPECT_EQ(workloads::parse_tensor("  In [ B_{ data , fsdp } ,D ]{U_ tensor }  ", words).to_string(),
            "In[B_{data,fsdp}, D] {U_tensor}");
  EXPECT_EQ(workloads::parse_einsum("A[I,J]*B[J,K]->C[I,K]", letters).to_string(), "A[I, J] * B[J, K] -> C[I, K]");
}

TEST(ShardingNotation, LettersInARowAreSeveralAxesOutermostFirst) {
  EXPECT_EQ(workloads::parse_tensor("A[I_ZXY]", letters).dims[0].axes, (workloads::AxisNames{"Z", "X", "Y"}));
  // An axis of that very name goes before its letters.
  EXPECT_EQ(workloads::parse_tensor("A[I_XY]", {"X", "Y", "XY"}).dims[0].axes, workloads::AxisNames{"XY"});
}

TEST(ShardingNotation, Questions) {
  const auto tensor = workloads::parse_tensor("A[I_X, J] {U_Y}", letters);
  EXPECT_EQ(tensor.sharded_by("X"), tensor.find("I"));
  EXPECT_EQ(tensor.sharded_by("Y"), nullptr);
  EXPECT_EQ(tensor.find("K"), nullptr);
  EXPECT_TRUE(tensor.is_partial_over("Y"));
  EXPECT_FALSE(tensor.is_partial_over("X"));
  EXPECT_TRUE(tensor.same_sharding(workloads::parse_tensor("Other[I_X, J] {U_Y}", letters)));
  EXPECT_FALSE(tensor.same_sharding(workloads::parse_tensor("A[I_X, J]", letters)));
  EXPECT_FALSE(workloads::parse_tensor("A[I_XY]", letters).same_sharding(workloads::parse_tensor("A[I_YX]", letters)));
}

struct Mistake {
  const char* text;
  const char* axis;
  const char* what;
  const char* expected;
  int column;
};

TEST(ShardingNotation, EveryMistakeIsNamedWithItsColumn) {
  const Mistake mistakes[] = {
      {"", "", "'' ends too early at column 1", "a tensor's name", 1},
      {"[B]", "", "'[B]' has '[' where a name is due at column 1", "a tensor's name", 1},
      {"In B", "", "'In B' has 'B' at column 4", "'[' after the tensor's name", 4},
      {"In", "", "'In' ends too early at column 3", "'[' after the tensor's name", 3},
      {"In[]", "", "'In[]' has ']' where a name is due at column 4", "a dimension", 4},
      {"In[B,", "", "'In[B,' ends too early at column 6", "a dimension", 6},
      {"In[B D]", "", "'In[B D]' has 'D' at column 6", "',' or ']' after a dimension", 6},
      {"In[B, B]", "", "'In[B, B]' names dimension B twice at column 7", "each dimension once", 7},
      {"In[B_]", "", "'In[B_]' has ']' where a name is due at column 6", "a mesh axis", 6},
      {"In[B_Q]", "Q", "mesh axis Q does not exist", "one of X, Y, Z", 6},
      {"In[B_XQ]", "XQ", "mesh axis XQ does not exist", "one of X, Y, Z", 6},
      {"In[B_{X,Q}]", "Q", "mesh axis Q does not exist", "one of X, Y, Z", 9},
      {"In[B_{X]", "", "'In[B_{X]' has ']' at column 8", "'}' after the axes", 8},
      {"In[B_X, D_X]", "X", "mesh axis X is used twice in In[B_X, D_X]", "an axis at most once per tensor", 1},
      {"In[B_XX]", "X", "mesh axis X is used twice in In[B_XX]", "an axis at most once per tensor", 1},
      {"In[B_X] {U_X}", "X", "mesh axis X is used twice in In[B_X] {U_X}", "an axis at most once per tensor", 1},
      {"In[B] {V_X}", "", "'In[B] {V_X}' is not a partial sum at column 8", "{U_X}", 8},
      {"In[B] {U}", "", "'In[B] {U}' is not a partial sum at column 8", "{U_X}", 8},
      {"In[B] {U_X", "", "'In[B] {U_X' ends too early at column 11", "'}' after a partial sum's axes", 11},
      {"In[B] x", "", "'In[B] x' has text after its end at column 7", "nothing more", 7},
  };
  for (const auto& mistake : mistakes) {
    try {
      (void)workloads::parse_tensor(mistake.text, letters);
      ADD_FAILURE() << mistake.text << " was accepted";
    } catch (const workloads::ShardingError& error) {
      EXPECT_EQ(error.axis(), mistake.axis) << mistake.text;
      EXPECT_EQ(error.what_is_wrong(), mistake.what);
      EXPECT_EQ(error.expected(), mistake.expected) << mistake.text;
      EXPECT_EQ(error.column(), mistake.column) << mistake.text;
      EXPECT_EQ(std::string(error.what()), std::string(mistake.what) + "; expected " + mistake.expected);
    }
  }
}

TEST(ShardingNotation, ADoubleAxisInAProductIsPlacedAtItsTensor) {
  try {
    (void)workloads::parse_einsum("A[I, J] * B[J_X, K_X] -> C[I, K]", letters);
    FAIL() << "accepted";
  } catch (const workloads::ShardingError& error) {
    EXPECT_EQ(error.axis(), "X");
    EXPECT_EQ(error.column(), 11);
  }
}

TEST(ShardingNotation, MistakesInProducts) {
  const std::pair<const char*, const char*> mistakes[] = {
      {"A[I, J]", "'*' between the two operands"},
      {"A[I, J] * B[J, K]", "'->' before the result"},
      {"A[I, J] * B[J, K] - C[I, K]", "'->' before the result"},
      {"A[I, J] * B[J, K] -> C[I, K] -> D[I]", "nothing more"},
  };
  for (const auto& [text, expected] : mistakes) {
    try {
      (void)workloads::parse_einsum(text, letters);
      ADD_FAILURE() << text << " was accepted";
    } catch (const workloads::ShardingError& error) {
      EXPECT_EQ(error.expected(), expected) << text;
    }
  }
}

}  // namespace
}  // namespace lockstep
