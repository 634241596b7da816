#pragma once
/// The verdict whether a step fits into its chips' memory (studies::fit_of) in text and JSON, the same words
/// everywhere.
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "sim/studies/memory_fit.hpp"

namespace lockstep::output {

/// "(fits, 5.00 GB to spare)", "DOES NOT FIT, 19.4 GB too much", "MAY NOT FIT: 80 % of measured peaks lay between 76.0
/// and 88.0 GB where this was predicted".
[[nodiscard]] std::string memory_verdict(Bytes peak, Bytes capacity);
/// "fits", "MAY NOT FIT" or "DOES NOT FIT".
[[nodiscard]] std::string fit_words(studies::Fit fit);
/// "DOES NOT FIT", "MAY NOT FIT" or nothing.
[[nodiscard]] std::string unfit_words(studies::Fit fit);
/// The cell of a table: "76.0 GB", "76.0 GB, MAY NOT FIT".
[[nodiscard]] std::string peak_text(Bytes peak, Bytes capacity);
/// The keys `fits` and `verdict`; nulls where memory is not known.
[[nodiscard]] nlohmann::ordered_json fit_json(std::optional<studies::Fit> fit);
/// "80 % of measured peaks lay between ... where this was predicted"; empty without a band.
[[nodiscard]] std::string peak_band_text(Bytes peak);
/// The keys of docs/json.md's `memory.peak_band`; null without a band.
[[nodiscard]] nlohmann::ordered_json peak_band_json(Bytes peak);

}  // namespace lockstep::output
