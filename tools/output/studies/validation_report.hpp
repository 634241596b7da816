#pragma once
/// Predicted against measured steps as text, JSON, a picture and a part of docs/validation.md.
#include <string>
#include <utility>
#include <vector>

#include "sim/studies/validation/leave_one_out.hpp"
#include "sim/studies/validation/published_tables.hpp"
#include "sim/studies/validation/validate.hpp"

namespace lockstep::output {

/// A line for each table (and each family, if asked for), the worst rows, and why rows were skipped.
[[nodiscard]] std::string validation_text(const std::vector<validation::ValidatedRun>& runs, bool families);
[[nodiscard]] std::string validation_json(const std::vector<validation::ValidatedRun>& runs,
                                          const std::string& model_of_time);
[[nodiscard]] std::string leave_one_out_text(const std::vector<validation::LeftOut>& tables);
/// SVG: predicted over measured seconds on logarithmic axes, with the diagonal and a tenth on either side.
[[nodiscard]] std::string validation_picture(const std::vector<validation::ValidatedRun>& runs,
                                             const std::string& title);

/// Rows that count from the largest error down; of equal ones the first.
[[nodiscard]] std::vector<const validation::ValidatedRun*> worst_first(
    const std::vector<validation::ValidatedRun>& runs);
/// "TABLE: why" with the rows that were skipped for it.
[[nodiscard]] std::vector<std::pair<std::string, std::size_t>> reasons_of(
    const std::vector<validation::ValidatedRun>& runs);

/// One line of the generated tables, as in the page (a test looks for it there).
[[nodiscard]] std::string validation_page_line(const validation::Family& family);
/// The generated part of docs/validation.md, of calibrated runs: the worst rows and what was asked for come first.
[[nodiscard]] std::string validation_page(const std::vector<validation::ValidatedRun>& runs,
                                          const std::vector<validation::LeftOut>& left_out);
/// The page with the text between the markers replaced; throws ConfigError if it has none.
[[nodiscard]] std::string with_generated_part(const std::string& page, const std::string& part,
                                              const std::string& file);

}  // namespace lockstep::output
