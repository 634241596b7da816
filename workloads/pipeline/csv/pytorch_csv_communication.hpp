#pragma once
/// Communication cells of a PyTorch schedule CSV; private to the importer.
#include <cstdint>
#include <vector>

#include "workloads/pipeline/csv/pytorch_csv_cell.hpp"
#include "workloads/pipeline/verify_order.hpp"

namespace lockstep::workloads {

struct CommunicationCell {
  CsvOperation operation{};
  std::int32_t stage = 0;
  std::int32_t microbatch = 0;
  std::int32_t next = 0;  ///< index of the computation that comes after it on its rank
  std::int32_t column = 0;
};

struct PytorchRow {
  Indexed<CellId, std::int32_t> columns;  ///< of the rank's computations
  std::vector<CommunicationCell> communication;
};
using PytorchRows = Indexed<StageId, PytorchRow>;

/// For an order that verify_order found sound. The index of a problem is a column.
[[nodiscard]] std::vector<OrderProblem> verify_communication(const PipelineOrder& order, const PytorchRows& rows);

}  // namespace lockstep::workloads
