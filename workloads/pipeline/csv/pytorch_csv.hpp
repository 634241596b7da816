#pragma once
/// Pipeline orders in the CSV of torch.distributed.pipelining: one line per rank, one cell per action.
#include <string>
#include <string_view>
#include <vector>

#include "workloads/pipeline/pipeline_order.hpp"

namespace lockstep::workloads {

/// The place and the description of a mistake in a CSV. `row` is the rank and `column` the cell, both from 0; -1 if the
/// mistake concerns the whole row or file. Both are printed as a spreadsheet counts, from 1.
struct CsvProblem {
  std::int32_t row = -1;
  std::int32_t column = -1;
  std::string cell;  ///< text of the cell, shortened
  std::string what;
  std::string expected;
};

struct ImportedOrder {
  PipelineOrder order;               ///< computation only
  bool had_communication = false;    ///< SEND, RECV, UNSHARD, RESHARD or REDUCE_GRAD cells were there (and checked)
  bool older_dialect = false;        ///< B meant input gradient, BW the whole backward
  std::vector<CsvProblem> problems;  ///< then the order is not to be used
};

/// Strict: every cell is read to its end, every action once, whole and in a legal order. `text` may be hostile; at most
/// 64 MiB and 65536 rows are read. The first 20 problems are reported; one more says how many others there are.
[[nodiscard]] ImportedOrder import_pytorch_csv(std::string_view text, StagePlacement placement);

struct CsvExport {
  bool communication = false;  ///< add SEND/RECV, UNSHARD/RESHARD and REDUCE_GRAD cells
  bool older_dialect = false;  ///< B for the input gradient, BW for the whole backward
};
/// Communication is where PyTorch's own lowering puts it; throws ScheduleError if the order is not sound.
[[nodiscard]] std::string export_pytorch_csv(const PipelineOrder& order, const CsvExport& options = {});

}  // namespace lockstep::workloads
