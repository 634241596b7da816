#include "workloads/pipeline/csv/pytorch_csv_cell.hpp"

#include <algorithm>

#include "workloads/pipeline/schedule_limits_private.hpp"

namespace lockstep::workloads {
namespace {

using Kind = PytorchCellMistake::Kind;

constexpr std::int64_t highest_stage = most_pipeline_ranks * most_chunks - 1;
constexpr std::int64_t highest_microbatch = most_microbatches - 1;
constexpr std::string_view pair_end = ")OVERLAP_F_B";

struct Operation {
  std::string_view name;
  CsvOperation operation;
  PipelineWork work = PipelineWork::forward;
};

constexpr Operation newer_computation[] = {{"F", CsvOperation::computation, PipelineWork::forward},
                                           {"B", CsvOperation::computation, PipelineWork::backward},
                                           {"I", CsvOperation::computation, PipelineWork::input_gradient},
                                           {"W", CsvOperation::computation, PipelineWork::weight_gradient}};
constexpr Operation older_computation[] = {{"F", CsvOperation::computation, PipelineWork::forward},
                                           {"BW", CsvOperation::computation, PipelineWork::backward},
                                           {"B", CsvOperation::computation, PipelineWork::input_gradient},
                                           {"W", CsvOperation::computation, PipelineWork::weight_gradient}};
constexpr Operation communication[] = {{"SEND_F", CsvOperation::send_forward},
                                       {"RECV_F", CsvOperation::receive_forward},
                                       {"SEND_B", CsvOperation::send_backward},
                                       {"RECV_B", CsvOperation::receive_backward},
                                       {"UNSHARD", CsvOperation::unshard},
                                       {"RESHARD", CsvOperation::reshard},
                                       {"REDUCE_GRAD", CsvOperation::reduce_gradient}};

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_name(char c) { return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_'; }

template <class Is>
std::string_view take_while(std::string_view& rest, Is is) {
  const auto end = static_cast<std::size_t>(std::find_if_not(rest.begin(), rest.end(), is) - rest.begin());
  const auto taken = rest.substr(0, end);
  rest.remove_prefix(end);
  return taken;
}

const Operation* find_operation(std::string_view name, bool older_dialect) {
  const auto in = [&](const auto& table) -> const Operation* {
    const auto* found = std::find_if(std::begin(table), std::end(table),
                                     [&](const Operation& operation) { return operation.name == name; });
    return found == std::end(table) ? nullptr : found;
  };
  if (const auto* found = older_dialect ? in(older_computation) : in(newer_computation)) return found;
  return in(communication);
}

bool has_microbatch(CsvOperation operation) { return operation < CsvOperation::unshard; }

using Mistake = std::optional<PytorchCellMistake>;

Mistake read_number(std::string_view& rest, std::int64_t highest, Kind if_none, std::string_view whole,
                    std::int32_t& number) {
  const auto digits = take_while(rest, is_digit);
  if (digits.empty()) return PytorchCellMistake{if_none, whole};
  if (digits.size() > 1 && digits.front() == '0') return PytorchCellMistake{Kind::leading_zero, digits};
  std::int64_t value = 0;
  for (const char digit : digits) {
    value = value * 10 + (digit - '0');
    if (value > highest) return PytorchCellMistake{Kind::too_high, digits, highest};
  }
  number = static_cast<std::int32_t>(value);
  return {};
}

Mistake read_single(std::string_view text, bool older_dialect, CsvOperation& operation, PipelineAction& action) {
  auto rest = text;
  if (auto mistake = read_number(rest, highest_stage, Kind::no_stage, text, action.stage)) return mistake;
  const auto name = take_while(rest, is_name);
  if (name.empty()) return PytorchCellMistake{Kind::no_operation, text};
  const auto* known = find_operation(name, older_dialect);
  if (known == nullptr)
    return PytorchCellMistake{older_dialect && name == "I" ? Kind::mixed_dialects : Kind::unknown_operation, name};
  operation = known->operation;
  action.work = known->work;
  if (has_microbatch(operation)) {
    if (auto mistake = read_number(rest, highest_microbatch, Kind::no_microbatch, text, action.microbatch))
      return mistake;
  }
  if (!rest.empty()) return PytorchCellMistake{Kind::trailing_text, rest};
  return {};
}

Mistake read_pair(std::string_view text, bool older_dialect, PipelineCell& cell) {
  const auto middle = text.find(';');
  if (!text.ends_with(pair_end) || middle == std::string_view::npos) return PytorchCellMistake{Kind::broken_pair, text};
  const std::string_view halves[] = {text.substr(1, middle - 1),
                                     text.substr(middle + 1, text.size() - pair_end.size() - middle - 1)};
  cell.second.emplace();
  PipelineAction* const actions[] = {&cell.first, &*cell.second};
  for (std::size_t i = 0; i < 2; ++i) {
    auto operation = CsvOperation::computation;
    const auto half = without_blanks_around(halves[i]);
    if (auto mistake = read_single(half, older_dialect, operation, *actions[i])) return mistake;
    if (operation != CsvOperation::computation) return PytorchCellMistake{Kind::communication_in_pair, half};
  }
  return {};
}

}  // namespace

std::optional<PytorchCellMistake> read_csv_cell(std::string_view text, bool older_dialect, PytorchCell& cell) {
  if (text.front() == '{') return PytorchCellMistake{Kind::group, text};
  if (text.front() == '(') return read_pair(text, older_dialect, cell.cell);
  return read_single(text, older_dialect, cell.operation, cell.cell.first);
}

std::string PytorchCellMistake::what() const {
  const auto quoted = "'" + printable(part) + "'";
  switch (kind) {
    case Kind::no_stage: return quoted + " does not begin with a virtual stage";
    case Kind::leading_zero: return "number " + quoted + " begins with a zero";
    case Kind::too_high: return "number " + quoted + " is too high";
    case Kind::no_operation: return quoted + " names no operation";
    case Kind::unknown_operation: return quoted + " is not an operation";
    case Kind::mixed_dialects: return "'I' appears in a file of the older dialect (it has BW)";
    case Kind::no_microbatch: return quoted + " has no microbatch";
    case Kind::trailing_text: return quoted + " follows the end of the action";
    case Kind::broken_pair: return quoted + " is not a whole pair";
    case Kind::communication_in_pair: return quoted + " is half of a pair, but no computation";
    case Kind::group: return quoted + " is a group of transfers, which PyTorch does not have";
  }
  return {};
}

std::string PytorchCellMistake::expected(bool older_dialect) const {
  switch (kind) {
    case Kind::no_stage: return "virtual stage, operation, microbatch, as in 0F0";
    case Kind::leading_zero: return "a number without leading zeros";
    case Kind::too_high: return "at most " + std::to_string(highest);
    case Kind::no_operation:
    case Kind::unknown_operation:
      return std::string(older_dialect ? "F, B, W, BW" : "F, B, I, W") +
             ", SEND_F, RECV_F, SEND_B, RECV_B, UNSHARD, RESHARD or REDUCE_GRAD";
    case Kind::mixed_dialects: return "B for the input gradient there, or B instead of BW for the whole backward";
    case Kind::no_microbatch: return "a number at the end, as in 0F0";
    case Kind::trailing_text: return "the end of the cell";
    case Kind::broken_pair: return "a pair as in (0F7;7B3)OVERLAP_F_B";
    case Kind::communication_in_pair: return "a forward and a backward";
    case Kind::group: return "a cell of its own for each SEND and RECV";
  }
  return {};
}

std::string_view without_blanks_around(std::string_view text) {
  constexpr std::string_view blanks = " \t";
  const auto first = text.find_first_not_of(blanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

std::string printable(std::string_view text) {
  constexpr std::size_t most = 32;
  constexpr std::string_view hex = "0123456789abcdef";
  std::string result;
  for (const char c : text.substr(0, most)) {
    if (c >= ' ' && c <= '~') {
      result += c;
    } else {
      const auto byte = static_cast<unsigned char>(c);
      result += {'\\', 'x', hex[byte / 16], hex[byte % 16]};
    }
  }
  return text.size() > most ? result + "..." : result;
}

}  // namespace lockstep::workloads
