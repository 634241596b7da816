// Lengths of documents: batch.lengths and what goes with it.
#include <cmath>
#include <map>

#include "sim/core/csv_table.hpp"
#include "sim/core/quantity_text.hpp"
#include "sim/scenario/lengths_file.hpp"
#include "sim/scenario/reading_private.hpp"

namespace lockstep::scenario {
namespace {

constexpr double rounding_of_shares = 1e-3;  ///< shares are written with few digits
constexpr double most_documents = 1e7;       ///< of a step

/// A line for each length: `tokens`, and either `count` or `share`.
std::vector<std::pair<std::int64_t, double>> read_histogram(const std::filesystem::path& file, Problems& problems) {
  const auto before = problems.size();
  const CsvTable table(file, problems);
  if (problems.size() > before || !table.require({"tokens"})) return {};
  const Location whole{file.string(), 0, 0};
  const bool counts = table.has("count");
  if (counts == table.has("share")) {
    problems.add({whole, "", counts ? "has counts and shares" : "does not say how many documents have which length",
                  "a column count, or a column share"});
    return {};
  }
  std::map<std::int64_t, double> documents;
  double sum = 0;
  for (const auto& row : table.rows()) {
    const auto found = problems.size();
    const auto tokens = row.integer("tokens");
    const auto weight = counts ? std::optional(static_cast<double>(row.integer("count"))) : row.number("share");
    if (!weight) row.problem("share", "is empty", "a share of all documents");
    if (problems.size() > found) continue;
    if (!documents.emplace(tokens, *weight).second)
      row.problem("tokens", "documents of " + std::to_string(tokens) + " tokens are told twice",
                  "a line for each length");
    sum += *weight;
  }
  if (problems.size() > before) return {};
  if (documents.empty()) problems.add({whole, "", "has no lines", "a line for each length"});
  if (!counts && !documents.empty() && std::abs(sum - 1) > rounding_of_shares)
    problems.add({whole, "share", "the shares add up to " + exact(std::round(sum * 1000) / 1000),
                  "shares of all documents, which add up to 1"});
  std::vector<std::pair<std::int64_t, double>> shares;
  for (const auto& [tokens, weight] : documents) shares.emplace_back(tokens, weight / sum);
  return shares;
}

void check_histogram(const YamlView& view, const BatchSpec& batch, const LengthsSpec& lengths) {
  double mean = 0;
  for (const auto& [tokens, share] : lengths.documents) mean += share * static_cast<double>(tokens);
  const double step = static_cast<double>(batch.sequences) * static_cast<double>(batch.sequence_length);
  if (step / mean > most_documents)
    view.problem("a step would have more than 1e7 documents", "longer documents, or fewer tokens in a step");
  const auto longest = lengths.documents.back().first;
  if (!lengths.cut && longest > batch.sequence_length)
    view.problem("documents of " + std::to_string(longest) + " tokens do not fit into sequences of " +
                     std::to_string(batch.sequence_length),
                 "longer sequences, or packing: cut");
}

}  // namespace

std::vector<std::pair<std::int64_t, double>> lengths_file(const YamlView& view, const std::filesystem::path& folder,
                                                          Problems& problems) {
  std::error_code unreadable;
  if (std::filesystem::is_regular_file(folder / view.text(), unreadable))
    return read_histogram(folder / view.text(), problems);
  view.problem("there is no file '" + view.text() + "'", "the path of a CSV file, seen from the scenario's folder");
  return {};
}

void read_lengths(const YamlView& batch, const std::filesystem::path& folder, KeyReader& keys, Scenario& scenario,
                  Problems& problems) {
  auto& lengths = scenario.lengths;
  const auto view = keys.optional(batch, "lengths"), packing = keys.optional(batch, "packing"),
             seed = keys.optional(batch, "lengths_seed");
  if (packing.exists()) lengths.cut = packing.choice({"cut", "whole"}) == 0;
  if (seed.exists()) lengths.seed = static_cast<std::uint64_t>(seed.integer(0, 1'000'000'000));
  for (const auto& other : {packing, seed}) {
    if (other.exists() && !view.exists())
      other.problem("without lengths every sequence is one document", "lengths: a CSV file beside it");
  }
  if (!view.exists() || !expect_value(view, "the path of a CSV file with lengths of documents")) return;
  lengths.documents = lengths_file(view, folder, problems);
  if (!lengths.documents.empty() && scenario.batch.sequences > 0 && scenario.batch.sequence_length > 0)
    check_histogram(view, scenario.batch, lengths);
}

}  // namespace lockstep::scenario
