// Each weight's gradient is summed over every rank that saw other tokens, exactly once: over an axis that splits the
// rows of its product (data, fsdp, expert, context, and tensor for norms of a split sequence) there is one
// reduce-scatter or one all-reduce, each microbatch or after the last, and over no other axis there is any.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "tests/unit/sharded_layers/small_layers.hpp"
#include "topologies/placement/mesh.hpp"
#include "workloads/sharded_layers/derived_weights.hpp"
#include "workloads/sharding/axis_digits.hpp"

namespace lockstep::test {
namespace {

bool reduces(workloads::CollectiveKind kind) {
  return kind == workloads::CollectiveKind::all_reduce || kind == workloads::CollectiveKind::reduce_scatter;
}

std::multiset<std::string> axes_of(const std::vector<workloads::DerivedCollective>& chain, bool reductions) {
  std::multiset<std::string> axes;
  for (const auto& one : chain) {
    if (reduces(one.kind) == reductions) axes.insert(one.axes.begin(), one.axes.end());
  }
  return axes;
}

std::multiset<std::string> axes_that_split_rows(const workloads::Block& block, const std::string& weight,
                                                const workloads::Plan& plan) {
  const auto op =
      std::find_if(block.ops.begin(), block.ops.end(), [&](const auto& one) { return one.weight == weight; });
  const auto& array = plan.activations.at(op->output);
  const auto& dims = block.weight(weight).dims;
  std::multiset<std::string> axes;
  for (const auto& dim : array.dims) {
    if (std::find(dims.begin(), dims.end(), dim.name) == dims.end()) axes.insert(dim.axes.begin(), dim.axes.end());
  }
  return axes;
}

bool is_lookup(const workloads::Block& block, const std::string& weight) {
  return std::any_of(block.ops.begin(), block.ops.end(), [&](const auto& op) {
    return op.weight == weight && op.kind == workloads::BlockOp::Kind::lookup;
  });
}

// A product's output may be scattered along the sequence over tensor after it was summed over that axis: not a split of
// the product's own rows. Norms work on the split sequence itself. A look-up may gather the gradient of its tokens over
// tensor or sum up the embedding's, whichever is smaller.
TEST(GradientReductions, AreOnceOverEveryAxisThatSplitsTheTokens) {
  int weights = 0;
  for_each_plan({}, [&](const workloads::Model& model, const workloads::Parallel& parallel, const Derived& derived) {
    const auto blocks = blocks_of(model);
    const auto plan = plan_for(blocks, parallel);
    for (std::size_t kind = 0; kind < derived.kinds.size(); ++kind) {
      for (const auto& update : derived.kinds[kind].weights) {
        auto expected = axes_that_split_rows(blocks.kinds[kind], update.weight, plan);
        const auto& dims = blocks.kinds[kind].weight(update.weight).dims;
        const bool is_vector = dims.size() == 1;
        for (const auto& dim : plan.weights.at(update.weight).dims) {
          for (const auto& axis : dim.axes) {
            if (!is_vector && topologies::axis_part(axis).axis == "tensor") expected.erase(axis);
          }
        }
        const auto whole = workloads::whole_axes({expected.begin(), expected.end()});
        expected = {whole.begin(), whole.end()};
        auto summed = axes_of(update.each_microbatch, true);
        const auto later = axes_of(update.last_microbatch, true);
        summed.insert(later.begin(), later.end());
        const auto of_both = workloads::whole_axes({summed.begin(), summed.end()});  // digits may be summed one by one
        summed = {of_both.begin(), of_both.end()};
        if (is_lookup(blocks.kinds[kind], update.weight)) {
          EXPECT_LE(summed.count("tensor"), 1U);
          summed.erase("tensor");
        }
        EXPECT_EQ(summed, expected) << update.weight;
        ++weights;
      }
    }
  });
  EXPECT_GT(weights, 500);
}

// Stored whole and updated in shards, a weight is gathered once over the axes that split the update alone; split as
// stored, it is gathered for each pass instead.
TEST(UpdatedWeights, AreGatheredOverWhatOnlyTheUpdateSplits) {
  for_each_plan({}, [&](const workloads::Model& model, const workloads::Parallel& parallel, const Derived& derived) {
    const auto plan = plan_for(blocks_of(model), parallel);
    for (const auto& kind : derived.kinds) {
      for (const auto& update : kind.weights) {
        std::multiset<std::string> expected;
        for (const auto& dim : plan.optimizer.at(update.weight).dims) expected.insert(dim.axes.begin(), dim.axes.end());
        for (const auto& dim : plan.weights.at(update.weight).dims) {
          for (const auto& axis : dim.axes) expected.erase(axis);
        }
        std::multiset<std::string> gathered;
        for (const auto& one : update.publish) {
          EXPECT_EQ(one.kind, workloads::CollectiveKind::all_gather);
          gathered.insert(one.axes.begin(), one.axes.end());
        }
        EXPECT_EQ(gathered, expected) << update.weight;
      }
    }
  });
}

// All ranks' shards together are the weight and its padding; where everything divides there is none. Padding is told
// per rank, in whole elements of 2 B.
TEST(UpdatedWeights, AreSharedOutWithoutRest) {
  for_each_plan({}, [&](const workloads::Model& model, const workloads::Parallel& parallel, const Derived& derived) {
    const auto plan = plan_for(blocks_of(model), parallel);
    const auto sizes = sizes_on(model, parallel, 16, 8);
    for (const auto& kind : derived.kinds) {
      for (const auto& update : kind.weights) {
        SCOPED_TRACE(update.weight);
        const auto parts = [&](const workloads::Shardings& shardings) {
          std::int64_t product = 1;
          for (const auto& dim : shardings.at(update.weight).dims) product *= sizes.product(dim.axes);
          return product;
        };
        const auto stored = update.stored.value() * parts(plan.weights);
        const auto padding = update.padding.value() * parts(plan.weights);
        EXPECT_GE(stored - padding, 2 * update.parameters);
        EXPECT_LT(stored - padding, 2 * update.parameters + 2 * parts(plan.weights));
        EXPECT_GE(update.optimizer_elements * parts(plan.optimizer), update.parameters);
        EXPECT_GE(update.gradient_elements * parts(plan.gradients), update.parameters);
        if (model.latent) continue;  // ranks of 10 and 12
        EXPECT_EQ(stored, 2 * update.parameters);
        EXPECT_EQ(update.optimizer_elements * parts(plan.optimizer), update.parameters);
        EXPECT_EQ(update.gradient_elements * parts(plan.gradients), update.parameters);
      }
    }
  });
}

void expect_alike(const std::vector<workloads::DerivedCollective>& some,
                  const std::vector<workloads::DerivedCollective>& others) {
  ASSERT_EQ(some.size(), others.size());
  for (std::size_t i = 0; i < some.size(); ++i) {
    EXPECT_EQ(some[i].to_string(), others[i].to_string());
    EXPECT_EQ(some[i].full_size, others[i].full_size);
  }
}

// The shortcut without passes finds the same weights with the same collectives as deriving the layer.
TEST(DerivedWeights, AreThoseOfTheWholeLayer) {
  for (const auto gradient : {Bytes(2), Bytes(4)}) {
    workloads::DerivePolicy policy;
    policy.gradient_element = gradient;
    for_each_plan(policy,
                  [&](const workloads::Model& model, const workloads::Parallel& parallel, const Derived& derived) {
                    const auto blocks = blocks_of(model);
                    const auto plan = plan_for(blocks, parallel);
                    const auto sizes = sizes_on(model, parallel, 16, 8);
                    for (std::size_t kind = 0; kind < derived.kinds.size(); ++kind) {
                      const auto alone = derive_weights(blocks.kinds[kind], plan, sizes, policy);
                      const auto& whole = derived.kinds[kind];
                      EXPECT_TRUE(alone.forward.empty() && alone.backward.empty());
                      EXPECT_EQ(alone.is_layer, whole.is_layer);
                      ASSERT_EQ(alone.weights.size(), whole.weights.size());
                      EXPECT_EQ(alone.tied_gradients.size(), whole.tied_gradients.size());
                      for (std::size_t i = 0; i < whole.weights.size(); ++i) {
                        SCOPED_TRACE(whole.weights[i].weight);
                        EXPECT_EQ(alone.weights[i].weight, whole.weights[i].weight);
                        EXPECT_EQ(alone.weights[i].stored, whole.weights[i].stored);
                        EXPECT_EQ(alone.weights[i].gradient_elements, whole.weights[i].gradient_elements);
                        EXPECT_EQ(alone.weights[i].optimizer_elements, whole.weights[i].optimizer_elements);
                        expect_alike(alone.weights[i].each_microbatch, whole.weights[i].each_microbatch);
                        expect_alike(alone.weights[i].last_microbatch, whole.weights[i].last_microbatch);
                        expect_alike(alone.weights[i].publish, whole.weights[i].publish);
                      }
                    }
                  });
  }
}

}  // namespace
}  // namespace lockstep::test
