#pragma once
/// Traces as a user names them: files, and folders that may hold other things beside them.
#include <filesystem>
#include <string>
#include <vector>

namespace lockstep::workloads {

struct TraceFiles {
  std::vector<std::filesystem::path> files;  ///< those of a folder by name
  std::vector<std::string> left_out;         ///< sentences: which files of a folder are not read
};

/// Files as they are named. Of a folder its traces of the device's work, and the PyTorch execution traces beside
/// Kineto traces; if it has none, its logs of what was communicated. Throws ConfigError for a folder without files and
/// for one whose files could be read as two different jobs: traces of two kinds that would both do.
[[nodiscard]] TraceFiles trace_files(const std::vector<std::string>& words);

}  // namespace lockstep::workloads
