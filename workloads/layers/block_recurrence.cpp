// A recurrence in place of attention: queries, keys and values pass a short convolution, the state is carried along,
// and what queries read of it is normed under a gate (arXiv 2405.21060, 2412.06464, 2510.26692).
#include "workloads/layers/block_writer_private.hpp"

namespace lockstep::workloads {
namespace {

using Kind = BlockOp::Kind;

}  // namespace

void BlockWriter::convolution(const std::string& what, const std::string& in, const std::string& out, const Dims& dims,
                              const std::string& weight_name) {
  weight(weight_name, {dims[2], dims[3], "W"});
  activation(out, dims);
  op({.kind = Kind::elementwise,
      .name = what,
      .inputs = {in},
      .weight = weight_name,
      .output = out,
      .before = model_.recurrence->convolution - 1});
}

void BlockWriter::recurrence(const std::string& in, const std::string& out) {
  const Recurrence& rule = *model_.recurrence;
  const Dims keys{"B", "T", "G", "S"}, values{"B", "T", "M", "P"}, scalars{"B", "T", "M"};
  product("state query projection", in, "Wmq", {"D", "G", "S"}, "Mqp", keys);
  product("state key projection", in, "Wmk", {"D", "G", "S"}, "Mkp", keys);
  product("state value projection", in, "Wmv", {"D", "M", "P"}, "Mvp", values);
  convolution("convolution of queries", "Mqp", "Mq", keys, "Wmqc");
  convolution("convolution of keys", "Mkp", "Mk", keys, "Wmkc");
  convolution("convolution of values", "Mvp", "Mv", values, "Wmvc");
  Dims inputs{"Mq", "Mk", "Mv"};
  if (rule.rule == Recurrence::Rule::kimi_delta && rule.decay_rank > 0) {
    product("decay latent", in, "Wmda", {"D", "Rd"}, "Mda", {"B", "T", "Rd"});
    product("decay projection", "Mda", "Wmdb", {"Rd", "G", "S"}, "Md", keys);
  } else if (rule.rule == Recurrence::Rule::kimi_delta) {
    product("decay projection", in, "Wmd", {"D", "G", "S"}, "Md", keys);
  } else {
    product("decay projection", in, "Wmd", {"D", "M"}, "Md", scalars);
  }
  biased(rule.rule == Recurrence::Rule::kimi_delta);
  inputs.push_back("Md");
  if (rule.rule != Recurrence::Rule::mamba2) {
    product("update gate projection", in, "Wmu", {"D", "M"}, "Mu", scalars);
    inputs.push_back("Mu");
  }
  activation("Mo", values);
  weight("Wmheads", {"Mv", "M"});
  op({.kind = Kind::scan,
      .name = "scan",
      .inputs = inputs,
      .weight = "Wmheads",
      .output = "Mo",
      .part = OpPart::recurrence,
      .recurrence = rule});
  if (rule.gate_rank > 0) {
    product("output gate latent", in, "Wmza", {"D", "Rg"}, "Mza", {"B", "T", "Rg"});
    product("output gate projection", "Mza", "Wmzb", {"Rg", "M", "P"}, "Mz", values);
  } else {
    product("output gate projection", in, "Wmz", {"D", "M", "P"}, "Mz", values);
  }
  weight("Wmnorm", rule.rule == Recurrence::Rule::mamba2 ? Dims{"M", "P"} : Dims{"P"});
  activation("Mn", values);
  op({.kind = Kind::elementwise,
      .name = "gated norm",
      .inputs = {"Mo", "Mz"},
      .weight = "Wmnorm",
      .output = "Mn",
      .reduced_dim = "P",
      .statistics = 1,
      .part = OpPart::norm});
  product("recurrence output", "Mn", "Wmo", {"M", "P", "D"}, out, {"B", "T", "D"});
  if (model_.parallel_residual) mark_branch();
}

}  // namespace lockstep::workloads
