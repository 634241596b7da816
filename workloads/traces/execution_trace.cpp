// PyTorch's execution trace: the host's operations of one rank. Those named record_param_comms tell what was
// communicated, in attributes since schema 1.0.3; before, `nccl:...` nodes have the shapes.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "workloads/traces/collective_log_private.hpp"
#include "workloads/traces/json_lists_private.hpp"

namespace lockstep::workloads {
namespace {

constexpr std::size_t most_nodes = 20'000'000;
using Json = nlohmann::json;

bool recognises(std::string_view head) {
  return head.find("\"nodes\"") != std::string_view::npos && head.find("\"schema\"") != std::string_view::npos;
}

struct Communication {
  std::int64_t id = 0;
  std::string name, type, group_name, group_description;
  std::int64_t in = -1, out = -1, group_size = 0, start = 0, stride = 0;
  bool has_arguments = false;
};

/// [{"name": "dtype", "type": "string", "value": "Float"}, ...]
void take_attributes(const std::string& text, Communication& made) {
  const auto list = Json::parse(text, nullptr, false);
  if (!list.is_array()) return;
  const auto word = [](const Json& value) { return value.is_string() ? value.get<std::string>() : std::string(); };
  const auto number = [](const Json& value, std::int64_t otherwise) {
    return value.is_number_integer() ? value.get<std::int64_t>() : otherwise;
  };
  for (const auto& attribute : list) {
    if (!attribute.is_object() || !attribute.contains("name") || !attribute.contains("value")) continue;
    const auto name = word(attribute["name"]);
    const auto& value = attribute["value"];
    if (name == "collective_name") {
      made.name = word(value);
      made.has_arguments = true;
    }
    if (name == "dtype") made.type = word(value);
    if (name == "in_msg_nelems") made.in = number(value, -1);
    if (name == "out_msg_nelems") made.out = number(value, -1);
    if (name == "pg_name") made.group_name = word(value);
    if (name == "pg_desc") made.group_description = word(value);
    if (name == "pg_size") made.group_size = number(value, 0);
    if (name == "global_rank_start") made.start = number(value, 0);
    if (name == "global_rank_stride") made.stride = number(value, 0);
  }
}

/// "Tensor(float)" is of float.
std::string tensor_type(const std::string& types) {
  const auto open = types.find("Tensor(");
  const auto close = types.find(')', open);
  if (open == std::string::npos || close == std::string::npos) return "";
  return types.substr(open + 7, close - open - 7);
}

class Reading {
 public:
  Reading(TraceText& text, JobWriter& writer) : text_(text), writer_(writer) {}

  void run() {
    read_json_lists(
        text_, {{"nodes"},
                [&](std::string_view /*list*/, const JsonFields& node, const Location& where) { take(node, where); },
                [](const JsonFields& /*rest*/) {}});
    write();
  }

 private:
  void take(const JsonFields& node, const Location& where) {
    if (++nodes_ > most_nodes) text_.refuse("has too many nodes", "at most 20 million");
    const auto id = node.integer("id");
    if (!id) throw ConfigError({{where, "nodes.id", "the node has no number", "a whole number"}});
    const auto name = node.text("name");
    Communication made;
    made.id = *id;
    if (name == "record_param_comms") {
      if (const auto* attributes = node.find("attrs")) take_attributes(attributes->text, made);
      if (!made.has_arguments || made.name == "wait" || made.name == "init") return;
      check_group(made, where);
    } else if (name.starts_with("nccl:")) {
      made.name = name;
      const auto* shapes =
          node.find("input_shapes") != nullptr ? node.find("input_shapes") : node.find("inputs.shapes");
      const auto* types = node.find("input_types") != nullptr ? node.find("input_types") : node.find("inputs.types");
      if (shapes != nullptr) made.in = elements_in(shapes->text);
      if (types != nullptr) made.type = tensor_type(types->text);
    } else {
      return;
    }
    (made.has_arguments ? with_arguments_ : without_).push_back(std::move(made));
  }

  /// Of the groups' sizes and first ranks -1 tells nothing.
  static void check_group(const Communication& one, const Location& where) {
    const auto known = [](std::int64_t number, std::int64_t most) { return number >= -1 && number <= most; };
    if (known(one.group_size, most_recorded_ranks) && known(one.start, most_recorded_ranks - 1)) return;
    throw ConfigError(
        {{where, "nodes.attrs",
          "a group of " + std::to_string(one.group_size) + " ranks from rank " + std::to_string(one.start) + " on",
          "at most " + std::to_string(most_recorded_ranks) + " ranks from 0 up"}});
  }

  void write() {
    auto& all = with_arguments_.empty() ? without_ : with_arguments_;
    std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.id < b.id; });
    writer_.missing("An execution trace has the host's operations, not the device's kernels.");
    CollectiveLog log(writer_);
    for (const auto& one : all) {
      RecordedCollective made;
      const auto word = collective_named(one.name);
      made.kind = word.kind;
      if (made.kind == CollectiveKind::point_to_point) made.kind.reset();
      made.group = writer_.group(group_of(one));
      const auto element = bytes_of_type(one.type);
      const auto elements = std::max(one.in, one.out);
      const auto bytes = element && elements >= 0 ? bounded_product(elements, *element) : std::nullopt;
      if (bytes) made.buffer = Bytes(*bytes);
      made.buffer_is_shard = made.kind == CollectiveKind::all_gather && one.out < 0;
      log.add(one.name, made, Seconds(0));
    }
  }

  RecordedGroup group_of(const Communication& one) {
    RecordedGroup group{one.group_name, one.group_description, {}, 0};
    const bool placed = one.group_size > 0 && one.group_size <= most_recorded_ranks && one.start >= 0 &&
                        one.start < most_recorded_ranks;
    if (!placed) {
      if (one.group_name.empty())
        writer_.guessed("The trace does not say which ranks a collective joins; taken to be all of them.");
      return group;
    }
    group.size = static_cast<std::int32_t>(one.group_size);
    const auto last = one.stride <= 0 ? std::nullopt : bounded_product(one.stride, one.group_size - 1);
    if (!last || *last + one.start >= most_recorded_ranks) return group;
    for (std::int64_t i = 0; i < one.group_size; ++i)
      group.ranks.push_back(static_cast<std::int32_t>(one.start + i * one.stride));
    return group;
  }

  TraceText& text_;
  JobWriter& writer_;
  std::vector<Communication> with_arguments_, without_;
  std::size_t nodes_ = 0;
};

void read(TraceText& text, JobWriter& writer) { Reading(text, writer).run(); }

}  // namespace

extern const TraceFormat execution_trace_format;
const TraceFormat execution_trace_format{"PyTorch execution trace", recognises, read, false};

}  // namespace lockstep::workloads
