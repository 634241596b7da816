#pragma once
/// Reads a Perfetto trace as a viewer does: packet by packet, with each sequence's clock, defaults and definitions, and
/// a stack of open spans per track.
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <variant>
#include <vector>

namespace lockstep {

struct PerfettoSpan {
  std::int64_t start_ns, end_ns;
  std::string name;
  std::vector<std::string> categories;
  std::map<std::string, std::variant<std::int64_t, double, std::string>> arguments;
  std::vector<std::uint64_t> leaving, arriving;  ///< flows
  [[nodiscard]] int op() const { return static_cast<int>(std::get<std::int64_t>(arguments.at("op"))); }
};

struct PerfettoTrack {
  std::string name;
  std::uint64_t parent = 0;
  std::int64_t order = 0;
  bool is_process = false, is_counter = false, orders_children = false;
  std::vector<PerfettoSpan> spans;  ///< instants included, in the order of the file
  std::vector<std::pair<std::int64_t, double>> counts;
};

struct PerfettoRead {
  std::map<std::uint64_t, PerfettoTrack> tracks;
  bool orders_processes = false;
  std::vector<std::string> faults;  ///< what a viewer would stumble over

  /// Tracks of spans, or counters, below the process that comes at this place, from 1 on, in the order in which they
  /// are shown.
  [[nodiscard]] std::vector<const PerfettoTrack*> below(std::int64_t process, bool counters = false) const;
  [[nodiscard]] std::vector<const PerfettoTrack*> processes() const;
};

[[nodiscard]] PerfettoRead read_perfetto(const std::filesystem::path& file);

}  // namespace lockstep
