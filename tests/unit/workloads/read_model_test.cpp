// Models from YAML: defaults and refusals.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/workloads/problem_lines.hpp"
#include "workloads/model/model.hpp"

namespace lockstep {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

workloads::Model read_text(std::string_view text, Problems& problems) {
  return workloads::read_model(YamlView::from_text(text, "m.yaml", problems), "m");
}

std::vector<std::string> complaints(std::string_view text) {
  Problems problems;
  (void)read_text(text, problems);
  return lines_of(problems);
}

TEST(ReadModel, DefaultsAreALlamaWithOneKeyHeadPerQueryHead) {
  Problems problems;
  const workloads::Model model = read_text("{layers: 2, d_model: 96, d_ff: 256, heads: 4, vocabulary: 100}", problems);
  EXPECT_THAT(lines_of(problems), IsEmpty());
  EXPECT_EQ(model.name, "m");
  EXPECT_EQ(model.model_type, "transformer");
  EXPECT_EQ(model.kv_heads, 4);
  EXPECT_EQ(model.head_size, 24);  // 96 / 4
  EXPECT_TRUE(model.gated);
  EXPECT_EQ(model.norm, workloads::NormKind::rms);
  EXPECT_EQ(model.norms_per_layer, 2);
  EXPECT_TRUE(model.final_norm);
  EXPECT_FALSE(model.tied_embeddings);
  EXPECT_EQ(model.learned_positions, 0);
}

TEST(ReadModel, EveryKeyReachesItsField) {
  Problems problems;
  const workloads::Model model = read_text(
      "type: transformer\nlayers: 2\nd_model: 100\nd_ff: 256\nheads: 6\nkv_heads: 3\nhead_size: 20\nvocabulary: 0\n"
      "mlp: plain\ntied_embeddings: true\nqkv_bias: true\nattention_output_bias: true\nmlp_bias: true\n"
      "norm: layer_norm\nnorms_per_layer: 4\nfinal_norm: false\nlearned_positions: 64\nqk_norm: true\nsource: here\n",
      problems);
  EXPECT_THAT(lines_of(problems), IsEmpty());
  workloads::Model expected;
  expected.name = "m";
  expected.source = "here";
  expected.model_type = "transformer";
  expected.layers = 2;
  expected.d_model = 100;
  expected.d_ff = 256;
  expected.heads = 6;
  expected.kv_heads = 3;
  expected.head_size = 20;
  expected.vocabulary = 0;
  expected.gated = false;
  expected.tied_embeddings = true;
  expected.qkv_bias = expected.attention_output_bias = expected.mlp_bias = true;
  expected.norm = workloads::NormKind::layer_norm;
  expected.norms_per_layer = 4;
  expected.final_norm = false;
  expected.learned_positions = 64;
  expected.qk_norm = workloads::QkNorm::per_head;
  EXPECT_EQ(model, expected);
}

TEST(ReadModel, LayersThatDiffer) {
  Problems problems;
  const workloads::Model model = read_text(
      "{layers: 6, d_model: 64, d_ff: 256, heads: 4, vocabulary: 100, attention_sinks: true, parallel_residual: true,\n"
      " mtp_modules: 2, qk_norm: full_width, norm: layer_norm_no_bias, window: {tokens: 16, full_every: 3, full_first: "
      "1},\n"
      " latent_attention: {q_rank: 24, kv_rank: 16, nope_head_size: 8, rope_head_size: 4, value_head_size: 6,\n"
      "                    indexer: {heads: 2, head_size: 12, top_k: 5}},\n"
      " moe: {experts: 8, experts_per_token: 2, d_ff: 32, shared_experts: 1, shared_d_ff: 40, shared_gate: true,\n"
      "       biases: true, score_bias: true, groups: 4, groups_per_token: 2, dense_first: 2, every: 2}}",
      problems);
  EXPECT_THAT(lines_of(problems), IsEmpty());
  EXPECT_EQ(model.latent, (workloads::LatentAttention{24, 16, 8, 4, 6}));
  EXPECT_EQ(model.indexer, (workloads::SparseIndexer{2, 12, 5}));
  EXPECT_EQ(model.experts, (workloads::Experts{8, 2, 32, 1, 40, true, true, true, 4, 2}));
  EXPECT_EQ(model.kv_heads, 4);
  EXPECT_EQ(model.head_size, 8 + 4);
  EXPECT_EQ(model.norm, workloads::NormKind::layer_norm_no_bias);
  EXPECT_EQ(model.qk_norm, workloads::QkNorm::full_width);
  EXPECT_TRUE(model.attention_sinks && model.parallel_residual);
  EXPECT_EQ(model.mtp_modules, 2);
  // Full: the first, and each third. Experts: each second, but not of the first two.
  constexpr auto full = workloads::AttentionReach::full;
  constexpr auto sliding = workloads::AttentionReach::sliding;
  EXPECT_THAT(model.layer_kinds,
              ElementsAre(workloads::LayerKind{full, 0, false}, workloads::LayerKind{sliding, 16, false},
                          workloads::LayerKind{full, 0, false}, workloads::LayerKind{sliding, 16, true},
                          workloads::LayerKind{sliding, 16, false}, workloads::LayerKind{full, 0, true}));
}

TEST(ReadModel, CompressedAttention) {
  const std::string head = "layers: 3\nd_model: 64\nd_ff: 8\nheads: 4\nkv_heads: 1\nhead_size: 16\nvocabulary: 100\n";
  const std::string sizes = "q_rank: 8, output_groups: 2, output_rank: 4, all_rate: 8";
  const std::string indexer = "indexer: {heads: 2, head_size: 4, top_k: 2}";
  Problems problems;
  const auto model = read_text(head + "window: {tokens: 5}\nresidual_streams: 2\ncompressed_attention: {layers: wca, " +
                                   sizes + ", " + indexer + "}\n",
                               problems);
  EXPECT_THAT(lines_of(problems), IsEmpty());
  EXPECT_EQ(model.compressed, (workloads::CompressedAttention{8, 2, 4, 4, 8}));
  EXPECT_EQ(model.streams, 2);
  EXPECT_EQ(model.layer(1).compression, workloads::Compression::chosen);
  EXPECT_EQ(model.layer(2).span, 5);
  const auto with = [&](const std::string& more) { return complaints(head + more); };
  EXPECT_THAT(with("window: {tokens: 5}\ncompressed_attention: {layers: wcx, " + sizes + "}\n"),
              ElementsAre(HasSubstr("compressed_attention.layers: `wcx` does not say what each of 3 layers sees")));
  EXPECT_THAT(with("compressed_attention: {layers: waa, " + sizes + "}\n"),
              ElementsAre(HasSubstr("a layer has no window")));
  EXPECT_THAT(with("window: {tokens: 5}\ncompressed_attention: {layers: wca, " + sizes + "}\n"),
              ElementsAre(HasSubstr("nothing chooses entries")));
  EXPECT_THAT(with("window: {tokens: 5}\nqkv_bias: true\ncompressed_attention: {layers: waa, " + sizes + "}\n"),
              ElementsAre(HasSubstr("goes with no other form of attention")));
  EXPECT_THAT(with("window: {tokens: 5}\ncompressed_attention: {layers: waa, q_rank: 8, output_groups: 3, output_rank: "
                   "4}\n"),
              ElementsAre(HasSubstr("4 heads do not divide evenly over 3 output groups")));
  EXPECT_THAT(with("parallel_residual: true\nresidual_streams: 2\n"),
              ElementsAre(HasSubstr("hyper-connections and a parallel residual are both there")));
}

// Each contradiction stands at the key that makes it.
TEST(ReadModel, ContradictionsOfExpertsAndLatents) {
  const auto with = [](const std::string& more) {
    return complaints("layers: 4\nd_model: 64\nheads: 4\nvocabulary: 100\n" + more);
  };
  EXPECT_THAT(with("moe: {experts: 4,\n experts_per_token: 5, d_ff: 8}\n"),
              ElementsAre(HasSubstr("m.yaml:6:21: moe.experts_per_token: 5 experts per token of 4")));
  EXPECT_THAT(with("moe: {experts: 6, experts_per_token: 1, d_ff: 8,\n groups: 4}\n"),
              ElementsAre(HasSubstr("m.yaml:6:10: moe.groups: 6 experts do not divide evenly over 4 groups")));
  EXPECT_THAT(with("moe: {experts: 8, experts_per_token: 1, d_ff: 8, groups: 4,\n groups_per_token: 5}\n"),
              ElementsAre(HasSubstr("m.yaml:6:20: moe.groups_per_token: 5 groups per token of 4")));
  EXPECT_THAT(with("moe: {experts: 8, experts_per_token: 3, d_ff: 8, groups: 4,\n groups_per_token: 1}\n"),
              ElementsAre(HasSubstr("1 groups hold fewer than 3 experts")));
  EXPECT_THAT(with("d_ff: 9\nmoe: {experts: 4, experts_per_token: 1, d_ff: 8}\n"),
              ElementsAre(HasSubstr("m.yaml:5:7: d_ff: no layer has the dense MLP")));
  EXPECT_THAT(with("moe: {experts: 4, experts_per_token: 1, d_ff: 8, dense_first: 1}\n"),
              ElementsAre(HasSubstr("d_ff: missing")));
  EXPECT_THAT(with("d_ff: 9\nmoe: {experts: 4, experts_per_token: 1, d_ff: 8, dense_first: 4}\n"),
              ElementsAre(HasSubstr("m.yaml:6:6: moe: no layer is left for the experts")));
  EXPECT_THAT(with("moe: {experts: 4, experts_per_token: 1, d_ff: 8, shared_d_ff: 8}\n"),
              ElementsAre(HasSubstr("moe.shared_d_ff: there are no shared experts")));
  EXPECT_THAT(with("d_ff: 8\nkv_heads: 2\nlatent_attention: {kv_rank: 8, nope_head_size: 8, rope_head_size: 8, "
                   "value_head_size: 8}\n"),
              ElementsAre(HasSubstr("m.yaml:6:11: kv_heads: latent attention has its own sizes")));
  EXPECT_THAT(with("d_ff: 8\nwindow: {token: 8}\n"),
              UnorderedElementsAre(HasSubstr("window.tokens: missing"), HasSubstr("did you mean `tokens`")));
  EXPECT_THAT(with("moe: {experts: 2147483648, experts_per_token: 1, d_ff: 2147483648}\n"),
              ElementsAre(HasSubstr("more than 1e15 parameters")));
}

TEST(ReadModel, TwoMatmulStackTakesThreeSizes) {
  Problems problems;
  const workloads::Model model = read_text("{type: two-matmul, layers: 4, d_model: 8, d_ff: 32}", problems);
  EXPECT_THAT(lines_of(problems), IsEmpty());
  EXPECT_FALSE(model.attention);
  EXPECT_EQ(count_parameters(model).total(), 4 * 2 * 8 * 32);
}

TEST(ReadModel, TwoMatmulStackHasNoHeads) {
  EXPECT_THAT(complaints("{type: two-matmul, layers: 4, d_model: 8, d_ff: 32, heads: 2}"),
              ElementsAre(AllOf(HasSubstr("heads"), HasSubstr("unknown key"))));
}

TEST(ReadModel, EveryMissingKeyIsNamedAtOnce) {
  EXPECT_THAT(
      complaints("{kv_heads: 1}"),
      UnorderedElementsAre(HasSubstr("layers: missing"), HasSubstr("d_model: missing"), HasSubstr("d_ff: missing"),
                           HasSubstr("heads: missing"), HasSubstr("vocabulary: missing")));
}

TEST(ReadModel, RefusedSizesBringNoFollowingComplaints) {
  EXPECT_THAT(complaints("layers: 0\nd_model: -8\nd_ff: big\nheads: 2.5\nkv_heads: 3\nvocabulary: 10\n"),
              UnorderedElementsAre(HasSubstr("m.yaml:1:9: layers: `0`"), HasSubstr("m.yaml:2:10: d_model: `-8`"),
                                   HasSubstr("m.yaml:3:7: d_ff: `big`"), HasSubstr("m.yaml:4:8: heads: `2.5`")));
}

TEST(ReadModel, UnknownWordsAndKeysSuggestTheNearest) {
  EXPECT_THAT(complaints("layers: 1\nd_model: 8\nd_ff: 8\nheads: 2\nvocabulary: 4\nnorm: rsm\nhead_sise: 4\n"),
              UnorderedElementsAre(HasSubstr("did you mean `rms`"), HasSubstr("did you mean `head_size`")));
}

TEST(ReadModel, HeadsMustDivide) {
  EXPECT_THAT(complaints("{layers: 1, d_model: 100, d_ff: 8, heads: 3, vocabulary: 4}"),
              ElementsAre(HasSubstr("d_model 100 is not a multiple of 3 heads")));
  EXPECT_THAT(complaints("{layers: 1, d_model: 100, d_ff: 8, heads: 4, kv_heads: 3, vocabulary: 4}"),
              ElementsAre(HasSubstr("4 query heads do not divide evenly over 3 key-value heads")));
}

TEST(ReadModel, HostileSizesAreRefusedBeforeTheyOverflow) {
  EXPECT_THAT(complaints("{layers: 100001, d_model: 8, d_ff: 8, heads: 2, vocabulary: 4}"),
              ElementsAre(HasSubstr("layers: `100001` is too large")));
  EXPECT_THAT(complaints("{layers: 1, d_model: 2147483649, d_ff: 8, heads: 1, vocabulary: 4}"),
              ElementsAre(HasSubstr("d_model: `2147483649` is too large")));
  EXPECT_THAT(complaints("{layers: 100000, d_model: 2147483648, d_ff: 2147483648, heads: 1, vocabulary: 4}"),
              ElementsAre(HasSubstr("more than 1e15 parameters")));
  EXPECT_THAT(complaints("{layers: 1, d_model: 2147483648, d_ff: 8, heads: 1, head_size: 1, vocabulary: 2147483648}"),
              ElementsAre(HasSubstr("more than 1e15 parameters")));
  EXPECT_THAT(complaints("{layers: 1, d_model: 8, d_ff: 8, heads: 2, vocabulary: 4, norms_per_layer: 9}"),
              ElementsAre(HasSubstr("norms_per_layer: `9` is too large")));
  EXPECT_THAT(complaints("{type: two-matmul, layers: 100000, d_model: 200000, d_ff: 200000}"),
              ElementsAre(HasSubstr("more than 1e15 parameters")));
}

TEST(ReadModel, SomethingElseThanAMapIsOneProblem) {
  EXPECT_EQ(complaints("[1, 2]").size(), 1u);
  EXPECT_EQ(complaints("word").size(), 1u);
}

// Letters are parts of a layer each; layers that take over an index lie between those that have one.
TEST(ReadModel, LettersAndSharedIndices) {
  Problems problems;
  const workloads::Model hybrid = read_text(
      "{layers: 4, layer_pattern: 'M*E-', d_model: 64, d_ff: 128, heads: 4, vocabulary: 100, mtp_modules: 1,\n"
      " mtp_pattern: 'M-*E', recurrence: {rule: mamba2, heads: 8, key_size: 4, value_size: 8},\n"
      " moe: {experts: 8, experts_per_token: 2, d_ff: 32}}",
      problems);
  EXPECT_THAT(lines_of(problems), IsEmpty());
  using workloads::LayerKind;
  using workloads::Mixer;
  EXPECT_THAT(hybrid.layer_kinds,
              ElementsAre(LayerKind{.mixer = Mixer::recurrence, .mlp = false}, LayerKind{.mlp = false},
                          LayerKind{.experts = true, .mixer = Mixer::none}, LayerKind{.mixer = Mixer::none}));
  EXPECT_THAT(hybrid.mtp_layers, ElementsAre(LayerKind{.mixer = Mixer::recurrence}, LayerKind{.experts = true}));
  const workloads::Model sparse = read_text(
      "{layers: 8, d_model: 64, d_ff: 128, heads: 4, vocabulary: 100, latent_attention: {q_rank: 8, kv_rank: 8,\n"
      " nope_head_size: 8, rope_head_size: 4, value_head_size: 8,\n"
      " indexer: {heads: 2, head_size: 4, top_k: 16, every: 3, first: 2}}}",
      problems);
  EXPECT_THAT(lines_of(problems), IsEmpty());
  std::string own;
  for (const LayerKind& kind : sparse.layer_kinds) own += kind.shared_index ? 'S' : 'F';
  EXPECT_EQ(own, "FFSSFSSF") << "the first two, and every third after them";
}

}  // namespace
}  // namespace lockstep
