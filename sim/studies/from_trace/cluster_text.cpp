#include "sim/studies/from_trace/cluster_text.hpp"

#include "sim/core/counted.hpp"
#include "sim/core/errors.hpp"
#include "topologies/fabrics/fabric.hpp"

namespace lockstep::from_trace {
namespace {

/// Each line of a text behind so many blanks.
std::string indented(const std::string& text, std::size_t blanks) {
  std::string made;
  bool at_start = true;
  for (const char c : text) {
    if (at_start && c != '\n') made.append(blanks, ' ');
    made += c;
    at_start = c == '\n';
  }
  return made;
}

[[noreturn]] void refuse(std::int64_t chips, std::int64_t ranks, const std::string& expected) {
  throw ConfigError({{{"--cluster", 0, 0},
                      "",
                      "the cluster has " + counted(chips, "chip") + ", the job " + counted(ranks, "rank"),
                      expected}});
}

}  // namespace

std::string cluster_text(const std::string& shorthand, const topologies::ClusterSpec& spec, std::int64_t ranks,
                         const std::string& kernels) {
  const auto word = shorthand.substr(0, shorthand.find(':'));
  std::string chip = "\n    like: " + spec.chip().name;
  if (const auto* torus = spec.torus()) {
    if (spec.devices() != ranks) refuse(spec.devices(), ranks, "a slice of as many chips");
    if (kernels.empty()) return shorthand;
    std::string shape;
    for (const auto size : torus->shape) shape += (shape.empty() ? "" : ", ") + std::to_string(size);
    return "\n  chip:" + chip + "\n" + indented(kernels, 4) + "  shape: [" + shape + "]" +
           (spec.units > 1 ? "\n  pods: " + std::to_string(spec.units) : "");
  }
  const auto in_node = spec.devices() / spec.units / spec.halls;
  const bool part = spec.devices() == in_node && ranks < in_node && in_node % ranks == 0;
  if (spec.devices() != ranks && !part) {
    refuse(spec.devices(), ranks,
           ranks % in_node == 0 ? word + ":" + std::to_string(ranks / in_node) : "whole nodes, or a part of one");
  }
  if (kernels.empty() && !part) return shorthand;
  std::string text = "\n  node:\n    like: " + topologies::usual_node(word);
  if (part) text += "\n    chips: " + std::to_string(ranks);
  if (!kernels.empty()) text += "\n    chip:\n      like: " + spec.chip().name + "\n" + indented(kernels, 6);
  if (!text.ends_with('\n')) text += "\n";
  return text + "  nodes: " + std::to_string(spec.units);
}

}  // namespace lockstep::from_trace
