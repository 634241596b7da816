// Mixture of experts: the router scores every token, its slots travel to the experts and back, shared experts see all
// tokens. The shared experts' products stand where slots travel: before those of the routed experts and after, so that
// the same holds in the backward.
#include "workloads/layers/block_writer_private.hpp"

namespace lockstep::workloads {
namespace {

using Kind = BlockOp::Kind;

}  // namespace

void BlockWriter::experts(const std::string& in, const std::string& out) {
  const bool shared = model_.experts->shared > 0;
  const bool latent = model_.experts->latent > 0;  // routed experts see a projection of the token
  const std::string combined = shared ? out + "r" : out;
  const std::string routed = latent ? out + "l" : combined;
  const std::string width = latent ? "De" : "D";
  const Dims slots{"E", "C", width};
  const Dims hidden{"E", "C", "Fe"};
  product("router", in, "Wrouter", {"D", "E"}, "Scores", {"B", "T", "E"});
  biased(model_.experts->biases);
  // Each slot gets its expert's bias, a row of as many numbers as it has itself.
  const auto plus_bias = [&](const std::string& what, const std::string& name, const std::string& of,
                             const Dims& dims) {
    if (!model_.experts->biases) return name;
    activation(name + "b", dims);
    weight(of + "bias", {"E", dims.back()});
    op({.kind = Kind::elementwise,
        .name = what + " bias",
        .inputs = {name},
        .weight = of + "bias",
        .output = name + "b",
        .part = OpPart::experts,
        .linear = true,
        .rows_by_index = true});
    return name + "b";
  };
  if (latent) product("expert latent", in, "Wedl", {"D", "De"}, "Elt", {"B", "T", "De"});
  activation("Routed", slots);
  op({.kind = Kind::dispatch,
      .name = "dispatch to experts",
      .inputs = {latent ? "Elt" : in, "Scores"},
      .weight = "",
      .output = "Routed",
      .part = OpPart::experts});
  if (shared) mlp_hidden(in, "S", "Fs", "shared expert ");
  if (model_.gated)
    product("expert gate projection", "Routed", "Wegate", {"E", width, "Fe"}, "RGate", hidden, OpPart::experts);
  product("expert up projection", "Routed", "Weup", {"E", width, "Fe"}, "RUp", hidden, OpPart::experts);
  const auto gate = model_.gated ? plus_bias("expert gate", "RGate", "Wegate", hidden) : std::string();
  const auto up = plus_bias("expert up", "RUp", "Weup", hidden);
  nonlinear("expert activation", model_.gated ? Dims{gate, up} : Dims{up}, "RZ", hidden, OpPart::expert_activation);
  product("expert down projection", "RZ", "Wedown", {"E", "Fe", width}, "RY", slots, OpPart::experts);
  const auto down = plus_bias("expert down", "RY", "Wedown", slots);
  if (shared) mlp_down("S", "Fs", out + "s", "shared expert ");
  activation(routed, {"B", "T", width});
  op({.kind = Kind::combine,
      .name = "combine experts",
      .inputs = {down},
      .weight = "",
      .output = routed,
      .part = OpPart::experts});
  if (latent) product("token out of the expert latent", routed, "Weul", {"De", "D"}, combined, {"B", "T", "D"});
  if (shared) add("sum of experts", {combined, out + "s"}, out, {"B", "T", "D"});
}

}  // namespace lockstep::workloads
