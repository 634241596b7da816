// Mixture of experts: the router scores every token, its slots travel to the experts and back, shared experts see all tokens.
// The shared experts' products stand where slots travel: before those of the routed experts and after, so that the same
// holds in the backward.
#include "workloads/block_writer_private.hpp"

namespace lockstep {
namespace {

using Kind = BlockOp::Kind;

}  // namespace

void BlockWriter::experts(const std::string& in, const std::string& out) {
  const bool shared = model_.experts->shared > 0;
  const std::string routed = shared ? out + "r" : out;
  const Dims slots{"E", "C", "D"};
  const Dims hidden{"E", "C", "Fe"};
  product("router", in, "Wrouter", {"D", "E"}, "Scores", {"B", "T", "E"});
  activation("Routed", slots);
  op({.kind = Kind::dispatch, .name = "dispatch to experts", .inputs = {in, "Scores"}, .weight = "", .output = "Routed", .part = OpPart::experts});
  if (shared) mlp_hidden(in, "S", "Fs", "shared expert ");
  if (model_.gated) product("expert gate projection", "Routed", "Wegate", {"E", "D", "Fe"}, "RGate", hidden, OpPart::experts);
  product("expert up projection", "Routed", "Weup", {"E", "D", "Fe"}, "RUp", hidden, OpPart::experts);
  nonlinear("expert activation", model_.gated ? Dims{"RGate", "RUp"} : Dims{"RUp"}, "RZ", hidden, OpPart::expert_activation);
  product("expert down projection", "RZ", "Wedown", {"E", "Fe", "D"}, "RY", slots, OpPart::experts);
  if (shared) mlp_down("S", "Fs", out + "s", "shared expert ");
  activation(routed, {"B", "T", "D"});
  op({.kind = Kind::combine, .name = "combine experts", .inputs = {"RY"}, .weight = "", .output = routed, .part = OpPart::experts});
  if (shared) add("sum of experts", {routed, out + "s"}, out, {"B", "T", "D"});
}

}  // namespace lockstep
