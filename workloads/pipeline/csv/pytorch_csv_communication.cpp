#include "workloads/pipeline/csv/pytorch_csv_communication.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "workloads/pipeline/action_places.hpp"
#include "workloads/pipeline/problem_list.hpp"

namespace lockstep::workloads {
namespace {

using enum CsvOperation;

bool is_transfer(CsvOperation operation) { return operation < unshard && operation != computation; }
bool is_send(CsvOperation operation) { return operation == send_forward || operation == send_backward; }
bool is_forward(CsvOperation operation) { return operation == send_forward || operation == receive_forward; }

/// The column of each transfer.
class TransferColumns {
 public:
  explicit TransferColumns(const PipelineShape& shape)
      : columns_(shape.virtual_stages(), shape.microbatches, Columns::filled(-1)) {}
  [[nodiscard]] std::int32_t& of(CsvOperation transfer, VirtualStageId stage, MicrobatchId m) {
    return columns_(stage, m)[transfer];
  }

 private:
  using Columns = IndexedArray<CsvOperation, std::int32_t, position_of(receive_backward) + 1>;
  Grid<VirtualStageId, MicrobatchId, Columns> columns_;
};

std::string text(CsvOperation operation, std::int32_t stage, std::int32_t m) {
  const auto with = [&](const char* name) {
    return std::to_string(stage) + name + (is_transfer(operation) ? std::to_string(m) : "");
  };
  switch (operation) {
    case computation: return {};
    case send_forward: return with("SEND_F");
    case receive_forward: return with("RECV_F");
    case send_backward: return with("SEND_B");
    case receive_backward: return with("RECV_B");
    case unshard: return with("UNSHARD");
    case reshard: return with("RESHARD");
    case reduce_gradient: return with("REDUCE_GRAD");
  }
  return {};
}

class Verifier {
 public:
  Verifier(const PipelineOrder& order, const PytorchRows& rows)
      : order_(order), shape_(order.shape), rows_(rows), places_(order.shape), transfers_(order.shape) {
    for (const auto& cells : order.ranks) {
      for (const CellId index : cells.ids()) {
        for_each_action(cells[index], [&](const PipelineAction& action) {
          for_each_step(action.work,
                        [&](PipelineStep step) { places_.of(step, action.stage, action.microbatch) = index; });
        });
      }
    }
  }

  std::vector<OrderProblem> run() {
    for (std::int32_t rank = 0; rank < shape_.ranks; ++rank) {
      for (const auto& cell : row(rank).communication) {
        has_transfers_ = has_transfers_ || is_transfer(cell.operation);
        has_sharding_ = has_sharding_ || cell.operation == unshard || cell.operation == reshard;
        has_reduction_ = has_reduction_ || cell.operation == reduce_gradient;
        if (is_transfer(cell.operation)) check_transfer(rank, cell);
      }
    }
    if (has_transfers_) check_partners();
    for (std::int32_t rank = 0; rank < shape_.ranks; ++rank) check_stages(rank);
    return problems_.take();
  }

 private:
  [[nodiscard]] const PytorchRow& row(std::int32_t rank) const { return rows_[rank]; }
  [[nodiscard]] bool exists(std::int32_t stage) const { return stage >= 0 && stage < shape_.virtual_stages(); }

  void add(std::int32_t rank, std::int32_t column, std::string what, std::string expected) {
    problems_.add([&] { return OrderProblem{rank, column, std::move(what), std::move(expected)}; });
  }

  void check_transfer(std::int32_t rank, const CommunicationCell& cell) {
    const auto self = text(cell.operation, cell.stage, cell.microbatch);
    const auto problem = [&](const std::string& what, std::string expected) {
      add(rank, cell.column, self + " " + what, std::move(expected));
    };
    if (!exists(cell.stage) || cell.microbatch >= shape_.microbatches) {
      problem("is of a virtual stage or microbatch that does not exist",
              "virtual stages 0 to " + std::to_string(shape_.virtual_stages() - 1) + " and microbatches 0 to " +
                  std::to_string(shape_.microbatches - 1));
      return;
    }
    const auto home = shape_.rank_of(cell.stage, cell.microbatch);
    if (home != rank) {
      problem("is on rank " + std::to_string(rank),
              "it on rank " + std::to_string(home) + ", which has the virtual stage");
      return;
    }
    const auto other = cell.stage + (is_send(cell.operation) == is_forward(cell.operation) ? 1 : -1);
    const std::string partner = is_send(cell.operation) ? "receiver" : "sender";
    if (!exists(other) || shape_.rank_of(other, cell.microbatch) == rank) {
      problem("has no " + partner + ": " +
                  (exists(other) ? "virtual stage " + std::to_string(other) + " is on the same rank"
                                 : "there is no virtual stage " + std::to_string(other)),
              "transfers between virtual stages on two ranks");
      return;
    }
    auto& column = transfers_.of(cell.operation, cell.stage, cell.microbatch);
    if (column >= 0) {
      problem("appears twice", "it once");
      return;
    }
    column = cell.column;
    const auto step = is_forward(cell.operation) ? PipelineStep::forward : PipelineStep::input_gradient;
    const auto index = places_.of(step, cell.stage, cell.microbatch);
    const auto& action = order_.ranks[rank][index];
    if (is_send(cell.operation) && index >= cell.next)
      problem("comes before " + action.to_string() + ", which makes what it sends", "it after that");
    if (!is_send(cell.operation) && index < cell.next)
      problem("comes after " + action.to_string() + ", which needs it", "it before that");
  }

  /// Every result that another rank needs is sent and received.
  void check_partners() {
    for (std::int32_t stage = 0; stage + 1 < shape_.virtual_stages(); ++stage) {
      for (std::int32_t m = 0; m < shape_.microbatches; ++m) {
        if (shape_.rank_of(stage, m) == shape_.rank_of(stage + 1, m)) continue;
        check_partners(PipelineStep::forward, send_forward, stage, receive_forward, stage + 1, m);
        check_partners(PipelineStep::input_gradient, send_backward, stage + 1, receive_backward, stage, m);
      }
    }
  }

  void check_partners(PipelineStep step, CsvOperation send, std::int32_t from, CsvOperation receive, std::int32_t to,
                      std::int32_t m) {
    const auto sent = transfers_.of(send, from, m), received = transfers_.of(receive, to, m);
    const auto sender = shape_.rank_of(from, m), receiver = shape_.rank_of(to, m);
    const auto send_text = text(send, from, m), receive_text = text(receive, to, m);
    if (sent >= 0 && received < 0)
      add(sender, sent, send_text + " has no receive", receive_text + " on rank " + std::to_string(receiver));
    if (sent < 0 && received >= 0)
      add(receiver, received, receive_text + " has no send", send_text + " on rank " + std::to_string(sender));
    if (sent < 0 && received < 0) {
      const auto index = places_.of(step, from, m);
      add(sender, row(sender).columns[index],
          order_.ranks[sender][index].to_string() + " is not sent to rank " + std::to_string(receiver),
          send_text + " after it and " + receive_text + " there");
    }
  }

  struct Stage {
    std::int32_t last_weight_gradient = -1;
    bool whole = false;  ///< unsharded
    bool reduced = false;
  };

  /// UNSHARD, RESHARD and REDUCE_GRAD of a rank in step with its computations.
  void check_stages(std::int32_t rank) {
    const auto& cells = order_.ranks[rank];
    std::map<std::int32_t, Stage> stages;
    for (const CellId index : cells.ids()) {
      for_each_action(cells[index], [&](const PipelineAction& action) {
        auto& stage = stages[action.stage];
        if (action.work == PipelineWork::backward || action.work == PipelineWork::weight_gradient)
          stage.last_weight_gradient = index;
      });
    }
    auto next = row(rank).communication.begin();
    for (std::int32_t index = 0; index <= std::ssize(cells); ++index) {
      for (; next != row(rank).communication.end() && next->next == index; ++next) {
        if (!is_transfer(next->operation)) check_stage(rank, *next, stages);
      }
      if (!has_sharding_ || index == std::ssize(cells)) continue;
      for_each_action(cells[index], [&](const PipelineAction& action) {
        if (stages[action.stage].whole) return;
        const auto stage = std::to_string(action.stage);
        add(rank, row(rank).columns[index], action.to_string() + " runs while virtual stage " + stage + " is sharded",
            stage + "UNSHARD before it");
      });
    }
    for (const auto& [number, stage] : stages) {
      if (!has_reduction_ || stage.reduced || stage.last_weight_gradient < 0) continue;
      const auto last = stage.last_weight_gradient;
      add(rank, row(rank).columns[last],
          "the gradients of virtual stage " + std::to_string(number) + " are never reduced",
          text(reduce_gradient, number, 0) + " after " + cells[last].to_string());
    }
  }

  void check_stage(std::int32_t rank, const CommunicationCell& cell, std::map<std::int32_t, Stage>& stages) {
    const auto self = text(cell.operation, cell.stage, 0);
    const auto problem = [&](const std::string& what, std::string expected) {
      add(rank, cell.column, self + " " + what, std::move(expected));
    };
    const auto found = stages.find(cell.stage);
    if (found == stages.end()) {
      problem("is of a virtual stage that rank " + std::to_string(rank) + " does not run",
              "a virtual stage of the rank");
      return;
    }
    auto& stage = found->second;
    if (cell.operation == reduce_gradient) {
      if (stage.reduced) problem("appears twice", "it once");
      const auto last = stage.last_weight_gradient;
      if (!stage.reduced && last >= cell.next) {
        problem("comes before the last weight gradient of its virtual stage",
                "it after " + order_.ranks[rank][last].to_string());
      }
      stage.reduced = true;
      return;
    }
    const bool opens = cell.operation == unshard;
    if (stage.whole == opens)
      problem(
          opens ? "comes where the virtual stage is already whole" : "comes where the virtual stage is already sharded",
          "UNSHARD and RESHARD by turns");
    stage.whole = opens;
  }

  const PipelineOrder& order_;
  const PipelineShape& shape_;
  const PytorchRows& rows_;
  ActionPlaces places_;
  TransferColumns transfers_;
  bool has_transfers_ = false, has_sharding_ = false, has_reduction_ = false;
  ProblemList<OrderProblem> problems_;
};

}  // namespace

std::vector<OrderProblem> verify_communication(const PipelineOrder& order, const PytorchRows& rows) {
  return Verifier(order, rows).run();
}

}  // namespace lockstep::workloads
