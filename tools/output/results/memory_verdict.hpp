#pragma once
/// Whether a step fits into its chips' memory, and how surely (validation::memory_band), in text and JSON.
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "sim/studies/validation/memory_band.hpp"

namespace lockstep::output {

/// With the catalog's band.
[[nodiscard]] validation::Fit fit_of(Bytes peak, Bytes capacity);
/// "(fits, 5.00 GB to spare)", "DOES NOT FIT, 19.4 GB too much", "MAY NOT FIT: 80 % of measured peaks lay between 76.0
/// and 88.0 GB where this was predicted".
[[nodiscard]] std::string memory_verdict(Bytes peak, Bytes capacity);
/// "DOES NOT FIT", "MAY NOT FIT" or nothing.
[[nodiscard]] std::string unfit_words(Bytes peak, Bytes capacity);
/// "80 % of measured peaks lay between ... where this was predicted"; empty without a band.
[[nodiscard]] std::string peak_band_text(Bytes peak);
/// The keys of docs/json.md's `memory.peak_band`; null without a band.
[[nodiscard]] nlohmann::ordered_json peak_band_json(Bytes peak);

}  // namespace lockstep::output
