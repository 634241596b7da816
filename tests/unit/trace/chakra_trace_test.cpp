// A step as Chakra's bytes, read by hand: messages with their length before them, fields as number << 3 | wire type.
#include "tools/trace/chakra_trace.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "tests/unit/trace/simulated.hpp"

namespace lockstep {
namespace {

/// Fields of a message in their order: numbers, and bytes that may be messages.
struct Field {
  std::uint64_t number = 0, value = 0;
  std::string bytes;
};

std::uint64_t varint(const std::string& bytes, std::size_t& at) {
  std::uint64_t value = 0;
  for (unsigned shift = 0;; shift += 7) {
    const auto digit = static_cast<unsigned char>(bytes.at(at++));
    value |= std::uint64_t{digit & 0x7FU} << shift;
    if (digit < 0x80) return value;
  }
}

std::vector<Field> fields_of(const std::string& bytes) {
  std::vector<Field> fields;
  for (std::size_t at = 0; at < bytes.size();) {
    const auto key = varint(bytes, at);
    Field field{key >> 3U, 0, ""};
    if ((key & 7U) == 0) {
      field.value = varint(bytes, at);
    } else {
      const auto length = (key & 7U) == 1 ? 8 : varint(bytes, at);
      field.bytes = bytes.substr(at, length);
      at += length;
    }
    fields.push_back(std::move(field));
  }
  return fields;
}

struct Node {
  std::uint64_t id = 0, type = 0, micros = 0;
  std::vector<std::uint64_t> after;
  std::map<std::string, Field> attributes;
};

Node node_of(const std::string& bytes) {
  Node node;
  for (const auto& field : fields_of(bytes)) {
    if (field.number == 1) node.id = field.value;
    if (field.number == 3) node.type = field.value;
    if (field.number == 5) node.after.push_back(field.value);
    if (field.number == 7) node.micros = field.value;
    if (field.number != 10) continue;
    const auto attribute = fields_of(field.bytes);
    node.attributes[attribute.at(0).bytes] = attribute.at(1);
  }
  return node;
}

struct Chakra {
  Chakra() : simulated("trace_fsdp.yaml", false) {
    const auto folder = scratch("chakra");
    output::NewFiles files(folder);
    const auto prepared = preparation::prepare_step(simulated.scenario);
    (void)trace::write_chakra_trace(files, folder, "step", simulated.scenario, prepared);
    files.finish();
    groups = nlohmann::json::parse(bytes_of(folder / "groups.json"));
    const auto bytes = bytes_of(folder / "step.0.et");
    for (std::size_t at = 0; at < bytes.size();) {
      const auto length = varint(bytes, at);
      messages.push_back(bytes.substr(at, length));
      at += length;
    }
  }
  Simulated simulated;
  nlohmann::json groups;
  std::vector<std::string> messages;
};

// The first message is the version, field 1; all others are nodes whose dependences stand before them, of type 4
// (compute) with microseconds = round(seconds x 1e6), or 7 (collective) of a group of all 64 ranks.
TEST(ChakraTrace, NodesOfARank) {
  const Chakra made;
  ASSERT_GT(made.messages.size(), 2u);
  EXPECT_EQ(fields_of(made.messages[0]).at(0).number, 1u);
  EXPECT_EQ(fields_of(made.messages[0]).at(0).bytes, "0.0.4");
  std::map<std::uint64_t, std::size_t> types;
  std::set<std::uint64_t> seen;
  for (std::size_t i = 1; i < made.messages.size(); ++i) {
    const auto node = node_of(made.messages[i]);
    for (const auto before : node.after) EXPECT_TRUE(seen.contains(before)) << node.id;
    EXPECT_TRUE(seen.insert(node.id).second) << "an id for each";
    ++types[node.type];
    if (node.type == 4) {
      double seconds = 0;
      std::memcpy(&seconds, node.attributes.at("lockstep_seconds").bytes.data(), sizeof seconds);
      EXPECT_EQ(node.micros, static_cast<std::uint64_t>(std::llround(seconds * 1e6)));
    } else {
      // A gather puts in 1/64 of the whole array (type 2), a reduce-scatter all of it (type 7).
      const auto whole = node.attributes.at("lockstep_full_size").value;
      const auto kind = node.attributes.at("comm_type").value;
      ASSERT_TRUE(kind == 2 || kind == 7) << kind;
      EXPECT_EQ(node.attributes.at("comm_size").value, kind == 2 ? (whole + 63) / 64 : whole);
      EXPECT_EQ(made.groups[node.attributes.at("pg_name").bytes].size(), 64u);
    }
  }
  EXPECT_EQ(types.size(), 2u);
  EXPECT_GT(types[4], 0u);
  EXPECT_GT(types[7], 0u);
}

}  // namespace
}  // namespace lockstep
