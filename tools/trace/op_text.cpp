#include "tools/trace/op_text.hpp"

#include <array>

#include "sim/collectives/collective.hpp"
#include "tools/trace/json_text.hpp"
#include "workloads/sharding/joined_axes.hpp"

namespace lockstep {
namespace {

/// Names that trace viewers reserve for colours. A mesh axis keeps its colour in every trace of its mesh:
/// orange, green, magenta, yellow, blue, red.
constexpr std::array axis_colours = {"thread_state_iowait",   "rail_load",     "detailed_memory_dump", "yellow",
                                     "vsync_highlight_color", "rail_animation"};

std::string_view colour(const ProgramOp& op, StepPass pass) {
  if (op.kind == ProgramOp::Kind::collective) {
    return axis_colours[static_cast<std::size_t>(op.streams.front() - 1) % axis_colours.size()];
  }
  switch (pass) {
    case StepPass::forward: return "thread_state_runnable";
    case StepPass::backward: return "thread_state_uninterruptible";
    case StepPass::update: return "generic_work";
  }
  return "generic_work";
}

template <class Value>
void append_pair(std::string& out, std::string_view key, const Value& value) {
  out += ",\"";
  out += key;
  out += "\":";
  append_json(out, value);
}

}  // namespace

OpText::OpText(const Simulation& simulation)
    : program_(simulation.program), step_(simulation.preparation.step), collectives_(*simulation.preparation.cluster, *simulation.preparation.mesh) {}

std::string OpText::name(std::int32_t op) const {
  const auto& vertex = step_.op(program_.ops[static_cast<std::size_t>(op)].vertex);
  return step_.block_names[static_cast<std::size_t>(vertex.block)] + " | " + vertex.name;
}

const std::string& OpText::algorithm(const ProgramOp& op, const StepOp& vertex) {
  const auto [found, is_new] = algorithms_.try_emplace({op.communicator, vertex.collective, vertex.full_size});
  if (is_new) found->second = collectives_.algorithm(vertex.collective, vertex.axes, vertex.full_size);
  return found->second;
}

void OpText::append(std::string& out, std::int32_t op) {
  const auto& lowered = program_.ops[static_cast<std::size_t>(op)];
  const auto& vertex = step_.op(lowered.vertex);
  const bool collective = vertex.kind == StepOp::Kind::collective;
  const bool measured = vertex.given_time.has_value();
  out += "\"name\":";
  append_json(out, name(op));
  append_pair(out, "cat", collective ? "comm," + (measured ? vertex.stream : joined(vertex.axes, ",")) : std::string("compute"));
  append_pair(out, "cname", colour(lowered, vertex.pass));
  out += ",\"args\":{\"op\":";
  append_json(out, std::int64_t{op});
  append_pair(out, "kind", !collective ? std::string_view("compute") : measured ? std::string_view("measured") : lockstep::name(vertex.collective));
  append_pair(out, "pass", lockstep::name(vertex.pass));
  append_pair(out, "layer", step_.block_names[static_cast<std::size_t>(vertex.block)]);
  append_pair(out, "microbatch", std::int64_t{vertex.microbatch});
  append_pair(out, "detail", vertex.detail);
  if (collective && !measured) {
    append_pair(out, "reason", vertex.reason);
    append_pair(out, "axes", joined(vertex.axes));
    append_pair(out, "full_size_bytes", vertex.full_size.value());
    append_pair(out, "algorithm", algorithm(lowered, vertex));
  } else if (!measured) {
    append_pair(out, "flops", vertex.flops.value());
  }
  out += '}';
}

}  // namespace lockstep
