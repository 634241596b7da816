#pragma once
/// Nodes of a Chakra trace, written by the encoder of small_traces.hpp.
#include <cstdint>
#include <string>

#include "tests/unit/traces/small_traces.hpp"

namespace lockstep::test::chakra {

inline constexpr int metadata_type = 1, load = 2, store = 3, compute = 4, send = 5, receive = 6, collective = 7;

inline std::string node(std::int64_t id, int type, const std::string& rest = "") {
  return proto::message(proto::number(1, id) + proto::text(2, "n" + std::to_string(id)) + proto::number(3, type) +
                        rest);
}

inline workloads::RecordedJob read(const std::string& nodes) {
  return workloads::read_trace_bytes(proto::metadata() + nodes, "t");
}

/// A node with one attribute, a collective of which the test looks at one property.
inline workloads::RecordedJob with(const std::string& attributes, int type = collective) {
  return read(node(1, type, attributes));
}

}  // namespace lockstep::test::chakra
