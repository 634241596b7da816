#pragma once
/// Predicted against measured steps as text, JSON, a picture and a part of docs/validation.md.
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/studies/calibration/own_steps_study.hpp"
#include "sim/studies/validation/ablation.hpp"
#include "sim/studies/validation/leave_one_out.hpp"
#include "sim/studies/validation/measured_collectives.hpp"
#include "sim/studies/validation/published_tables.hpp"
#include "sim/studies/validation/validate.hpp"

namespace lockstep::output {

/// Studies that simulate some of the rows again and again, and what is no step; each may be empty.
struct ValidationStudies {
  std::vector<validation::LeftOut> left_out;
  std::vector<validation::Ablated> ablation;
  std::vector<calibration::OwnSteps> own_steps;
  std::vector<validation::ValidatedCollective> collectives{};
  std::string kept_ablation{}, kept_own_steps{};  ///< sections of the page as it stands, where these are not made anew
};

/// A line for each table (and each family, if asked for), the worst rows, and why rows were skipped.
[[nodiscard]] std::string validation_text(const std::vector<validation::ValidatedRun>& runs, bool families);
[[nodiscard]] std::string validation_json(const std::vector<validation::ValidatedRun>& runs,
                                          const std::string& model_of_time,
                                          const std::vector<validation::ValidatedCollective>& collectives = {});
[[nodiscard]] std::string leave_one_out_text(const std::vector<validation::LeftOut>& tables);
[[nodiscard]] std::string ablation_text(const std::vector<validation::Ablated>& ablated);
/// `given`: steps that each machine was to give. Says why where no machine could.
[[nodiscard]] std::string own_steps_text(const std::vector<calibration::OwnSteps>& studied, int given);
inline constexpr std::string_view ablation_heading = "### Without one effect\n",
                                  own_steps_heading = "### Three steps of one's own\n";
/// The same as sections of the page below these headings; "" for none.
[[nodiscard]] std::string ablation_part(const std::vector<validation::Ablated>& ablated);
[[nodiscard]] std::string own_steps_part(const std::vector<calibration::OwnSteps>& studied);
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
                                          const ValidationStudies& studies);
/// The text between the page's markers; throws ConfigError if it has none.
[[nodiscard]] std::string generated_part(const std::string& page, const std::string& file);
/// The section of a generated part from its heading to the next; "" where it has none.
[[nodiscard]] std::string section_of(const std::string& part, std::string_view heading);
/// The page with the text between the markers replaced; throws ConfigError if it has none.
[[nodiscard]] std::string with_generated_part(const std::string& page, const std::string& part,
                                              const std::string& file);

}  // namespace lockstep::output
