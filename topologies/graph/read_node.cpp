#include "topologies/graph/read_node.hpp"

#include <array>

#include "topologies/graph/node_format_private.hpp"
#include "topologies/graph/text_file.hpp"

namespace lockstep::topologies {

extern const NodeFormat nccl_topology_format;
extern const NodeFormat nvidia_smi_format;

namespace {

const NodeFormat* format_of(std::string_view head) {
  static const std::array all{nccl_topology_format, nvidia_smi_format};
  for (const NodeFormat& format : all) {
    if (format.recognises(head)) return &format;
  }
  return nullptr;
}

}  // namespace

bool describes_a_node(std::string_view head) { return format_of(head) != nullptr; }

NodeDescription read_node_text(std::string_view text, const std::string& file, Problems& problems) {
  if (!check_text(text, file, problems)) return {};
  const NodeFormat* format = format_of(head_of(text));
  if (format == nullptr) {
    problems.add({{file, 0, 0}, "", "describes no node", "NCCL's topology XML or the output of nvidia-smi topo -m"});
    return {};
  }
  NodeDescription node = format->read(text, file, problems);
  node.format = format->name;
  node.makers = format->makers;
  return node;
}

}  // namespace lockstep::topologies
