#include "sim/studies/validation/measured_collectives.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string_view>

#include "sim/collectives/nccl_size.hpp"
#include "sim/studies/validation/collective_machines_private.hpp"
#include "sim/studies/validation/published_private.hpp"
#include "topologies/fabrics/fabric.hpp"

namespace lockstep::validation {
namespace {

constexpr std::int64_t most_ranks = 1 << 16;
constexpr double shortest = 1e-9, longest = 1e6;  // seconds

constexpr const char* known_kinds = "one of all_reduce, all_gather, reduce_scatter, reduce, all_to_all";

/// By the first word, "all_to_all", "alltoall" and "alltoall_perf" alike; remarks such as "(1 axis of 4x4x4)" may
/// follow.
std::optional<workloads::CollectiveKind> kind_of(const std::string& text) {
  auto word = lower_case(text.substr(0, text.find_first_of(" (")));
  if (word.ends_with("_perf")) word.resize(word.size() - 5);
  std::erase_if(word, [](char c) { return c == '_' || c == '-'; });
  constexpr std::pair<std::string_view, workloads::CollectiveKind> kinds[] = {
      {"allreduce", workloads::CollectiveKind::all_reduce},
      {"allgather", workloads::CollectiveKind::all_gather},
      {"reducescatter", workloads::CollectiveKind::reduce_scatter},
      {"reduce", workloads::CollectiveKind::reduce},
      {"alltoall", workloads::CollectiveKind::all_to_all}};
  const auto* found =
      std::find_if(std::begin(kinds), std::end(kinds), [&](const auto& known) { return known.first == word; });
  return found == std::end(kinds) ? std::nullopt : std::optional(found->second);
}

/// None for an empty cell, or a bandwidth that is rounded to zero as those of short messages are.
std::optional<double> bandwidth(const CsvRow& cells, std::string_view column) {
  if (cells.text(column).find_first_not_of("0.") == std::string::npos) return std::nullopt;
  return cells.number(column);
}

/// The measured time; without it from size and bandwidth. Cells that say none are told.
std::optional<double> seconds_of(const MeasuredCollective& row, const CsvRow& cells, std::size_t told,
                                 const Problems& problems) {
  const auto time = cells.number("time_us"), whole = bandwidth(cells, "algbw_gbs"),
             wire = bandwidth(cells, "busbw_gbs");
  if (problems.size() > told) return std::nullopt;
  std::string_view column = "time_us";
  double seconds = 0;
  if (time) {
    seconds = *time * 1e-6;
  } else if (whole) {
    column = "algbw_gbs";
    seconds = row.bytes / (*whole * 1e9);
  } else if (wire) {
    column = "busbw_gbs";
    seconds = row.bytes * collectives::bus_factor(row.kind, row.ranks) / (*wire * 1e9);
  } else {
    cells.problem(column, "the row has no time", "a time, or a bandwidth above 0 in algbw_gbs or busbw_gbs");
    return std::nullopt;
  }
  if (seconds >= shortest && seconds <= longest) return seconds;
  cells.problem(column, "'" + cells.text(column) + "' is not that of a collective", "a time from 1 ns to 1e6 s");
  return std::nullopt;
}

/// A count of at most most_ranks.
int count(const CsvRow& cells, std::string_view column, std::optional<std::int64_t> fallback = std::nullopt) {
  const auto value = cells.integer(column, fallback);
  if (value <= most_ranks) return static_cast<int>(value);
  cells.problem(column, "'" + cells.text(column) + "' is more than is simulated",
                "at most " + std::to_string(most_ranks));
  return static_cast<int>(most_ranks);
}

/// The row as the table has it; none where something is wrong with it, which is told.
std::optional<MeasuredCollective> read_row(const CsvRow& cells, const std::string& table, const Problems& problems) {
  const auto told = problems.size();
  const auto kind = kind_of(cells.text("collective"));
  if (!kind) cells.problem("collective", "'" + cells.text("collective") + "' is not known", known_kinds);
  if (cells.text("chip").empty()) cells.problem("chip", "is empty", "the machine, such as dgx-h100");
  const auto bytes = cells.number("size_bytes");
  const double most = static_cast<double>(collectives::most_full_size.value()) / static_cast<double>(most_ranks);
  if (cells.text("size_bytes").empty()) cells.problem("size_bytes", "is empty", "a number of bytes");
  if (bytes && *bytes > most) cells.problem("size_bytes", "more bytes than are simulated", "at most 15 TB");
  if (bytes && *bytes < 1) cells.problem("size_bytes", "'" + cells.text("size_bytes") + "' is no byte", "at least 1");
  MeasuredCollective row{table,
                         cells.text("collective"),
                         cells.text("chip"),
                         cells.text("inter_net"),
                         cells.text("notes") + "; " + cells.text("verified"),
                         cells.where(),
                         cells.where("chip"),
                         cells.where("n_ranks"),
                         kind.value_or(workloads::CollectiveKind::all_reduce),
                         count(cells, "n_ranks"),
                         count(cells, "nodes", 1),
                         bytes.value_or(1)};
  if (row.ranks < 2 && problems.size() == told) cells.problem("n_ranks", "there is nobody to send to", "at least 2");
  const auto seconds = seconds_of(row, cells, told, problems);
  if (!seconds) return std::nullopt;
  row.seconds = *seconds;
  return row;
}

constexpr const char* needed[] = {"collective", "chip", "n_ranks", "size_bytes"};

}  // namespace

Bytes MeasuredCollective::full_size() const {
  return collectives::full_size_of(kind, Bytes(static_cast<std::int64_t>(bytes)), ranks);
}

bool CollectiveErrors::meets() const {
  return is_long ? median_abs <= long_median_target && p90_abs <= long_p90_target : median_abs <= short_median_target;
}

bool has_collective_columns(const CsvTable& table) {
  return std::all_of(std::begin(needed), std::end(needed), [&](const char* column) { return table.has(column); });
}

std::vector<MeasuredCollective> read_measured_collectives(const CsvTable& table, const std::string& name,
                                                          const Problems& problems) {
  std::vector<MeasuredCollective> rows;
  if (!table.has("time_us") && !table.has("algbw_gbs") && !table.has("busbw_gbs")) {
    table.problem("time_us", "the column is missing", "a column of times, or of bandwidths: algbw_gbs or busbw_gbs");
    return rows;
  }
  for (const auto& cells : table.rows()) {
    if (!cells.text("left_out").empty()) continue;
    if (auto row = read_row(cells, name, problems)) rows.push_back(std::move(*row));
  }
  return rows;
}

void check_machines(const std::vector<MeasuredCollective>& rows, const std::filesystem::path& catalog,
                    Problems& problems) {
  std::map<MachineKey, bool> is_known;
  for (const auto& row : rows) {
    if (is_known.emplace(machine_key(row), true).second) (void)place_of(row, catalog, problems);
  }
}

std::vector<ValidatedCollective> validate_collectives(const std::vector<MeasuredCollective>& rows,
                                                      const std::filesystem::path& catalog,
                                                      const std::function<void(topologies::FabricSpec&)>& change) {
  Problems problems;
  check_machines(rows, catalog, problems);
  problems.throw_if_any();
  std::map<MachineKey, Machine> known;
  std::vector<ValidatedCollective> validated;
  for (const auto& row : rows) {
    auto& machine = known[machine_key(row)];
    if (!machine.groups) {
      auto place = place_of(row, catalog, problems);
      if (place->nodes.units > 1) change(place->nodes.fabric);
      machine = built(*place);
    }
    const auto choice = machine.groups->choose(row.kind, row.full_size());
    validated.push_back({row, machine.network, choice.label, choice.cost.value()});
  }
  return validated;
}

double quantile(std::vector<double> values, double q) {
  std::sort(values.begin(), values.end());
  const double place = q * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const auto above = std::min(below + 1, values.size() - 1);
  return values[below] + (values[above] - values[below]) * (place - static_cast<double>(below));
}

std::vector<const ValidatedCollective*> worst_first(const std::vector<ValidatedCollective>& collectives) {
  std::vector<const ValidatedCollective*> rows;
  for (const auto& collective : collectives) rows.push_back(&collective);
  std::stable_sort(rows.begin(), rows.end(), [](const auto* a, const auto* b) {
    return std::abs(std::log1p(a->error())) > std::abs(std::log1p(b->error()));
  });
  return rows;
}

std::vector<CollectiveErrors> errors_of(const std::vector<ValidatedCollective>& collectives) {
  std::vector<std::string> tables;
  for (const auto& collective : collectives) {
    if (std::find(tables.begin(), tables.end(), collective.row.table) == tables.end())
      tables.push_back(collective.row.table);
  }
  std::vector<CollectiveErrors> made;
  for (const auto& table : tables) {
    std::map<std::pair<std::string, bool>, std::vector<const ValidatedCollective*>> groups;
    for (const auto& collective : collectives) {
      if (collective.row.table == table) groups[{collective.network, collective.row.is_long()}].push_back(&collective);
    }
    for (const auto& [key, group] : groups) {
      std::vector<double> errors, sizes;
      CollectiveErrors of{table, key.first, key.second, group.size(), 0, 0, 0, group.front()};
      for (const auto* collective : group) {
        errors.push_back(collective->error());
        sizes.push_back(std::abs(collective->error()));
        if (sizes.back() > std::abs(of.worst->error())) of.worst = collective;
      }
      of.median_abs = quantile(sizes, 0.5);
      of.p90_abs = quantile(sizes, 0.9);
      of.bias = quantile(errors, 0.5);
      made.push_back(of);
    }
  }
  return made;
}

}  // namespace lockstep::validation
