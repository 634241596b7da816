#include "tools/trace/chakra_trace.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "sim/program/lower.hpp"
#include "tools/output/elements/json_lines.hpp"
#include "tools/trace/proto_text.hpp"
#include "tools/trace/step_of_ranks.hpp"

namespace lockstep::trace {
namespace {

using Json = nlohmann::ordered_json;
using program::ProgramOp;
using workloads::CollectiveKind;
using Ranks = StepOfRanks::Ranks;

enum NodeType : std::uint64_t { compute = 4, send = 5, receive = 6, collective = 7 };

[[noreturn]] void refuse(std::string what, std::string expected) {
  throw ConfigError({{{"--chakra", 0, 0}, "", std::move(what), std::move(expected)}});
}

/// Chakra's CollectiveCommType.
std::uint64_t comm_type(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::all_reduce: return 0;
    case CollectiveKind::reduce: return 1;
    case CollectiveKind::all_gather: return 2;
    case CollectiveKind::broadcast: return 5;
    case CollectiveKind::all_to_all: return 6;
    case CollectiveKind::reduce_scatter: return 7;
    case CollectiveKind::point_to_point: break;
  }
  refuse("the step shifts arrays around a ring, for which Chakra has no node", "a step without context parallelism");
}

/// What one rank puts in, of the whole array V of a group of n: an all-gather its part, an all-to-all what it sends.
std::int64_t input_bytes(CollectiveKind kind, Bytes full_size, std::int64_t members) {
  const bool of_all = kind == CollectiveKind::all_gather || kind == CollectiveKind::all_to_all;
  return of_all ? (full_size.value() + members - 1) / members : full_size.value();
}

// AttributeProto: name = 1, and of the values double = 3, int64 = 9, uint64 = 13, bool = 27, string = 29.
void append_attribute(std::string& node, std::string_view name, std::uint64_t field, std::string_view value) {
  std::string attribute;
  proto::append_bytes(attribute, 1, name);
  if (field == 29)
    proto::append_bytes(attribute, field, value);
  else
    attribute += value;
  proto::append_bytes(node, 10, attribute);
}

void append_number(std::string& node, std::string_view name, std::uint64_t field, std::int64_t value) {
  std::string number;
  proto::append_number(number, field, static_cast<std::uint64_t>(value));
  append_attribute(node, name, field, number);
}

void append_real(std::string& node, std::string_view name, double value) {
  std::string number;
  proto::append_double(number, 3, value);
  append_attribute(node, name, 3, number);
}

void append_message(std::string& out, std::string_view message) {
  proto::append_varint(out, message.size());
  out += message;
}

class Writing {
 public:
  Writing(const scenario::Scenario& scenario, const preparation::PreparedStep& preparation)
      : step_(preparation.step), ranks_(scenario, preparation, "--chakra"), program_(ranks_.program()) {}

  [[nodiscard]] std::int32_t ranks() const { return ranks_.ranks(); }
  [[nodiscard]] topologies::RankId number_of(topologies::RankId rank) const { return ranks_.number_of(rank); }

  [[nodiscard]] std::string graph_of(topologies::RankId rank) {
    std::string version, graph;
    proto::append_bytes(version, 1, "0.0.4");
    append_message(graph, version);
    for (const auto id : program_.ops.ids()) {
      if (ranks_.takes_part(id, rank)) append_message(graph, node(id, rank));
    }
    return graph;
  }

  [[nodiscard]] std::string groups_json() const {
    Json json = Json::object();
    std::vector<const Ranks*> by_id(groups_.size());
    for (const auto& [ranks, id] : groups_) by_id[position_of(id)] = &ranks;
    for (std::size_t id = 0; id < by_id.size(); ++id) json[std::to_string(id)] = *by_id[id];
    return output::json_lines(json, -1);
  }

  [[nodiscard]] std::string left_out() const {
    return ranks_.launches_or_shares()
               ? "Chakra's graphs hold neither the host's launches nor that kernels slow down beside collectives.\n"
               : "";
  }

 private:
  [[nodiscard]] std::string node(program::ProgramOpId id, topologies::RankId rank) {
    const auto& op = program_.ops[id];
    const auto& vertex = step_.op(op.vertex);
    std::string node;
    proto::append_number(node, 1, static_cast<std::uint64_t>(id) + 1);
    proto::append_bytes(node, 2, vertex->name);
    proto::append_number(node, 3, type_of(op, vertex, rank));
    for (const auto before : program::all_predecessors(step_, op)) {
      if (ranks_.takes_part(before, rank)) proto::append_number(node, 5, static_cast<std::uint64_t>(before) + 1);
    }
    const bool timed = StepOfRanks::is_timed(op, vertex);
    if (timed) {
      const Seconds time = ranks_.time_of(op, vertex, rank);
      proto::append_number(node, 7, static_cast<std::uint64_t>(std::llround(time.value() * 1e6)));
      append_real(node, "lockstep_seconds", time.value());
    }
    append_number(node, "is_cpu_op", 27, 0);
    if (!timed) communicate(op, vertex, rank, node);
    if (op.kind == ProgramOp::Kind::compute) {
      append_number(node, "num_ops", 9, std::llround(vertex->flops.value()));
      append_number(node, "tensor_size", 13, vertex->traffic.value());
    }
    append_number(node, "stream", 9, op.streams.front());
    if (op.streams.size() > 1) {
      std::string streams;
      for (const auto stream : op.streams) streams += (streams.empty() ? "" : ",") + std::to_string(stream);
      append_attribute(node, "lockstep_streams", 29, streams);
    }
    if (op.priority != 0) append_number(node, "lockstep_priority", 9, op.priority);
    return node;
  }

  [[nodiscard]] static bool between_stages(const workloads::StepOp& vertex) { return vertex.other_stage >= 0; }

  [[nodiscard]] std::uint64_t type_of(const ProgramOp& op, const workloads::StepOp& vertex,
                                      topologies::RankId rank) const {
    if (StepOfRanks::is_timed(op, vertex)) return compute;
    if (!between_stages(vertex) || vertex->collective != CollectiveKind::point_to_point) return collective;
    return program_.stage_of_rank[rank] == vertex.stage ? send : receive;
  }

  void communicate(const ProgramOp& op, const workloads::StepOp& vertex, topologies::RankId rank, std::string& node) {
    const auto& members = ranks_.members(op, rank);
    Ranks group;
    for (const auto member : members) group.push_back(number_of(member));
    if (type_of(op, vertex, rank) != collective) {
      const auto peer = number_of(members.front() == rank ? members.back() : members.front());
      const bool sends = type_of(op, vertex, rank) == send;
      append_number(node, "comm_size", 9, vertex->full_size.value());
      append_number(node, "comm_src", 9, sends ? number_of(rank) : peer);
      append_number(node, "comm_dst", 9, sends ? peer : number_of(rank));
      append_number(node, "comm_tag", 9, op.vertex);
      return;
    }
    append_number(node, "comm_type", 9, static_cast<std::int64_t>(comm_type(vertex->collective)));
    append_number(node, "comm_size", 9, input_bytes(vertex->collective, vertex->full_size, std::ssize(group)));
    append_number(node, "lockstep_full_size", 9, vertex->full_size.value());
    if (between_stages(vertex)) append_number(node, "lockstep_exchange", 27, 1);
    if (vertex->copies.each > 1) {
      append_attribute(node, "lockstep_copies", 29,
                       std::to_string(vertex->copies.each) + "," + std::to_string(vertex->copies.groups) + "," +
                           std::to_string(vertex->copies.groups_per_token));
    }
    const auto known = groups_.try_emplace(std::move(group), static_cast<std::int32_t>(groups_.size())).first;
    append_attribute(node, "pg_name", 29, std::to_string(known->second));
  }

  const workloads::StepGraph& step_;
  StepOfRanks ranks_;
  const program::Program& program_;
  std::map<Ranks, std::int32_t> groups_;
};

/// A folder with the graphs of other ranks would be read as one job.
void refuse_other_graphs(const std::filesystem::path& folder, const std::set<std::filesystem::path>& written) {
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    const auto& file = entry.path();
    if (file.extension() == ".et" && !written.contains(file.filename()))
      refuse("the folder has a graph of another step, " + file.filename().string(), "an empty folder, or a new one");
  }
}

}  // namespace

std::string write_chakra_trace(output::NewFiles& files, const std::filesystem::path& folder, const std::string& name,
                               const scenario::Scenario& scenario, const preparation::PreparedStep& preparation) {
  Writing writing(scenario, preparation);
  const auto file_of = [&](topologies::RankId rank) {
    return std::filesystem::path(name + "." + std::to_string(writing.number_of(rank)) + ".et");
  };
  std::set<std::filesystem::path> written;
  for (topologies::RankId rank = 0; rank < writing.ranks(); ++rank) written.insert(file_of(rank));
  refuse_other_graphs(folder, written);
  for (topologies::RankId rank = 0; rank < writing.ranks(); ++rank)
    files.write(folder / file_of(rank), writing.graph_of(rank));
  files.write(folder / "groups.json", writing.groups_json());
  return writing.left_out();
}

}  // namespace lockstep::trace
