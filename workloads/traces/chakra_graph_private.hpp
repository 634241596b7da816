#pragma once
/// Chakra's execution trace, a graph of nodes without dates, in either of its writings.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "workloads/traces/job_writer_private.hpp"

namespace lockstep::workloads {

struct ChakraNode {
  enum Type : std::uint64_t { invalid, metadata, memory_load, memory_store, compute, send, receive, collective, count };
  std::int64_t id = 0;
  std::string name;
  std::uint64_t type = invalid;
  std::vector<std::int64_t> after;  ///< data_deps
  std::vector<std::int64_t> after_control;
  std::int64_t duration_micros = 0;
  std::optional<std::int64_t> communication;  ///< comm_type
  std::optional<std::int64_t> size;           ///< comm_size, the bytes that a rank puts in
  std::optional<std::int64_t> source, destination, stream;
  bool of_host = false;
  std::string group;
  /// Attributes that only Lockstep writes, since Chakra's own have whole microseconds and one stream.
  std::optional<double> seconds;
  std::optional<std::int64_t> full_size, priority;
  std::vector<std::int64_t> streams, copies;
  bool exchange = false;
};

class ChakraGraph {
 public:
  explicit ChakraGraph(JobWriter& writer) : writer_(writer) {}
  void add(ChakraNode node) { nodes_.push_back(std::move(node)); }
  [[nodiscard]] std::size_t size() const { return nodes_.size(); }
  /// Orders the nodes, in the file's order where what they wait for allows it, and writes them as events. Converters
  /// write control dependences that go round in circles with those of data; then they count for nothing, as in
  /// Chakra's own feeder.
  void write(const std::string& file);

 private:
  [[nodiscard]] std::vector<std::size_t> order() const;
  [[noreturn]] void refuse(const std::string& file, std::int64_t node, std::string what, std::string expected) const;
  void write(const ChakraNode& node);
  void communicate(const ChakraNode& node, RecordedEvent& event);
  [[nodiscard]] RecordedStreamId stream(const std::string& name);

  JobWriter& writer_;
  std::vector<ChakraNode> nodes_;
  std::unordered_map<std::int64_t, std::size_t> positions_;   ///< by id
  std::unordered_map<std::int64_t, RecordedEventId> events_;  ///< by id
  std::map<std::string, RecordedStreamId> streams_;
  std::map<RecordedGroupId, std::int64_t> seen_;
};

}  // namespace lockstep::workloads
