#include <memory>
#include <nlohmann/json.hpp>

#include "sim/scenario/scenario_keys.hpp"
#include "tools/commands/command_line.hpp"
#include "tools/commands/commands.hpp"
#include "tools/output/elements/json_lines.hpp"
#include "tools/output/files/file.hpp"

namespace lockstep::commands {
namespace {

using Json = nlohmann::ordered_json;
using scenario::ScenarioKey;
using scenario::ValueKind;

/// One of the kinds of a key's values.
Json schema_of(ValueKind kind, const ScenarioKey& key) {
  switch (kind) {
    case ValueKind::integer: return {{"type", "integer"}};
    case ValueKind::number: return {{"type", "number"}};
    case ValueKind::boolean: return {{"type", "boolean"}};
    case ValueKind::text: return {{"type", "string"}};
    case ValueKind::word: return {{"enum", key.words}};
    case ValueKind::quantity:
      return {{"type", {"string", "number"}},
              {"description", "a number with a unit, such as 2 GiB, 40 ms or 100 GB/s"}};
    case ValueKind::list: return {{"type", "array"}};
    case ValueKind::map: return {{"type", "object"}};
  }
  return {};
}

Json schema_of(const ScenarioKey& key) {
  Json kinds = Json::array();
  for (const auto kind : {ValueKind::integer, ValueKind::number, ValueKind::boolean, ValueKind::word, ValueKind::text,
                          ValueKind::quantity, ValueKind::list, ValueKind::map}) {
    if (has(key.kinds, kind)) kinds.push_back(schema_of(kind, key));
  }
  return kinds.size() == 1 ? kinds.front() : Json{{"anyOf", kinds}};
}

/// The part of a schema that speaks of maps: itself, or one of its alternatives.
Json& map_part(Json& schema) {
  if (!schema.contains("anyOf")) return schema;
  for (auto& kind : schema["anyOf"]) {
    if (kind.contains("type") && kind["type"] == "object") return kind;
  }
  return schema;
}

Json scenario_schema() {
  Json schema{{"$schema", "https://json-schema.org/draft/2020-12/schema"},
              {"title", "A scenario of Lockstep"},
              {"description", "docs/scenario_reference.md says what each key means"},
              {"type", "object"},
              {"required", {"format", "model", "cluster", "batch"}},
              {"additionalProperties", false},
              {"properties", Json::object()}};
  for (const auto& key : scenario::scenario_key_table()) {
    Json* map = &schema;
    std::string_view rest = key.path;
    for (auto dot = rest.find('.'); dot != std::string_view::npos; dot = rest.find('.')) {
      map = &map_part((*map)["properties"][std::string(rest.substr(0, dot))]);
      rest.remove_prefix(dot + 1);
      (*map)["additionalProperties"] = false;
    }
    (*map)["properties"][std::string(rest)] = schema_of(key);
  }
  return schema;
}

}  // namespace

void add_schema(CommandLine& line) {
  auto command = line.command("schema", "print the JSON Schema of scenario files, for editors");
  command.footer("Example:\n  lockstep schema > scenario.schema.json");
  command.callback([] { output::print(output::json_lines(scenario_schema())); });
}

}  // namespace lockstep::commands
