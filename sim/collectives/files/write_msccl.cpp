#include <algorithm>

#include "sim/collectives/files/tree_program.hpp"

namespace lockstep::collectives::msccl {
namespace {

void add(std::string& text, const char* name, std::string_view value) {
  text += std::string(" ") + name + "=\"";
  for (const char c : value) {
    switch (c) {
      case '&': text += "&amp;"; break;
      case '<': text += "&lt;"; break;
      case '"': text += "&quot;"; break;
      default: text += c;
    }
  }
  text += '"';
}
void add(std::string& text, const char* name, std::int64_t value) { add(text, name, std::to_string(value)); }

const char* letter(Buffer buffer) { return buffer == Buffer::input ? "i" : buffer == Buffer::output ? "o" : "s"; }

std::string step_text(const Step& step, std::size_t number) {
  std::string text = "      <step";
  add(text, "s", static_cast<std::int64_t>(number));
  add(text, "type", step.action->type);
  add(text, "srcbuf", letter(step.source.buffer));
  add(text, "srcoff", step.source.first);
  add(text, "dstbuf", letter(step.target.buffer));
  add(text, "dstoff", step.target.first);
  add(text, "cnt", step.count);
  add(text, "depid", step.after_block);
  add(text, "deps", step.after_step);
  add(text, "hasdep", step.awaited ? 1 : 0);
  return text + "/>\n";
}

}  // namespace

std::string to_xml(const Algorithm& algorithm) {
  std::string text = "<algo";
  add(text, "name", algorithm.name);
  add(text, "proto", algorithm.protocol.empty() ? "Simple" : std::string_view(algorithm.protocol));
  std::int32_t last_channel = 0;
  for (const auto& gpu : algorithm.gpus) {
    for (const auto& block : gpu.blocks) last_channel = std::max(last_channel, block.channel);
  }
  add(text, "nchannels", last_channel + 1);
  add(text, "nchunksperloop", algorithm.chunks);
  add(text, "ngpus", std::ssize(algorithm.gpus));
  add(text, "coll", file_name(algorithm.kind));
  add(text, "inplace", algorithm.in_place ? 1 : 0);
  text += ">\n";
  for (std::size_t rank = 0; rank < algorithm.gpus.size(); ++rank) {
    const auto& gpu = algorithm.gpus[rank];
    text += "  <gpu";
    add(text, "id", static_cast<std::int64_t>(rank));
    add(text, "i_chunks", gpu.input);
    add(text, "o_chunks", gpu.output);
    add(text, "s_chunks", gpu.scratch);
    text += ">\n";
    for (std::size_t id = 0; id < gpu.blocks.size(); ++id) {
      const auto& block = gpu.blocks[id];
      text += "    <tb";
      add(text, "id", static_cast<std::int64_t>(id));
      add(text, "send", block.send);
      add(text, "recv", block.receive);
      add(text, "chan", block.channel);
      text += ">\n";
      for (std::size_t step = 0; step < block.steps.size(); ++step) text += step_text(block.steps[step], step);
      text += "    </tb>\n";
    }
    text += "  </gpu>\n";
  }
  return text + "</algo>\n";
}

}  // namespace lockstep::collectives::msccl
