#pragma once
/// Collectives that were timed on GPUs: the output of nccl-tests or rccl-tests as it stands in a terminal, or a CSV.
#include <filesystem>
#include <string>
#include <vector>

#include "sim/collectives/collective.hpp"
#include "sim/core/csv_table.hpp"

namespace lockstep::calibration {

struct TimedCollective {
  workloads::CollectiveKind kind = workloads::CollectiveKind::all_reduce;
  int ranks = 0;
  int nodes = 1;
  Bytes size{0};  ///< as nccl-tests print it: the larger buffer of one rank
  Seconds time{0};
  Location where;
};

/// The log says which program ran and, in one line for each rank, on which host. `kind` ("all_reduce") and `nodes`
/// (above 0) give what the log leaves open. Reports problems if neither gives it, and for lines that contradict the
/// format.
struct NcclRun {
  std::string kind;
  int nodes = 0;
};
[[nodiscard]] std::vector<TimedCollective> read_nccl_log(const std::filesystem::path& file, const NcclRun& run,
                                                         Problems& problems);

/// A CSV with the columns collective, ranks, nodes, bytes, seconds; bytes as nccl-tests counts them.
[[nodiscard]] bool has_collective_columns(const CsvTable& table);
[[nodiscard]] std::vector<TimedCollective> read_timed_collectives(const CsvTable& table);

}  // namespace lockstep::calibration
