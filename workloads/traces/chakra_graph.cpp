#include "workloads/traces/chakra_graph_private.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <queue>

namespace lockstep::workloads {
namespace {

/// comm_type 0 to 9; gather and scatter are not simulated.
std::optional<CollectiveKind> kind_of(std::int64_t communication) {
  static const std::array<std::optional<CollectiveKind>, 10> kinds{CollectiveKind::all_reduce,
                                                                   CollectiveKind::reduce,
                                                                   CollectiveKind::all_gather,
                                                                   std::nullopt,
                                                                   std::nullopt,
                                                                   CollectiveKind::broadcast,
                                                                   CollectiveKind::all_to_all,
                                                                   CollectiveKind::reduce_scatter,
                                                                   CollectiveKind::reduce_scatter,
                                                                   CollectiveKind::all_reduce};
  if (communication < 0 || communication >= std::ssize(kinds)) return std::nullopt;
  return kinds[position_of(communication)];
}

}  // namespace

void ChakraGraph::refuse(const std::string& file, std::int64_t node, std::string what, std::string expected) const {
  throw ConfigError({{{file, 0, 0}, "node " + std::to_string(node), std::move(what), std::move(expected)}});
}

/// Positions of nodes, of those in a circle none.
std::vector<std::size_t> ChakraGraph::order() const {
  std::vector<std::int32_t> waits_for(nodes_.size(), 0);
  std::vector<std::vector<std::size_t>> followers(nodes_.size());
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    for (const auto id : nodes_[i].after) {
      const auto known = positions_.find(id);
      if (known == positions_.end()) continue;
      followers[known->second].push_back(i);
      ++waits_for[i];
    }
  }
  std::priority_queue<std::size_t, std::vector<std::size_t>, std::greater<>> ready;
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    if (waits_for[i] == 0) ready.push(i);
  }
  std::vector<std::size_t> ordered;
  while (!ready.empty()) {
    const auto next = ready.top();
    ready.pop();
    ordered.push_back(next);
    for (const auto follower : followers[next]) {
      if (--waits_for[follower] == 0) ready.push(follower);
    }
  }
  return ordered;
}

void ChakraGraph::write(const std::string& file) {
  writer_.dated = false;
  writer_.rank.streams_in_order = false;
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    if (!positions_.try_emplace(nodes_[i].id, i).second)
      refuse(file, nodes_[i].id, "there are two nodes of this number", "one");
  }
  std::vector<std::size_t> of_data;
  for (auto& node : nodes_) {
    of_data.push_back(node.after.size());
    node.after.insert(node.after.end(), node.after_control.begin(), node.after_control.end());
    for (const auto id : node.after) {
      if (!positions_.contains(id))
        writer_.missing("Some dependences name nodes that the trace does not have; they are left out.");
    }
  }
  auto ordered = order();
  if (ordered.size() < nodes_.size()) {
    for (std::size_t i = 0; i < nodes_.size(); ++i) nodes_[i].after.resize(of_data[i]);
    ordered = order();
    writer_.guessed("Control dependences go round in circles with those of data; only those of data are followed.");
  }
  if (ordered.size() < nodes_.size()) {
    std::vector<bool> is_ordered(nodes_.size(), false);
    for (const auto position : ordered) is_ordered[position] = true;
    const auto stuck = std::find(is_ordered.begin(), is_ordered.end(), false) - is_ordered.begin();
    refuse(file, nodes_[static_cast<std::size_t>(stuck)].id, "nodes wait for each other in a circle",
           "dependences without a circle");
  }
  for (const auto position : ordered) write(nodes_[position]);
}

RecordedStreamId ChakraGraph::stream(const std::string& name) {
  const auto [known, is_new] = streams_.try_emplace(name, writer_.rank.streams.next_id());
  if (is_new) writer_.rank.streams.push_back(name);
  return known->second;
}

void ChakraGraph::write(const ChakraNode& node) {
  auto& rank = writer_.rank;
  RecordedEvent event;
  event.name = writer_.name(node.name);
  event.number = node.id;
  event.duration = Seconds(node.seconds.value_or(static_cast<double>(node.duration_micros) * 1e-6));
  event.priority = static_cast<std::int32_t>(std::clamp<std::int64_t>(node.priority.value_or(0), -1000, 1000));
  std::string on = node.stream ? "stream " + std::to_string(*node.stream) : "compute";
  if (node.of_host || node.type == ChakraNode::metadata || node.type == ChakraNode::invalid) {
    event.kind = RecordedEvent::Kind::host;
    if (!node.stream) on = "host";
  } else if (node.type == ChakraNode::memory_load || node.type == ChakraNode::memory_store) {
    event.kind = RecordedEvent::Kind::copy;
    if (!node.stream) on = "memory";
  } else if (node.type != ChakraNode::compute) {
    if (!node.stream) on = "communication";
    communicate(node, event);
  }
  event.stream = stream(on);
  for (const auto number : node.streams) {
    const auto other = stream("stream " + std::to_string(number));
    if (other != event.stream) event.more_streams.push_back(other);
  }
  for (const auto id : node.after) {
    const auto known = events_.find(id);
    if (known == events_.end()) continue;
    if (std::find(event.after.begin(), event.after.end(), known->second) == event.after.end())
      event.after.push_back(known->second);
  }
  events_.emplace(node.id, rank.events.next_id());
  rank.events.push_back(std::move(event));
}

void ChakraGraph::communicate(const ChakraNode& node, RecordedEvent& event) {
  auto& rank = writer_.rank;
  event.kind = RecordedEvent::Kind::collective;
  event.collective = rank.collectives.count();
  RecordedCollective made;
  if (node.type == ChakraNode::collective) {
    made.kind = node.communication ? kind_of(*node.communication) : collective_named(node.name).kind;
    RecordedGroup group{node.group, "", {}, 0};
    if (node.group.empty()) {
      writer_.guessed("The trace does not say which ranks a collective joins; taken to be all of them.");
      group.size = writer_.job().world;
    }
    made.group = writer_.group(group);
  } else {
    made.kind = CollectiveKind::point_to_point;
    const bool sends = node.type == ChakraNode::send;
    made.role = sends ? RecordedCollective::Role::sends : RecordedCollective::Role::receives;
    const auto peer = sends ? node.destination : node.source;
    if (peer && *peer >= 0 && *peer < most_recorded_ranks && *peer != rank.rank) {
      made.peer = static_cast<std::int32_t>(*peer);
    } else {
      made.kind.reset();
      writer_.missing("Of some sends and receives the trace does not tell the other rank; they keep their times.");
    }
    made.group = writer_.group({"point to point", "", {}, 2});
  }
  made.exchange = node.exchange && made.kind == CollectiveKind::all_reduce;
  if (node.copies.size() == 3) made.copies = {node.copies[0], node.copies[1], node.copies[2]};
  if (node.full_size) made.full_size = Bytes(*node.full_size);
  if (node.size) made.buffer = Bytes(*node.size);
  made.buffer_is_shard = made.kind == CollectiveKind::all_gather;
  if (made.kind && !made.buffer && !made.full_size)
    writer_.missing("Of some collectives the trace does not tell the size; they keep their times.");
  if (!made.kind) writer_.missing("Of some collectives the trace does not tell the kind; they keep their times.");
  made.sequence = seen_[made.group]++;
  rank.collectives.push_back(made);
}

}  // namespace lockstep::workloads
