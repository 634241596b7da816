// Chakra's graph as JSON: {"workload_graph": [{"Id": 216, "Name": "...", "NodeType": 4, "data_deps": [], "runtime":
// 318}]}.
#include "workloads/traces/chakra_graph_private.hpp"
#include "workloads/traces/json_lists_private.hpp"

namespace lockstep::workloads {
namespace {

constexpr std::size_t most_nodes = 20'000'000;
constexpr std::int64_t longest = 9'000'000'000'000'000;

bool recognises(std::string_view head) { return head.find("\"workload_graph\"") != std::string_view::npos; }

/// The converters have changed their words: the first of them that is there counts.
std::optional<std::int64_t> first_of(const JsonFields& fields, std::initializer_list<std::string_view> keys) {
  for (const auto key : keys) {
    if (const auto number = fields.integer(key)) return number;
  }
  return std::nullopt;
}

ChakraNode node(const JsonFields& fields, const Location& where) {
  const auto refuse = [&](const std::string& key, std::string what, std::string expected) {
    throw ConfigError({{where, "workload_graph." + key, std::move(what), std::move(expected)}});
  };
  ChakraNode made;
  const auto id = first_of(fields, {"Id", "id"});
  if (!id) refuse("Id", "the node has no number", "a whole number");
  made.id = *id;
  made.name = fields.text(fields.find("Name") != nullptr ? "Name" : "name");
  const auto type = first_of(fields, {"NodeType", "type"}).value_or(ChakraNode::invalid);
  if (type < 0 || type >= static_cast<std::int64_t>(ChakraNode::count))
    refuse("NodeType", "a node of unknown type " + std::to_string(type), "0 to 7");
  made.type = static_cast<std::uint64_t>(type);
  for (const auto* key : {"data_deps", "dataDeps"}) {
    for (const auto before : fields.integers(key)) made.after.push_back(before);
  }
  for (const auto* key : {"ctrlDeps", "ctrl_deps"}) {
    for (const auto before : fields.integers(key)) made.after_control.push_back(before);
  }
  made.duration_micros = first_of(fields, {"runtime", "duration_micros"}).value_or(0);
  if (made.duration_micros < 0) refuse("runtime", "a negative duration", "microseconds from 0 up");
  if (made.duration_micros > longest) refuse("runtime", "a duration of more than 285 years", "microseconds");
  made.communication = fields.integer("comm_type");
  made.size = fields.integer("comm_size");
  if (made.size.value_or(0) < 0) refuse("comm_size", "a negative size", "bytes from 0 up");
  made.source = fields.integer("comm_src");
  made.destination = fields.integer("comm_dst");
  made.stream = fields.integer("stream");
  made.group = fields.text("pg_name");
  made.of_host = fields.boolean("is_cpu_op").value_or(false);
  return made;
}

void read(TraceText& text, JobWriter& writer) {
  ChakraGraph graph(writer);
  read_json_lists(text, {{"workload_graph"},
                         [&](std::string_view /*list*/, const JsonFields& fields, const Location& where) {
                           if (graph.size() == most_nodes) text.refuse("has too many nodes", "at most 20 million");
                           graph.add(node(fields, where));
                         },
                         [](const JsonFields& /*rest*/) {}});
  graph.write(text.name());
}

}  // namespace

extern const TraceFormat chakra_json_format;
const TraceFormat chakra_json_format{"Chakra JSON", recognises, read, true};

}  // namespace lockstep::workloads
