#include "topologies/graph/read_network.hpp"

#include "topologies/graph/network_format_private.hpp"
#include "topologies/graph/read_node.hpp"
#include "topologies/graph/text_file.hpp"

namespace lockstep::topologies {
namespace {

const NetworkFormat* format_of(std::string_view head) {
  for (const NetworkFormat& format : network_formats()) {
    if (format.recognises(head)) return &format;
  }
  return nullptr;
}

/// The format, or a problem that lists those there are.
const NetworkFormat* known_format(std::string_view head, const std::string& file, Problems& problems) {
  if (const NetworkFormat* format = format_of(head)) return format;
  if (describes_a_node(head)) {
    problems.add(
        {{file, 0, 0}, "", "describes the inside of a node", "a network; lockstep import network reads a node"});
    return nullptr;
  }
  std::string names;
  for (const NetworkFormat& format : network_formats()) names += (names.empty() ? "" : ", ") + std::string(format.name);
  problems.add({{file, 0, 0}, "", "is of no known format", "one of " + names});
  return nullptr;
}

NetworkImport read_as(const NetworkFormat& format, std::string_view text, const std::string& file, Problems& problems) {
  Problems of_text;
  NetworkBuilder builder(file, of_text);
  builder.name(std::filesystem::path(file).stem().string());
  format.read(text, builder);
  NetworkImport import;
  import.format = format.name;
  if (of_text.empty()) import.graph = builder.finish();
  if (!text.ends_with('\n') && !text.ends_with('>'))  // XML ends with its root
    builder.note("The last line of the file has no end: something may be cut off.");
  for (const Problem& problem : of_text.list()) problems.add(problem);
  import.notes = builder.take_notes();
  return import;
}

}  // namespace

bool describes_a_network(std::string_view head, const std::string& file, Problems& problems) {
  return known_format(head, file, problems) != nullptr;
}

NetworkImport read_network_text(std::string_view text, const std::string& file, Problems& problems) {
  if (!check_text(text, file, problems)) return {};
  const NetworkFormat* format = known_format(head_of(text), file, problems);
  return format != nullptr ? read_as(*format, text, file, problems) : NetworkImport{};
}

NetworkImport read_network(const std::filesystem::path& file, Problems& problems) {
  const NetworkFormat* format = nullptr;
  const auto text = read_text(
      file,
      [&](std::string_view head) {
        format = known_format(head, file.string(), problems);
        return format != nullptr;
      },
      problems);
  return text ? read_as(*format, *text, file.string(), problems) : NetworkImport{};
}

}  // namespace lockstep::topologies
