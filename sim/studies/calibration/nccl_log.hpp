#pragma once
/// Collectives that were timed on GPUs: the output of nccl-tests or rccl-tests as it stands in a terminal, or a CSV.
#include <filesystem>
#include <string>
#include <vector>

#include "sim/collectives/collective.hpp"
#include "sim/core/csv_table.hpp"

namespace lockstep {

struct TimedCollective {
  CollectiveKind kind = CollectiveKind::all_reduce;
  int ranks = 0;
  int nodes = 1;
  Bytes size{0};  ///< as nccl-tests print it: the larger buffer of one rank
  Seconds time{0};
  Location where;
};

/// The log's own words tell what ran where: the name of the program, one line for each rank with its host. What they
/// leave open, `kind` ("all_reduce") and `nodes` (above 0) say. Problems where neither does, and for lines that do not
/// hold.
struct NcclRun {
  std::string kind;
  int nodes = 0;
};
[[nodiscard]] std::vector<TimedCollective> read_nccl_log(const std::filesystem::path& file, const NcclRun& run,
                                                         Problems& problems);

/// A CSV with the columns collective, ranks, nodes, bytes, seconds; bytes as nccl-tests counts them.
[[nodiscard]] bool has_collective_columns(const CsvTable& table);
[[nodiscard]] std::vector<TimedCollective> read_timed_collectives(const CsvTable& table);

}  // namespace lockstep
