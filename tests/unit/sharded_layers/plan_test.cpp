// Strategies as shardings. Batch axes (data, fsdp, expert) split B, context splits T, tensor splits heads, d_ff and
// vocabulary; fsdp splits weights, and ZeRO splits over the axes that replicate a weight its optimizer state (1), its
// gradients (2) and itself (3).
#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <string>

#include "tests/unit/workloads/small_models.hpp"

namespace lockstep::test {
namespace {

using ::testing::HasSubstr;

const workloads::Parallel all_axes{.data = 2, .fsdp = 2, .tensor = 2, .context = 2};

TEST(PlanFor, SplitsActivationsByBatchSequenceAndHeads) {
  const auto plan = plan_for(blocks_of(transformer()), all_axes);
  const auto text = [&](const std::string& name) { return plan.activations.at(name).to_string(); };
  EXPECT_EQ(text("Q"), "Q[B_{data,fsdp}, T_context, N_tensor, H]");
  EXPECT_EQ(text("K"), "K[B_{data,fsdp}, T_context, K_tensor, H]");
  EXPECT_EQ(text("Up"), "Up[B_{data,fsdp}, T_context, F_tensor]");
  EXPECT_EQ(text("Logits"), "Logits[B_{data,fsdp}, T_context, V_tensor]");
  EXPECT_EQ(text("X"), "X[B_{data,fsdp}, T_{context,tensor}, D]") << "between tensor-parallel regions";
  EXPECT_EQ(text("Tokens"), "Tokens[B_{data,fsdp}, T_context, V]");
  auto whole = all_axes;
  whole.sequence_parallel = false;
  EXPECT_EQ(plan_for(blocks_of(transformer()), whole).activations.at("X").to_string(),
            "X[B_{data,fsdp}, T_context, D]");
}

TEST(PlanFor, SplitsWhatTheStageOfZeroSays) {
  for (int zero = 0; zero <= 3; ++zero) {
    auto parallel = all_axes;
    parallel.zero = zero;
    const auto plan = plan_for(blocks_of(transformer()), parallel);
    const std::string kept = "Wq[D_fsdp, N_tensor, H]", split = "Wq[D_{fsdp,data,context}, N_tensor, H]";
    EXPECT_EQ(plan.optimizer.at("Wq").to_string(), zero >= 1 ? split : kept);
    EXPECT_EQ(plan.gradients.at("Wq").to_string(), zero >= 2 ? split : kept + " {U_{data,context}}");
    EXPECT_EQ(plan.weights.at("Wq").to_string(), zero >= 3 ? split : kept);
  }
}

// Whatever the stages of two axes, gradients are split as weights are, and further, and the state as gradients are:
// data never moves between shards that stand in another order. Only tokens go to experts and back by all-to-alls.
TEST(PlanFor, NoStagesOfTwoAxesMakeShardsChangePlaces) {
  using Axes = std::array<const char*, 2>;
  const auto check = [](const workloads::Model& model, const Axes& axes, int first, int second) {
    workloads::Parallel parallel{.zero_of = {{axes[0], first}, {axes[1], second}}};
    for (const std::string axis : axes) {
      auto& size = axis == "data"      ? parallel.data
                   : axis == "fsdp"    ? parallel.fsdp
                   : axis == "context" ? parallel.context
                                       : parallel.expert;
      size = 2;
    }
    const auto where =
        std::string(axes[0]) + " " + std::to_string(first) + ", " + axes[1] + " " + std::to_string(second);
    for (const auto& block : derived(model, parallel).kinds) {
      for (const auto& update : block.weights) {
        for (const auto* chain : {&update.each_microbatch, &update.last_microbatch, &update.publish}) {
          for (const auto& collective : *chain)
            EXPECT_NE(collective.kind, workloads::CollectiveKind::all_to_all)
                << where << ": " << collective.to_string();
        }
      }
      for (const auto* pass : {&block.forward, &block.backward}) {
        for (const auto& step : *pass) {
          if (step.kind != workloads::BlockStep::Kind::collective) continue;
          if (step.collective != workloads::CollectiveKind::all_to_all) continue;
          EXPECT_EQ(step.role, workloads::CollectiveRole::activation) << where << ": " << step.name;
          EXPECT_EQ(step.axes, workloads::AxisNames{"expert"}) << where << ": " << step.name;
        }
      }
    }
  };
  for (const Axes& axes : {Axes{"data", "fsdp"}, Axes{"data", "context"}, Axes{"data", "expert"},
                           Axes{"fsdp", "context"}, Axes{"fsdp", "expert"}, Axes{"context", "expert"}}) {
    for (int first = 0; first <= 3; ++first) {
      for (int second = 0; second <= 3; ++second) {
        check(mixture(), axes, first, second);
        if (axes[1] != std::string("expert")) check(transformer(), axes, first, second);
      }
    }
  }
}

// Experts over an axis of their own are replicated by the rest; all else by that axis too. Without the tensor axis
// among theirs, each expert is split over it.
TEST(PlanFor, SharesOutExperts) {
  const workloads::Parallel parallel{.data = 2, .tensor = 2, .expert = 4, .zero = 1};
  const auto plan = plan_for(blocks_of(mixture()), parallel);
  EXPECT_EQ(plan.weights.at("Weup").to_string(), "Weup[E_expert, D, Fe_tensor]");
  EXPECT_EQ(plan.optimizer.at("Weup").to_string(), "Weup[E_expert, D_data, Fe_tensor]");
  EXPECT_EQ(plan.gradients.at("Weup").to_string(), "Weup[E_expert, D, Fe_tensor] {U_data}");
  EXPECT_EQ(plan.optimizer.at("Wq").to_string(), "Wq[D_{data,expert}, N_tensor, H]");
  EXPECT_EQ(plan.activations.at("Routed").to_string(), "Routed[E_expert, C_{data,tensor}, D]");
  auto over_both = parallel;
  over_both.experts_over = {"expert", "tensor"};
  const auto shared = plan_for(blocks_of(mixture()), over_both);
  EXPECT_EQ(shared.weights.at("Weup").to_string(), "Weup[E_{tensor,expert}, D, Fe]");
  EXPECT_EQ(shared.activations.at("Routed").to_string(), "Routed[E_{tensor,expert}, C_data, D]");
}

// No axis twice in an array, none of size 1 anywhere, and what ZeRO splits is split in the same place by every stage.
TEST(PlanFor, NamesEachAxisOnce) {
  int plans = 0;
  for (const auto& model : {two_matmuls(), transformer(), mixture(), latent()}) {
    const auto blocks = blocks_of(model);
    for (int sizes = 0; sizes < 32; ++sizes) {
      for (int zero = 0; zero <= 3; ++zero) {
        const auto size = [&](int bit) -> std::int64_t { return (sizes >> bit & 1) != 0 ? 2 : 1; };
        const workloads::Parallel parallel{
            .data = size(0), .fsdp = size(1), .tensor = size(2), .context = size(3), .expert = size(4), .zero = zero};
        const auto plan = plan_for(blocks, parallel);
        for (const auto* shardings : {&plan.activations, &plan.weights, &plan.gradients, &plan.optimizer}) {
          for (const auto& [name, tensor] : *shardings) {
            workloads::AxisNames axes = tensor.partial;
            for (const auto& dim : tensor.dims) axes.insert(axes.end(), dim.axes.begin(), dim.axes.end());
            std::sort(axes.begin(), axes.end());
            ASSERT_EQ(std::adjacent_find(axes.begin(), axes.end()), axes.end()) << tensor.to_string();
            for (const auto& axis : axes) {
              const auto exists = (axis == "data" && parallel.data > 1) || (axis == "fsdp" && parallel.fsdp > 1) ||
                                  (axis == "tensor" && parallel.tensor > 1) ||
                                  (axis == "context" && parallel.context > 1) ||
                                  (axis == "expert" && parallel.expert > 1);
              ASSERT_TRUE(exists) << tensor.to_string();
            }
          }
        }
        ++plans;
      }
    }
  }
  EXPECT_EQ(plans, 4 * 32 * 4);
}

using List = std::vector<workloads::ShardedTensor> workloads::PlanOverrides::*;

/// Puts one sharding of the user over a plan.
void put_over(workloads::Plan& plan, List list, const std::string& tensor, const workloads::AxisNames& axes) {
  workloads::PlanOverrides overrides;
  (overrides.*list).push_back(workloads::parse_tensor(tensor, axes));
  apply(overrides, plan);
}

std::string refused(List list, const std::string& tensor) {
  auto plan = plan_for(blocks_of(two_matmuls()), {.data = 2});
  try {
    put_over(plan, list, tensor, {});
  } catch (const workloads::ShardingError& error) {
    return error.what_is_wrong() + " [" + error.expected() + "]";
  }
  return "";
}

TEST(PlanOverrides, AWeightTakesItsGradientAndStateAlong) {
  const workloads::AxisNames axes{"data"};
  auto plan = plan_for(blocks_of(two_matmuls()), {.data = 2});
  put_over(plan, &workloads::PlanOverrides::weights, "Win[D_data, F]", axes);
  EXPECT_EQ(plan.weights.at("Win").to_string(), "Win[D_data, F]");
  EXPECT_EQ(plan.gradients.at("Win").to_string(), "Win[D_data, F]");
  EXPECT_EQ(plan.optimizer.at("Win").to_string(), "Win[D_data, F]");
  EXPECT_EQ(plan.gradients.at("Wout").to_string(), "Wout[F, D] {U_data}") << "another weight stays as it was";
  workloads::PlanOverrides both;
  both.weights = {workloads::parse_tensor("Win[D, F_data]", axes)};
  both.optimizer = {workloads::parse_tensor("Win[D, F]", axes)};
  apply(both, plan);
  EXPECT_EQ(plan.gradients.at("Win").to_string(), "Win[D, F_data]");
  EXPECT_EQ(plan.optimizer.at("Win").to_string(), "Win[D, F]");
}

TEST(PlanOverrides, NamesAndDimensionsAreTheModels) {
  EXPECT_EQ(refused(&workloads::PlanOverrides::activations, "Up[B, F]"),
            "the model has no activation Up [one of In, Out, Tmp]");
  EXPECT_EQ(refused(&workloads::PlanOverrides::gradients, "Wup[D, F]"),
            "the model has no weight Wup [one of Win, Wout]");
  EXPECT_EQ(refused(&workloads::PlanOverrides::weights, "Win[F, D]"),
            "Win[F, D] does not have the dimensions of Win [Win[D, F]]");
  EXPECT_EQ(refused(&workloads::PlanOverrides::optimizer, "Win[D]"),
            "Win[D] does not have the dimensions of Win [Win[D, F]]");
}

TEST(PlanText, ListsArraysByRole) {
  const auto text = plan_for(blocks_of(two_matmuls()), {.data = 2, .zero = 1}).to_string();
  EXPECT_THAT(text, HasSubstr("activations cross between operations as\n    In[B_data, D]\n    Out[B_data, D]\n"));
  EXPECT_THAT(text, HasSubstr("gradients are accumulated as\n    Win[D, F] {U_data}\n"));
  EXPECT_THAT(text, HasSubstr("optimizer state is kept as\n    Win[D_data, F]\n"));
}

// 4 key-value heads on a tensor axis of 8: each rank has a copy of one, two ranks the same, and the gradients of copies
// are sums still to be made over those two. Where any array of theirs is split otherwise nobody gets copies.
TEST(CopyKeyValueHeads, GivesEachRankAHeadOfItsOwn) {
  const workloads::Parallel parallel{.tensor = 8};
  auto plan = plan_for(blocks_of(transformer()), parallel);
  auto sizes = sizes_on(transformer(), parallel, 16, 8);
  auto other = plan;
  auto other_sizes = sizes;
  copy_key_value_heads(plan, sizes);
  EXPECT_EQ(sizes.dim("K"), 8);
  EXPECT_EQ(sizes.own_elements({"K"}), 4);
  EXPECT_EQ(plan.gradients.at("Wk").partial.size(), 1U);
  EXPECT_TRUE(plan.gradients.at("Wq").partial.empty());
  put_over(other, &workloads::PlanOverrides::activations, "K[B, T, K, H]", {"tensor"});
  copy_key_value_heads(other, other_sizes);
  EXPECT_EQ(other_sizes.dim("K"), 4);
  EXPECT_TRUE(other.gradients.at("Wk").partial.empty());
}

}  // namespace
}  // namespace lockstep::test
