#include <algorithm>
#include <map>

#include "workloads/pipeline/cell_turns.hpp"
#include "workloads/pipeline/csv/pytorch_csv.hpp"
#include "workloads/pipeline/verify_order.hpp"

namespace lockstep::workloads {
namespace {

std::string_view name(PipelineWork work, bool older_dialect) {
  if (older_dialect && work == PipelineWork::backward) return "BW";
  if (older_dialect && work == PipelineWork::input_gradient) return "B";
  return name(work);
}

std::string text(const PipelineAction& action, bool older_dialect) {
  return std::to_string(action.stage) + std::string(name(action.work, older_dialect)) +
         std::to_string(action.microbatch);
}

std::string text(const PipelineCell& cell, bool older_dialect) {
  if (!cell.second) return text(cell.first, older_dialect);
  return "(" + text(cell.first, older_dialect) + ";" + text(*cell.second, older_dialect) + ")OVERLAP_F_B";
}

bool ends_weight_gradient(PipelineWork work) {
  return work == PipelineWork::backward || work == PipelineWork::weight_gradient;
}

/// A cell of a rank's order before transfers are put in.
struct Entry {
  enum class Kind : std::uint8_t { computation, unshard, reshard, reduce_gradient };
  Kind kind;
  std::int32_t stage = 0;              ///< of what is not computation
  const PipelineCell* cell = nullptr;  ///< of computation
};

/// The stages whose weights a rank holds while it runs a cell: those it needs next.
using Window = std::vector<std::int32_t>;

/// PyTorch keeps the weights of the three stages that are used next; a pair brings both of its stages, so there
/// may be four. Backwards through the order, the stages used next are those seen last.
std::vector<Window> windows(const PipelineCells& cells) {
  constexpr std::size_t kept = 3;
  std::vector<Window> result(cells.size());
  std::vector<std::int32_t> seen_last;
  std::map<std::int32_t, std::size_t> next_use;
  for (auto i = cells.size(); i-- > 0;) {
    const auto note = [&](const PipelineAction& action) {
      std::erase(seen_last, action.stage);
      seen_last.insert(seen_last.begin(), action.stage);
      next_use[action.stage] = i;
    };
    if (cells[i].second) note(*cells[i].second);
    note(cells[i].first);
    auto count = std::min(kept, seen_last.size());
    while (count < seen_last.size() && next_use[seen_last[count]] == next_use[seen_last[count - 1]]) ++count;
    result[i].assign(seen_last.begin(), seen_last.begin() + static_cast<std::ptrdiff_t>(count));
  }
  return result;
}

bool contains(const Window& window, std::int32_t stage) {
  return std::find(window.begin(), window.end(), stage) != window.end();
}

std::vector<Entry> with_sharding_and_reduction(const PipelineCells& cells) {
  using enum Entry::Kind;
  std::vector<Entry> result;
  Window held;
  std::map<std::int32_t, std::int64_t> gradients_left;
  for (const auto& cell : cells) {
    for_each_action(
        cell, [&](const PipelineAction& action) { gradients_left[action.stage] += ends_weight_gradient(action.work); });
  }
  const auto keep_only = [&](const Window& wanted) {
    std::sort(held.begin(), held.end());
    std::erase_if(held, [&](std::int32_t stage) {
      if (contains(wanted, stage)) return false;
      result.push_back({reshard, stage});
      return true;
    });
  };
  const auto wanted = windows(cells);
  for (std::size_t i = 0; i < cells.size(); ++i) {
    keep_only(wanted[i]);
    for (const auto stage : wanted[i]) {
      if (contains(held, stage)) continue;
      result.push_back({unshard, stage});
      held.push_back(stage);
    }
    result.push_back({computation, 0, &cells[i]});
    for_each_action(cells[i], [&](const PipelineAction& action) {
      if (ends_weight_gradient(action.work) && --gradients_left[action.stage] == 0)
        result.push_back({reduce_gradient, action.stage});
    });
  }
  keep_only({});
  return result;
}

/// Puts a SEND after each result that another rank needs, and its RECV where that rank has come to by then
/// (cell_turns.hpp).
class Lowering {
 public:
  Lowering(const PipelineOrder& order, const CsvExport& options)
      : shape_(order.shape), options_(options), lines_(order.ranks.size()) {
    for (const auto& cells : order.ranks) entries_.push_back(with_sharding_and_reduction(cells));
  }

  std::string run() {
    CellsAndOthers cells;
    for (const auto& entries : entries_) {
      auto& own = cells.emplace_back();
      for (const auto& entry : entries) own.push_back(entry.cell);
    }
    for (const auto& [rank, index] : cells_in_turn(shape_, cells)) write(rank, entries_[rank][index]);
    std::string result;
    for (const auto& line : lines_) result += line + "\n";
    return result;
  }

 private:
  void write(StageId rank, const Entry& entry) {
    const auto stage = std::to_string(entry.stage);
    switch (entry.kind) {
      case Entry::Kind::unshard: append(rank, stage + "UNSHARD"); return;
      case Entry::Kind::reshard: append(rank, stage + "RESHARD"); return;
      case Entry::Kind::reduce_gradient: append(rank, stage + "REDUCE_GRAD"); return;
      case Entry::Kind::computation: break;
    }
    append(rank, text(*entry.cell, options_.older_dialect));
    for_each_action(*entry.cell, [&](const PipelineAction& action) {
      if (action.work != PipelineWork::weight_gradient) pass_on(rank, action);
    });
  }

  void pass_on(StageId rank, const PipelineAction& action) {
    const bool forward = action.work == PipelineWork::forward;
    const auto to = action.stage + (forward ? 1 : -1);
    if (to < 0 || to == shape_.virtual_stages()) return;
    const auto receiver = shape_.rank_of(to, action.microbatch);
    if (receiver == rank) return;
    const auto what = (forward ? "F" : "B") + std::to_string(action.microbatch);
    append(rank, std::to_string(action.stage) + "SEND_" + what);
    append(receiver, std::to_string(to) + "RECV_" + what);
  }

  void append(StageId rank, const std::string& cell) { lines_[rank] += (lines_[rank].empty() ? "" : ",") + cell; }

  const PipelineShape& shape_;
  const CsvExport& options_;
  Indexed<StageId, Indexed<CellId, Entry>> entries_;
  Indexed<StageId, std::string> lines_;
};

}  // namespace

std::string export_pytorch_csv(const PipelineOrder& order, const CsvExport& options) {
  if (options.communication) {
    if (const auto problems = verify_order(order); !problems.empty())
      throw ScheduleError("schedule", problems.front().what, problems.front().expected);
    return Lowering(order, options).run();
  }
  std::string result;
  for (const auto& cells : order.ranks) {
    for (std::size_t i = 0; i < cells.size(); ++i)
      result += (i == 0 ? "" : ",") + text(cells[i], options.older_dialect);
    result += "\n";
  }
  return result;
}

}  // namespace lockstep::workloads
