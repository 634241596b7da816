#include "tools/trace/op_text.hpp"

#include <array>
#include <functional>
#include <tuple>

#include "sim/collectives/collective.hpp"
#include "workloads/sharding/joined_axes.hpp"

namespace lockstep::trace {
namespace {

/// Names that trace viewers reserve for colours. A mesh axis keeps its colour in every trace of its mesh:
/// orange, green, magenta, yellow, blue, red.
constexpr std::array axis_colours = {"thread_state_iowait",   "rail_load",     "detailed_memory_dump", "yellow",
                                     "vsync_highlight_color", "rail_animation"};

std::string_view colour(const program::ProgramOp& op, workloads::StepPass pass) {
  if (op.kind == program::ProgramOp::Kind::collective) {
    return axis_colours[position_of(op.streams.front() - 1) % axis_colours.size()];
  }
  switch (pass) {
    case workloads::StepPass::forward: return "thread_state_runnable";
    case workloads::StepPass::backward: return "thread_state_uninterruptible";
    case workloads::StepPass::update: return "generic_work";
  }
  return "generic_work";
}

/// The properties on which an operation's text depends.
auto told(const program::ProgramOp& op, const workloads::StepOp& vertex) {
  return std::tuple{vertex.what, vertex.block, vertex.pass, op.communicator};
}

}  // namespace

OpText::OpText(const Simulation& simulation)
    : program_(simulation.program),
      step_(simulation.preparation.step),
      repetition_(simulation.run.timeline.repetition()),
      whole_(simulation.preparation.pipeline.order, step_, simulation.run.timeline),
      collectives_(*simulation.preparation.machine.collectives),
      phrases_(0, Hash{this}, Equal{this}) {}

std::size_t OpText::Hash::operator()(std::int32_t op) const {
  const auto& vertex = text->vertex(op);
  const auto place = position_of(vertex.block) * 3 + position_of(vertex.pass);
  return std::hash<const workloads::StepWork*>{}(vertex.what) +
         place * 0x9e3779b97f4a7c15U;  // odd: every place moves the hash elsewhere
}

bool OpText::Equal::operator()(std::int32_t a, std::int32_t b) const {
  return told(text->lowered(a), text->vertex(a)) == told(text->lowered(b), text->vertex(b));
}

std::size_t OpText::phrase(std::int32_t op) { return phrases_.try_emplace(op, phrases_.size()).first->second; }

const std::string& OpText::algorithm(const program::ProgramOp& op, const workloads::StepOp& vertex) {
  const auto [found, is_new] = algorithms_.try_emplace({op.communicator, vertex->collective, vertex->full_size});
  if (is_new) found->second = collectives_.algorithm(vertex->collective, vertex->axes, vertex->full_size);
  return found->second;
}

OpWords OpText::words(std::int32_t op) {
  const auto& lowered = this->lowered(op);
  const auto& vertex = step_.op(lowered.vertex);
  const auto& block = step_.block_names[vertex.block];
  const bool collective = vertex->kind == workloads::StepOp::Kind::collective;
  const bool measured = vertex->given_time.has_value();
  const std::string_view kind = !collective ? "compute" : measured ? "measured" : name(vertex->collective);
  OpWords words{block + " | " + vertex->name, {collective ? "comm" : "compute"}, colour(lowered, vertex.pass), {}};
  if (collective && measured) words.categories.push_back(vertex->stream);
  if (collective && !measured)
    words.categories.insert(words.categories.end(), vertex->axes.begin(), vertex->axes.end());
  auto& arguments = words.arguments;
  arguments = {{"kind", kind, true}, {"pass", name(vertex.pass)}, {"layer", block, true}, {"detail", vertex->detail}};
  if (collective && !measured) {
    arguments.push_back({"reason", vertex->reason});
    const auto [axes, is_new] = joined_.try_emplace(vertex->axes);
    if (is_new) axes->second = workloads::joined(vertex->axes);
    arguments.push_back({"axes", axes->second, true});
    arguments.push_back({"full_size_bytes", vertex->full_size.value()});
    arguments.push_back({"algorithm", algorithm(lowered, vertex)});
  } else if (!measured) {
    arguments.push_back({"flops", vertex->flops.value()});
  }
  return words;
}

}  // namespace lockstep::trace
