#pragma once
/// The traces of tests/data/traces, written by hand for these tests.
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "tests/source_dir.hpp"
#include "workloads/traces/read_traces.hpp"

namespace lockstep::test {

inline std::filesystem::path trace_file(const std::string& name) {
  return std::filesystem::path(source_dir) / "tests/data/traces" / name;
}

inline std::string trace_bytes(const std::string& name) {
  std::ifstream in(trace_file(name), std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

}  // namespace lockstep::test
