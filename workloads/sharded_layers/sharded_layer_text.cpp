#include "sim/core/quantity_text.hpp"
#include "workloads/sharded_layers/sharded_layer.hpp"

namespace lockstep::workloads {

std::string_view name(MemoryKind kind) {
  switch (kind) {
    case MemoryKind::weights: return "weights";
    case MemoryKind::gradients: return "gradients";
    case MemoryKind::optimizer: return "optimizer";
    case MemoryKind::activations: return "activations";
    case MemoryKind::gathered: return "gathered";
    case MemoryKind::buffers: return "buffers";
    case MemoryKind::workspace: return "workspace";
    case MemoryKind::overhead: return "overhead";
    case MemoryKind::host: return "host";
  }
  return "?";
}

namespace {

std::string cost_and_reason(Bytes full_size, const std::string& reason) {
  return "  (" + std::to_string(full_size.value()) + " B; " + reason + ")\n";
}

void print(std::string& text, const char* title, const BlockSteps& steps) {
  text += std::string("  ") + title + "\n";
  for (const auto& step : steps) {
    if (step.given_time) {
      text += "    " + step.name + ": " + format(*step.given_time) + (step.stream.empty() ? "" : " on " + step.stream) +
              "\n";
    } else if (step.kind == BlockStep::Kind::compute) {
      text += "    " + step.name + ": " + step.detail + "\n";
    } else {
      text += "    " + std::string(book_name(step.collective)) + "_" + subscript(step.axes) + ": " + step.detail +
              cost_and_reason(step.full_size, step.reason);
    }
  }
}

void print(std::string& text, const std::string& weight, const char* when,
           const std::vector<DerivedCollective>& collectives) {
  for (const auto& derived : collectives) {
    text +=
        "    " + weight + " " + when + ": " + derived.to_string() + cost_and_reason(derived.full_size, derived.reason);
  }
}

}  // namespace

std::string ShardedLayer::to_string() const {
  std::string text = "block " + name + "\n";
  print(text, "forward", forward);
  print(text, "backward", backward);
  text += "  gradients and update\n";
  for (const auto& update : weights) {
    print(text, update.weight, "each microbatch", update.each_microbatch);
    print(text, update.weight, "after the last microbatch", update.last_microbatch);
    print(text, update.weight, "after the update", update.publish);
  }
  return text;
}

}  // namespace lockstep::workloads
