#pragma once
/// Whether a step fits into its chips' memory, and how surely: the one verdict of all commands, `studies::fit_of`. It
/// comes from how far measured peaks lay from predicted ones.
///
/// A step whose peak was measured leaves a residual, measured / predicted. A step that ran without a measured peak, but
/// was predicted to fill most of its memory, leaves an upper one: it needed at most capacity / predicted of the
/// prediction. The band is the interval of the first (conformal_interval.hpp), whose doubt is the least with which
/// bands made without a source hold 80 % of that source's peaks, on the mean over the sources. A row counts
/// 1 / sqrt(rows of its source).
///
/// "Does not fit" is said only of what is too large even at `least`, the 3rd percentile of all residuals, the upper
/// ones (at most 1) among them: of 100 such steps that ran, 97 needed more of their predictions.
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/units.hpp"
#include "sim/studies/conformal_interval.hpp"

namespace lockstep::studies {

inline constexpr double memory_band_share = interval_share;  ///< of measured peaks
inline constexpr double refused_by_mistake = 0.03;
inline constexpr double nearly_full = 0.8;  ///< of the capacity, from which a step that ran says something

/// Validated steps of one table that share model, chip and precision; equal steps count once.
struct MemoryFamily {
  std::string table, name;
  std::vector<double> peaks;  ///< measured / predicted, ascending
  std::vector<double> ran;    ///< capacity / predicted, ascending, of nearly full steps without a measured peak
};
/// Of the CSV that `lockstep validate --memory-errors` writes and the catalog holds. Throws ConfigError with a line for
/// each cell that is no list of ratios.
[[nodiscard]] std::vector<MemoryFamily> read_memory_families(const std::filesystem::path& file);

struct MemoryBand {
  double low = 1, high = 1;  ///< measured / predicted
  double least = 1;
  std::size_t rows = 0, sources = 0;  ///< with measured peaks
};

class MemoryBands {
 public:
  explicit MemoryBands(std::vector<MemoryFamily> families);
  /// None without measured peaks. `without`: a table that is left out.
  [[nodiscard]] std::optional<MemoryBand> band(std::string_view without = "") const;
  /// By table, the share of its measured peaks in the band made without it.
  [[nodiscard]] std::map<std::string, double> coverage_of_tables() const;

 private:
  std::vector<MemoryFamily> families_;
  double doubt_ = 0;
};

enum class Fit { fits, may_not_fit, does_not_fit };  ///< the better ones first
[[nodiscard]] std::string_view name(Fit fit);
/// `may_not_fit`: the peak's band reaches over the capacity, or the predicted peak does, but not at `least`. Without a
/// band the predicted peak decides.
[[nodiscard]] Fit fit_of(Bytes peak, Bytes capacity, const std::optional<MemoryBand>& band);

/// The catalog's band, topologies/catalog/validated_memory.csv; none without that file.
[[nodiscard]] std::optional<MemoryBand> memory_band();
/// With the catalog's band. What does not fit is no answer of a study; what may not fit is one, and is said beside it.
[[nodiscard]] Fit fit_of(Bytes peak, Bytes capacity);

}  // namespace lockstep::studies
