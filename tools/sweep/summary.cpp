#include "tools/sweep/summary.hpp"

#include "sim/core/quantity_text.hpp"
#include "tools/output/elements/table.hpp"
#include "tools/sweep/outputs.hpp"

namespace lockstep::sweep {
namespace {

std::string count(std::int64_t number, const std::string& what) {
  return output::with_separators(static_cast<double>(number)) + " " + what;
}

/// "parallel.tensor 4, batch.sequences 64" of the row's columns from `at` on.
std::string settings_of(const Statement& row, const std::vector<std::string>& keys, int at) {
  std::string text;
  for (const auto& key : keys) {
    if (row.type(at) != Statement::Type::null) text += (text.empty() ? "" : ", ") + key + " " + row.text(at);
    ++at;
  }
  return text;
}

/// What is said beside the best point, before which no point that fits, or may not fit, has been left out.
std::string in_memory(std::optional<studies::Fit> fit) {
  if (!fit || *fit == studies::Fit::fits) return "";
  return *fit == studies::Fit::may_not_fit ? ", MAY NOT FIT in memory" : ", all points DO NOT FIT in memory";
}

/// Tokens a second of a chip compare batches and clusters too; of equal work on equal chips they rank as step times do.
std::string best(Database& database, const StoreHeader& header) {
  std::string keys;
  for (const auto& key : header.keys) keys += ", " + quoted_name(key);
  Statement row(database,
                "SELECT tokens_per_s_per_chip, step_time_s, mfu, fits, peak_bytes, capacity_bytes" + keys +
                    " FROM point WHERE status = 'done' ORDER BY fits DESC, tokens_per_s_per_chip DESC, key LIMIT 1");
  if (!row.step()) return "";
  return "most tokens/s a chip: " + output::with_separators(row.real(0)) + " (step " + format(Seconds(row.real(1))) +
         (row.type(2) == Statement::Type::null ? "" : ", MFU " + output::percent(row.real(2))) +
         in_memory(row.type(3) == Statement::Type::null ? std::nullopt
                                                        : fit_of_point(row.real(3), row.real(4), row.real(5))) +
         ") with " + settings_of(row, header.keys, 6) + "\n";
}

}  // namespace

std::string sweep_summary(Database& database, const StoreHeader& header, const std::string& file) {
  const auto counts = count_points(database);
  std::string text =
      file + ": " + count(counts.all(), counts.all() == 1 ? "point" : "points") + ", " + count(counts.done, "done");
  if (counts.refused > 0) text += ", " + count(counts.refused, "refused");
  if (counts.failed > 0) text += ", " + count(counts.failed, "failed");
  if (counts.crashed > 0) text += ", " + count(counts.crashed, "crashed");
  text += "\n" + best(database, header);
  Statement reasons(database,
                    "SELECT status, error, count(*) AS n FROM point WHERE status <> 'done' GROUP BY status, error "
                    "ORDER BY n DESC, error LIMIT 3");
  while (reasons.step()) {
    const auto error = reasons.text(1);
    text += count(reasons.whole(2), reasons.text(0)) + ": " + error.substr(0, error.find('\n')) + "\n";
  }
  return text;
}

}  // namespace lockstep::sweep
