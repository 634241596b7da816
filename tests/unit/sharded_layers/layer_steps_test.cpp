// These rules hold of every derived layer under every plan and policy: steps are in order, nothing is made in vain,
// every weight gets its gradient, and all ranks together compute what the model's equations say.
#include <gtest/gtest.h>

#include <set>

#include "tests/unit/sharded_layers/small_layers.hpp"

namespace lockstep::test {
namespace {

struct NamedPolicy {
  std::string name;
  workloads::DerivePolicy policy;
};

std::vector<NamedPolicy> policies() {
  std::vector<NamedPolicy> all{{"plain", {}}};
  const auto add = [&](const std::string& name, auto change) {
    NamedPolicy one{name, {}};
    change(one.policy);
    all.push_back(one);
  };
  add("weights kept", [](auto& p) { p.regather_weights = false; });
  add("activations gathered again", [](auto& p) { p.share_activation_gathers = false; });
  add("collective matmul", [](auto& p) { p.collective_matmul = true; });
  add("ring", [](auto& p) { p.context_attention = workloads::ContextAttention::ring; });
  add("exchanged heads", [](auto& p) { p.context_attention = workloads::ContextAttention::all_to_all; });
  add("everything again", [](auto& p) { p.recompute.all = true; });
  add("attention again", [](auto& p) { p.recompute.parts = {workloads::OpPart::core_attention}; });
  add("MLP again", [](auto& p) {
    p.recompute.parts = {workloads::OpPart::mlp, workloads::OpPart::mlp_activation, workloads::OpPart::norm};
  });
  add("8 bits kept", [](auto& p) {
    p.kept = workloads::KeptFormat{8, 128};
    p.kept_attention = workloads::KeptFormat{12, 0};
  });
  add("MLP again from 8 bits", [](auto& p) {
    p.kept = workloads::KeptFormat{8, 0};
    p.recompute.parts = {workloads::OpPart::mlp_activation, workloads::OpPart::norm};
  });
  return all;
}

template <class Visit>
int for_each_layer(Visit visit) {
  int layers = 0;
  for (const auto& [name, policy] : policies()) {
    SCOPED_TRACE(name);
    for_each_plan(policy,
                  [&, &chosen = policy](const workloads::Model&, const workloads::Parallel&, const Derived& derived) {
                    for (const auto& kind : derived.kinds) {
                      SCOPED_TRACE(kind.name);
                      visit(kind, chosen);
                      ++layers;
                    }
                  });
  }
  return layers;
}

void expect_in_order(const workloads::BlockSteps& steps) {
  for (int i = 0; i < static_cast<int>(steps.size()); ++i) {
    std::set<int> seen;
    for (const int before : steps[static_cast<std::size_t>(i)].after) {
      ASSERT_LT(before, i);
      ASSERT_GE(before, workloads::BlockStep::outside);
      ASSERT_TRUE(seen.insert(before).second) << "waits twice for the same";
    }
  }
}

TEST(LayerSteps, AreInOrderAndReadWhatExists) {
  const int layers = for_each_layer([](const workloads::ShardedLayer& layer, const workloads::DerivePolicy&) {
    expect_in_order(layer.forward);
    expect_in_order(layer.backward);
    for (const auto& step : layer.forward) ASSERT_TRUE(step.saved.empty()) << "a forward reads no forward";
    for (const auto& step : layer.backward) {
      for (const int read : step.saved)
        ASSERT_TRUE(read >= workloads::BlockStep::outside && read < std::ssize(layer.forward)) << step.name;
    }
    for (const int step : layer.output_steps) ASSERT_LT(step, std::ssize(layer.forward));
    for (const int step : layer.input_gradient_steps) ASSERT_LT(step, std::ssize(layer.backward));
  });
  EXPECT_GT(layers, 1500);
}

TEST(LayerSteps, HaveSizesAndAxesThatExist) {
  for_each_layer([](const workloads::ShardedLayer& layer, const workloads::DerivePolicy&) {
    for (const auto* pass : {&layer.forward, &layer.backward}) {
      for (const auto& step : *pass) {
        ASSERT_GE(step.output, Bytes(0));
        ASSERT_GE(step.traffic, step.indexed);
        ASSERT_GE(step.flops, Flops(0));
        if (step.kind == workloads::BlockStep::Kind::compute) continue;
        ASSERT_FALSE(step.axes.empty()) << step.name;
        ASSERT_GT(step.full_size, Bytes(0)) << step.name;
        ASSERT_EQ(step.flops, Flops(0));
        ASSERT_NE(step.role, workloads::CollectiveRole::gradient) << "those stand with the weights";
      }
    }
  });
}

// A backward step is waited for by another, or makes the input's gradient or a weight's, or frees nothing else than
// what another array was kept in. A forward step is waited for, read by the backward, or handed on.
TEST(LayerSteps, MakeNothingInVain) {
  for_each_layer([](const workloads::ShardedLayer& layer, const workloads::DerivePolicy& policy) {
    std::vector<bool> forward(layer.forward.size(), false), backward(layer.backward.size(), false);
    const auto mark = [](std::vector<bool>& used, int step) {
      if (step != workloads::BlockStep::outside) used[static_cast<std::size_t>(step)] = true;
    };
    for (const auto& step : layer.forward) {
      for (const int before : step.after) mark(forward, before);
    }
    for (const auto& step : layer.backward) {
      for (const int before : step.after) mark(backward, before);
      for (const int read : step.saved) mark(forward, read);
    }
    for (const int step : layer.output_steps) mark(forward, step);
    for (const int step : layer.input_gradient_steps) mark(backward, step);
    for (const auto& update : layer.weights) {
      for (const int step : update.gradient_steps) mark(backward, step);
    }
    for (const auto& tied : layer.tied_gradients) mark(backward, tied.step);
    for (std::size_t i = 0; i < forward.size(); ++i) ASSERT_TRUE(forward[i]) << layer.forward[i].name;
    const auto runs_again = [&](const workloads::BlockStep& step) {
      return policy.recompute.all && std::any_of(layer.forward.begin(), layer.forward.end(),
                                                 [&](const auto& other) { return other.name == step.name; });
    };
    for (std::size_t i = 0; i < backward.size(); ++i)
      ASSERT_TRUE(backward[i] || runs_again(layer.backward[i])) << layer.backward[i].name;
  });
}

// One operation reads a weight, so one step completes its gradient in each microbatch.
TEST(LayerSteps, MakeEveryWeightsGradientOnce) {
  for_each_layer([](const workloads::ShardedLayer& layer, const workloads::DerivePolicy&) {
    std::set<int> steps;
    for (const auto& update : layer.weights) {
      ASSERT_EQ(update.gradient_steps.size(), 1U) << update.weight;
      const int step = update.gradient_steps.front();
      ASSERT_TRUE(step >= 0 && step < std::ssize(layer.backward));
      ASSERT_TRUE(steps.insert(step).second) << update.weight << " shares a step";
    }
  });
}

// FLOPs of all ranks: forward once, backward twice; a forward that runs again adds itself. Slots of experts round up,
// so they are left out. Latents that the sequence's split does not share out are made by each of the tensor axis'
// ranks.
TEST(LayerSteps, ComputeTheModelsFlops) {
  for (const bool again : {false, true}) {
    workloads::DerivePolicy policy;
    policy.recompute.all = again;
    for_each_plan(policy, [&](const workloads::Model& model, const workloads::Parallel& parallel,
                              const Derived& derived) {
      if (model.experts) return;
      double layers = 0, rest = 0;
      for (const int kind : derived.order) {
        const auto& layer = derived.kinds[static_cast<std::size_t>(kind)];
        for (const auto* pass : {&layer.forward, &layer.backward}) {
          for (const auto& step : *pass) (layer.is_layer ? layers : rest) += step.flops.value();
        }
      }
      const double tokens = static_cast<double>(derived.tokens);
      const double head = model.attention ? 2.0 * static_cast<double>(model.vocabulary * model.d_model) * tokens : 0;
      const double forward = forward_flops_per_token(model, 8, true) * tokens - head;
      const auto ranks = static_cast<double>(derived.ranks);
      double made_by_all = 0;
      if (model.latent && !parallel.sequence_parallel) {
        const auto& latent = *model.latent;
        const auto weights = model.d_model * (latent.q_rank + latent.kv_rank + latent.rope_head_size);
        made_by_all = 2.0 * static_cast<double>(weights * model.layers * (parallel.tensor - 1)) * tokens;
      }
      EXPECT_NEAR(rest * ranks, 3 * head, 1e-9 * head);
      EXPECT_NEAR(layers * ranks, (again ? 4 : 3) * (forward + made_by_all), 1e-9 * forward);
    });
  }
}

// Stored split, a weight is gathered whole once for each pass that reads it; kept after the forward, once.
TEST(LayerSteps, GatherEveryWeightOncePerPass) {
  for (const bool again : {true, false}) {
    workloads::DerivePolicy policy;
    policy.regather_weights = again;
    const auto layer = derived(transformer(), workloads::Parallel{.fsdp = 4}, policy).layer();
    std::multiset<std::string> forward, backward;
    for (const auto& step : layer.forward) {
      if (step.role == workloads::CollectiveRole::weight) forward.insert(step.name);
    }
    for (const auto& step : layer.backward) {
      if (step.role == workloads::CollectiveRole::weight) backward.insert(step.name);
    }
    EXPECT_EQ(forward.size(), layer.weights.size());
    EXPECT_EQ(std::set<std::string>(forward.begin(), forward.end()).size(), forward.size());
    EXPECT_EQ(backward, again ? forward : std::multiset<std::string>{});
  }
}

}  // namespace
}  // namespace lockstep::test
