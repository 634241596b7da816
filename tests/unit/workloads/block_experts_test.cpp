// Experts: dispatch and combination are all-to-alls by the ordinary rules of sharding; expert weights replicate over
// other axes than dense ones. 16 x 8 = 128 tokens, k = 2 of E = 8 experts each, D = 32, 2 bytes an element.
#include <gmock/gmock.h>

#include "tests/unit/workloads/small_models.hpp"

namespace lockstep::test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::string> of_kind(const workloads::BlockSteps& steps, workloads::CollectiveKind kind) {
  std::vector<std::string> result;
  for (const auto& step : steps) {
    if (step.kind == workloads::BlockStep::Kind::collective && step.collective == kind) {
      result.push_back(workloads::subscript(step.axes) + " " + std::to_string(step.full_size.value()));
    }
  }
  return result;
}

const workloads::WeightUpdate& update(const workloads::ShardedLayer& block, const std::string& weight) {
  return *std::find_if(block.weights.begin(), block.weights.end(),
                       [&](const auto& other) { return other.weight == weight; });
}

std::string axes_of(const std::vector<workloads::DerivedCollective>& chain) {
  return chain.empty() ? "" : workloads::subscript(chain.front().axes);
}

// Every token's D numbers travel to k experts and back: a group of 4 along the expert axis holds 128 / 2 tokens, so
// that each all-to-all moves k 64 D 2 B = 8192 B, twice forward and twice backward. Nothing else moves activations.
TEST(ExpertBlock, TokensTravelToTheirExpertsAndBack) {
  const workloads::Parallel parallel{.data = 2, .expert = 4};
  const auto layer = derived(mixture(), parallel).layer();
  EXPECT_THAT(of_kind(layer.forward, workloads::CollectiveKind::all_to_all), ElementsAre("expert 8192", "expert 8192"));
  EXPECT_THAT(of_kind(layer.backward, workloads::CollectiveKind::all_to_all),
              ElementsAre("expert 8192", "expert 8192"));
  EXPECT_THAT(collectives(layer.forward), ::testing::SizeIs(2));
  EXPECT_THAT(collectives(layer.backward), ::testing::SizeIs(2));
}

// Dispatch in 8 bits: the tokens, and in the backward the gradients of what the experts gave; both ways back keep 2
// bytes.
TEST(ExpertBlock, TokensMayTravelInFewerBytes) {
  workloads::DerivePolicy policy;
  policy.dispatch_element = Bytes(1);
  const auto layer = derived(mixture(), workloads::Parallel{.data = 2, .expert = 4}, policy).layer();
  EXPECT_THAT(of_kind(layer.forward, workloads::CollectiveKind::all_to_all), ElementsAre("expert 4096", "expert 8192"));
  EXPECT_THAT(of_kind(layer.backward, workloads::CollectiveKind::all_to_all),
              ElementsAre("expert 4096", "expert 8192"));
}

// Rows filled up to a multiple of N are (N - 1) / 2 more for each of a rank's experts on average. With expert 4 an
// expert gets 128 k / 8 / data 2 = 16 rows: at N = 9 its products have (16 + 4) / 16 the FLOPs, and transfers what they
// had.
TEST(ExpertBlock, RowsAreFilledUp) {
  const workloads::Parallel parallel{.data = 2, .expert = 4};
  workloads::DerivePolicy filled;
  filled.rows_multiple = 9;
  const auto plain = derived(mixture(), parallel).layer(), more = derived(mixture(), parallel, filled).layer();
  const auto compare = [](const workloads::BlockSteps& one, const workloads::BlockSteps& other) {
    int products = 0;
    ASSERT_EQ(one.size(), other.size());
    for (std::size_t i = 0; i < one.size(); ++i) {
      const bool of_experts = one[i].name.starts_with("expert ") && one[i].flops > Flops(0);
      EXPECT_DOUBLE_EQ(other[i].flops.value(), one[i].flops.value() * (of_experts ? 1.25 : 1)) << one[i].name;
      EXPECT_EQ(other[i].full_size, one[i].full_size);
      if (!of_experts) continue;
      ++products;
      if (one[i].shape.counted == workloads::KernelShape::Counted::rows) {
        EXPECT_EQ(other[i].shape.m, 20) << one[i].name;
      }
      if (one[i].shape.counted == workloads::KernelShape::Counted::depth) {
        EXPECT_EQ(other[i].shape.k, 20) << one[i].name;
      }
    }
    EXPECT_GE(products, 3);
  };
  compare(plain.forward, more.forward);
  compare(plain.backward, more.backward);
}

// The dispatch waits for the host, which waits for the scores.
TEST(ExpertBlock, TheHostWaitsForCounts) {
  workloads::DerivePolicy policy;
  policy.counts_wait = Seconds(30e-6);
  const auto layer = derived(mixture(), workloads::Parallel{.data = 2, .expert = 4}, policy).layer();
  const auto step = std::find_if(layer.forward.begin(), layer.forward.end(),
                                 [](const auto& one) { return one.name == "dispatch to experts"; });
  ASSERT_EQ(step->after.size(), 1U);
  const auto& wait = layer.forward[position_of(step->after.front())];
  EXPECT_EQ(wait.given_time, Seconds(30e-6));
  EXPECT_EQ(wait.stream, "host");
  EXPECT_THAT(wait.after, ::testing::Not(IsEmpty()));
  for (const auto& of_backward : layer.backward) EXPECT_FALSE(of_backward.given_time) << of_backward.name;
}

// Filling rows up by copies reads and writes all slots of a rank's experts once more before the products and once
// after, forward and backward: 2 x 32 slots x 32 x 2 B = 4096 B at each of the four.
TEST(ExpertBlock, RowsAreFilledUpByCopies) {
  const workloads::Parallel parallel{.data = 2, .expert = 4};
  workloads::DerivePolicy copied;
  copied.filled_by_copies = true;
  const auto plain = derived(mixture(), parallel).layer(), more = derived(mixture(), parallel, copied).layer();
  int copies = 0;
  const auto compare = [&](const workloads::BlockSteps& one, const workloads::BlockSteps& other) {
    ASSERT_EQ(one.size(), other.size());
    for (std::size_t i = 0; i < one.size(); ++i) {
      const bool moves = one[i].name.starts_with("dispatch") || one[i].name.starts_with("combine");
      EXPECT_EQ((other[i].traffic - one[i].traffic).value(), moves ? 4096 : 0) << one[i].name;
      copies += moves ? 1 : 0;
    }
  };
  compare(plain.forward, more.forward);
  compare(plain.backward, more.backward);
  EXPECT_EQ(copies, 4);
}

// The dispatcher itself gathers slots over the tensor axis: with collective matmul too, the products of experts wait
// for whole gathers, and what the all-to-all of the dispatch sends is there before it.
TEST(ExpertBlock, NothingRunsBesideGathersOfSlots) {
  workloads::DerivePolicy beside;
  beside.collective_matmul = true;
  const auto layer = derived(mixture(), workloads::Parallel{.tensor = 2, .expert = 4}, beside).layer();
  const auto at = [&](const std::string& name) {
    return std::find_if(layer.forward.begin(), layer.forward.end(),
                        [&](const auto& step) { return step.name == name; });
  };
  const auto product = at("expert up projection"), dispatch = at("dispatch to experts");
  ASSERT_NE(product, layer.forward.end());
  const auto sends = std::find_if(layer.forward.begin(), layer.forward.end(), [](const auto& step) {
    return step.kind == workloads::BlockStep::Kind::collective &&
           step.collective == workloads::CollectiveKind::all_to_all;
  });
  const int last = *std::max_element(product->after.begin(), product->after.end());
  EXPECT_EQ(layer.forward[position_of(last)].kind, workloads::BlockStep::Kind::collective);
  EXPECT_THAT(sends->after, ::testing::Contains(static_cast<int>(dispatch - layer.forward.begin())));
}

// A rank's 16 tokens of 2 x 32 bytes fill 32 slots. What it gets, 32 slots, is copied once more to stand by expert
// where it has two of them (expert 4), not with one (expert 8, 8 tokens and 16 slots) nor where slots never travel (128
// and 256).
TEST(ExpertBlock, SlotsThatArriveAreCopiedToTheirExperts) {
  const auto moved = [](const workloads::Parallel& parallel, const char* name, const auto& pass) {
    const auto layer = derived(mixture(), parallel).layer();
    const auto& steps = layer.*pass;
    return std::find_if(steps.begin(), steps.end(), [&](const auto& step) { return step.name == name; })
        ->traffic.value();
  };
  const workloads::Parallel several{.data = 2, .expert = 4}, one{.data = 2, .expert = 8};
  for (const char* name : {"dispatch to experts", "combine experts"}) {
    EXPECT_EQ(moved(several, name, &workloads::ShardedLayer::forward), (16 + 32 + 2 * 32) * 64) << name;
    EXPECT_EQ(moved(several, (std::string(name) + " backward").c_str(), &workloads::ShardedLayer::backward),
              (16 + 32 + 2 * 32) * 64)
        << name;
    EXPECT_EQ(moved(one, name, &workloads::ShardedLayer::forward), (8 + 16) * 64) << name;
    EXPECT_EQ(moved({}, name, &workloads::ShardedLayer::forward), (128 + 256) * 64) << name;
  }
}

const workloads::BlockStep& step_called(const workloads::BlockSteps& steps, const std::string& name) {
  return *std::find_if(steps.begin(), steps.end(), [&](const auto& step) { return step.name == name; });
}

// By index: rows of the 256 slots of 64 B are read or written where the routing says.
TEST(ExpertBlock, SlotsAreFilledByIndex) {
  const auto layer = derived(mixture(), workloads::Parallel{}).layer();
  for (const char* name : {"dispatch to experts", "combine experts"}) {
    EXPECT_EQ(step_called(layer.forward, name).indexed.value(), 256 * 64) << name;
    EXPECT_EQ(step_called(layer.backward, std::string(name) + " backward").indexed.value(), 256 * 64) << name;
  }
}

// By mask: each of 16 sequences multiplies its 8 tokens by a mask of 8 tokens x 16 slots (k T): 2 x 16 x 16 x 8 x 32
// FLOPs each way. The combination's mask has the scores, so that its backward makes a gradient of it: two products.
TEST(ExpertBlock, SlotsAreFilledByMasks) {
  workloads::DerivePolicy policy;
  policy.one_hot_slots = true;
  policy.counted_slots = false;
  const auto layer = derived(mixture(), workloads::Parallel{}, policy).layer();
  const double once = 2.0 * 16 * 16 * 8 * 32;
  const std::int64_t mask = 2 * 16 * 16 * 8;
  const auto expect = [&](const workloads::BlockStep& step, int products) {
    EXPECT_EQ(step.work, workloads::ComputeWork::product) << step.name;
    EXPECT_EQ(step.shape, (workloads::KernelShape{16, 16, 32, 8})) << step.name;
    EXPECT_DOUBLE_EQ(step.flops.value(), products * once) << step.name;
    EXPECT_EQ(step.traffic.value(), (128 + 256) * 64 + 2 * products * mask) << step.name;
    EXPECT_EQ(step.indexed.value(), 0) << step.name;
  };
  expect(step_called(layer.forward, "dispatch to experts"), 1);
  expect(step_called(layer.forward, "combine experts"), 1);
  expect(step_called(layer.backward, "dispatch to experts backward"), 1);
  expect(step_called(layer.backward, "combine experts backward"), 2);
  EXPECT_EQ(step_called(layer.forward, "expert up projection").shape.counted, workloads::KernelShape::Counted::none);
}

// Without a capacity the experts' tokens are counted: rows forward and of the input's gradient, depth of the weight's.
TEST(ExpertBlock, ProductsKnowWhichSideCountsTokens) {
  const auto layer = derived(mixture(), workloads::Parallel{.expert = 4}).layer();
  EXPECT_EQ(step_called(layer.forward, "expert up projection").shape.counted, workloads::KernelShape::Counted::rows);
  EXPECT_EQ(step_called(layer.backward, "expert up projection input gradient").shape.counted,
            workloads::KernelShape::Counted::rows);
  EXPECT_EQ(step_called(layer.backward, "expert up projection weight gradient").shape.counted,
            workloads::KernelShape::Counted::depth);
  EXPECT_EQ(step_called(layer.forward, "shared expert up projection").shape.counted,
            workloads::KernelShape::Counted::none);
  EXPECT_EQ(step_called(layer.forward, "query projection").shape.counted, workloads::KernelShape::Counted::none);
}

// Experts that stand on one rank of the expert axis replicate over the data axis alone, everything else over both.
TEST(ExpertBlock, ExpertsAndTheRestReplicateOverOtherAxes) {
  for (const int zero : {0, 1}) {
    const auto layer = derived(mixture(), workloads::Parallel{.data = 2, .expert = 4, .zero = zero}).layer();
    EXPECT_EQ(axes_of(update(layer, "Weup").last_microbatch), "data");
    EXPECT_EQ(axes_of(update(layer, "Wq").last_microbatch), "{data,expert}");
    EXPECT_EQ(axes_of(update(layer, "Wsup").last_microbatch), "{data,expert}");
    EXPECT_EQ(axes_of(update(layer, "Wrouter").last_microbatch), "{data,expert}");
    EXPECT_EQ(axes_of(update(layer, "Weup").publish), zero == 0 ? "" : "data");
    // E / 4 = 2 experts of D x Fe = 32 x 24 on a rank, their optimizer state over the 2 data ranks.
    EXPECT_EQ(update(layer, "Weup").stored.value(), 2 * 32 * 24 * 2);
    EXPECT_EQ(update(layer, "Weup").optimizer_elements, 2 * 32 * 24 / (zero == 0 ? 1 : 2));
    EXPECT_EQ(update(layer, "Wq").optimizer_elements, 32 * 32 / (zero == 0 ? 1 : 8));
  }
}

// FSDP splits experts along D too: their gathers are those of other weights, over the fsdp axis.
TEST(ExpertBlock, FullyShardedExperts) {
  const auto layer = derived(mixture(), workloads::Parallel{.fsdp = 2, .expert = 4}).layer();
  EXPECT_EQ(update(layer, "Weup").stored.value(), 2 * 32 * 24 * 2 / 2);
  EXPECT_THAT(collectives(layer.forward),
              ::testing::Contains("AllGather_fsdp Weup " + std::to_string(2 * 32 * 24 * 2)));
  EXPECT_EQ(axes_of(update(layer, "Weup").each_microbatch), "fsdp");
}

// Tensor parallelism inside experts: slots are gathered over the tensor axis before the products and scattered after;
// with the tensor axis among those that share out the experts the all-to-all takes both axes, and the tensor axis moves
// nothing of the experts.
TEST(ExpertBlock, TheTensorAxisSplitsExpertsOrSharesThemOut) {
  const auto split = derived(mixture(), workloads::Parallel{.tensor = 2, .expert = 4}).layer();
  // All 128 tokens' 2 x 128 slots: each pair of tensor ranks exchanges its half along the expert axis.
  EXPECT_THAT(of_kind(split.forward, workloads::CollectiveKind::all_to_all), ElementsAre("expert 8192", "expert 8192"));
  EXPECT_EQ(update(split, "Weup").stored.value(), 2 * 32 * 24 / 2 * 2);
  const auto gathered_slots = [](const workloads::ShardedLayer& block) {
    return std::count_if(block.forward.begin(), block.forward.end(), [](const auto& step) {
      return step.kind == workloads::BlockStep::Kind::collective &&
             step.collective == workloads::CollectiveKind::all_gather && step.routed;
    });
  };
  EXPECT_EQ(gathered_slots(split), 1);

  const auto shared =
      derived(mixture(), workloads::Parallel{.tensor = 2, .expert = 4, .experts_over = {"expert", "tensor"}}).layer();
  EXPECT_THAT(of_kind(shared.forward, workloads::CollectiveKind::all_to_all),
              ElementsAre("{tensor,expert} 16384", "{tensor,expert} 16384"));
  EXPECT_EQ(update(shared, "Weup").stored.value(), 32 * 24 * 2);
  EXPECT_EQ(gathered_slots(shared), 0);
}

// Between the two: groups of t of the T tensor ranks split each expert, and the T / t groups have different ones. With
// T = 4, t = 2 and expert 2 there are 4 places of 2 experts each, and a rank has 128 / (2 x 4) = 16 tokens, in 2 x 16
// slots. The exchange of 4 ranks, each with these, is 4 x 32 D 2 B = 8192 B; each pair that splits experts then gathers
// its 2 x 2 x 16 slots, 4096 B, and scatters as much of what they give. A rank has 2 D 24/2 weights and computes
// 2 x 64 D 24/2 FLOPs with them.
TEST(ExpertBlock, AnExpertIsSplitOverAPartOfTheTensorAxis) {
  const workloads::Parallel parallel{
      .data = 2, .tensor = 4, .expert = 2, .zero = 1, .experts_over = {"expert", "tensor"}, .expert_tensor = 2};
  EXPECT_EQ(parallel.ranks_of_experts(), 4);
  const auto layer = derived(mixture(), plan_for(blocks_of(mixture()), parallel), parallel, {}, 32).layer();
  using Kind = workloads::CollectiveKind;
  EXPECT_THAT(of_kind(layer.forward, Kind::all_to_all),
              ElementsAre("{tensor//2,expert} 8192", "{tensor//2,expert} 8192"));
  EXPECT_THAT(of_kind(layer.backward, Kind::all_to_all),
              ElementsAre("{tensor//2,expert} 8192", "{tensor//2,expert} 8192"));
  const auto of_experts = [](const workloads::BlockSteps& steps, Kind kind) {
    workloads::BlockSteps routed;
    for (const auto& step : steps) {
      if (step.routed) routed.push_back(step);
    }
    return of_kind(routed, kind);
  };
  EXPECT_THAT(of_experts(layer.forward, Kind::all_gather), ElementsAre("tensor%2 4096"));
  EXPECT_THAT(of_experts(layer.forward, Kind::reduce_scatter), ElementsAre("tensor%2 4096"));
  EXPECT_THAT(of_kind(layer.forward, Kind::all_gather), ::testing::Contains(::testing::StartsWith("tensor ")))
      << "what is not of experts goes along the whole axis";
  const auto up = std::find_if(layer.forward.begin(), layer.forward.end(),
                               [](const auto& step) { return step.name == "expert up projection"; });
  EXPECT_EQ(up->flops.value(), 2.0 * 64 * 32 * 12);
  EXPECT_EQ(update(layer, "Weup").stored.value(), 2 * 32 * 12 * 2);
  EXPECT_EQ(update(layer, "Weup").optimizer_elements, 2 * 32 * 12 / 2);
  EXPECT_EQ(axes_of(update(layer, "Weup").last_microbatch), "data");
  EXPECT_EQ(axes_of(update(layer, "Wq").last_microbatch), "{data,expert}");
}

// Without the tensor axis among those that share out the experts, its groups have copies of the same, whose gradients
// they add up.
TEST(ExpertBlock, GroupsOfTheTensorAxisMayHaveCopies) {
  const workloads::Parallel parallel{.data = 2, .tensor = 4, .expert = 2, .expert_tensor = 2};
  EXPECT_EQ(parallel.ranks_of_experts(), 2);
  const auto layer = derived(mixture(), parallel).layer();
  EXPECT_EQ(update(layer, "Weup").stored.value(), 4 * 32 * 12 * 2);
  EXPECT_EQ(axes_of(update(layer, "Weup").last_microbatch), "{data,tensor//2}");
  EXPECT_THAT(of_kind(layer.forward, workloads::CollectiveKind::all_to_all), ElementsAre("expert 2048", "expert 2048"));
}

// t = 1 and t = T are what is had without saying t, to the letter. All ranks together always have as many weights as
// the model, once for each copy, and compute as much.
TEST(ExpertBlock, GroupsOfOneAndOfAllAreTheTwoEnds) {
  using Over = workloads::AxisNames;
  const auto under = [](const Over& over, std::int64_t expert_tensor) {
    return workloads::Parallel{
        .data = 2, .tensor = 4, .expert = 2, .experts_over = over, .expert_tensor = expert_tensor};
  };
  const auto text = [&](const Over& over, std::int64_t expert_tensor) {
    return derived(mixture(), under(over, expert_tensor)).layer().to_string();
  };
  EXPECT_EQ(text({"expert", "tensor"}, 1), text({"expert", "tensor"}, 0));
  EXPECT_EQ(text({"expert", "tensor"}, 4), text({"expert"}, 0));
  EXPECT_EQ(text({"expert"}, 4), text({"expert"}, 0));
  EXPECT_NE(text({"expert", "tensor"}, 2), text({"expert", "tensor"}, 1));
  const double products = 3 * 2.0 * 2 * 128 * 32 * 24;  // gate, up and down of 2 x 128 slots
  for (const auto& over : {Over{"expert", "tensor"}, Over{"expert"}}) {
    for (const std::int64_t expert_tensor : {1, 2, 4}) {
      const auto parallel = under(over, expert_tensor);
      const auto model = derived(mixture(), parallel);
      double flops = 0;
      for (const auto& step : model.layer().forward)
        flops += step.routed && step.work == workloads::ComputeWork::product ? step.flops.value() : 0;
      EXPECT_EQ(flops * static_cast<double>(model.ranks), products) << expert_tensor;
      const auto copies = model.ranks / (parallel.ranks_of_experts() * expert_tensor);
      EXPECT_EQ(update(model.layer(), "Weup").stored.value() * model.ranks, copies * 8 * 32 * 24 * 2) << expert_tensor;
    }
  }
}

// Also where every tensor rank has all tokens (no sequence parallelism): each sends only what its own experts... share.
TEST(ExpertBlock, WithoutSequenceParallelism) {
  const workloads::Parallel parallel{.tensor = 2, .expert = 4, .sequence_parallel = false};
  EXPECT_THAT(of_kind(derived(mixture(), parallel).layer().forward, workloads::CollectiveKind::all_to_all),
              ElementsAre("expert 16384", "expert 16384"));
}

// Each slot reads its expert's bias where an index says and is written anew: 32 slots of 24 (gate, up) and 32 (down)
// numbers, 2 bytes each, move three times forward, a third of it by index; backward the gradient is read, and rows of
// the biases' gradient are added to.
TEST(ExpertBlock, BiasesAreRowsByIndex) {
  auto model = mixture();
  model.experts->biases = true;
  const auto layer = derived(model, workloads::Parallel{.data = 2, .expert = 4}).layer();
  const auto named = [](const workloads::BlockSteps& steps, const std::string& name) {
    return *std::find_if(steps.begin(), steps.end(), [&](const auto& step) { return step.name == name; });
  };
  for (const auto& [product, width] : {std::pair{"expert gate", 24}, {"expert up", 24}, {"expert down", 32}}) {
    const std::int64_t rows = 32 * width * 2;
    const auto forward = named(layer.forward, std::string(product) + " bias"),
               backward = named(layer.backward, std::string(product) + " bias backward");
    EXPECT_EQ(forward.traffic.value(), 3 * rows) << product;
    EXPECT_EQ(forward.indexed.value(), rows) << product;
    EXPECT_EQ(backward.traffic.value(), 2 * rows) << product;
    EXPECT_EQ(backward.indexed.value(), rows) << product;
    EXPECT_TRUE(forward.routed && backward.routed) << product;
  }
  EXPECT_THAT(of_kind(layer.forward, workloads::CollectiveKind::all_to_all), ElementsAre("expert 8192", "expert 8192"))
      << "as without";
}

// Routed work is marked, and only that.
TEST(ExpertBlock, RoutedWorkIsMarked) {
  const auto layer = derived(mixture(), workloads::Parallel{.data = 2, .expert = 4}).layer();
  for (const auto* pass : {&layer.forward, &layer.backward}) {
    for (const auto& step : *pass) {
      const bool expected = step.name.find("expert") != std::string::npos ||
                            step.name.find("Routed") != std::string::npos || step.name.find("RY") != std::string::npos;
      const bool shared =
          step.name.find("shared") != std::string::npos || step.name.find("sum of") != std::string::npos;
      EXPECT_EQ(step.routed, expected && !shared) << step.name;
    }
  }
}

TEST(ExpertBlock, ExpertsMustDivide) {
  try {
    (void)derived(mixture(), workloads::Parallel{.expert = 16});
    FAIL();
  } catch (const workloads::ShardingError& error) {
    EXPECT_EQ(error.axis(), "expert");
    EXPECT_THAT(error.what_is_wrong(), ::testing::HasSubstr("does not divide E = 8"));
  }
}

}  // namespace
}  // namespace lockstep::test
