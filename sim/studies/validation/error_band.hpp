#pragma once
/// How far to trust a predicted step: the interval in which 80 % of similar measured steps lay.
///
/// A validated step leaves a residual, measured / predicted. Residuals are pooled by what the software and the chip
/// share: the chip's generation, the method, the width of the precision, and whether the model is so small that its
/// kernels are as short as their launches. The first pool with enough rows is taken:
///
///   generation, method, width   ->   generation, method   ->   method   ->   all
///
/// Only where fewer than least_rows small models were measured in all, or fewer others, are the same pools made of
/// models of any size.
///
/// Rows of one source resemble each other, so a row counts 1 / sqrt(rows of its source). A pool of few sources knows
/// little of the next one: beside them the steps of the same method on other generations and in other widths count as
/// one source more, so that they weigh less the more sources the pool has. The interval is widened by
/// a doubt over the sources of the pool (conformal_interval.hpp): the least with which the pools of a kind, each made
/// without a whole source, hold 80 % of that source's rows, on the mean over sources and generations. Pools
/// of `method` are made without the source's generation too, and pools of all without its method, since they answer
/// for chips and methods that were never measured.
#include <array>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/studies/conformal_interval.hpp"
#include "sim/studies/validation/validate.hpp"

namespace lockstep::validation {

inline constexpr double band_share = studies::interval_share;  ///< of similar measured steps
inline constexpr std::size_t least_rows = 10;                  ///< of a pool
inline constexpr double small_parameters = 1e9;  ///< of a model below which steps are in pools of their own

/// Validated steps of one table that share model, chip and precision.
struct ValidatedFamily {
  StepTraits traits;  ///< chips: the most of its rows; network: their mean
  std::string table;
  std::string name;  ///< "llama-3-70b, H100, bf16"
  std::size_t rows = 0;
  std::vector<double>
      residuals;  ///< measured / predicted, ascending: all of them, or evenly spaced percentiles of many
};

/// Families with rows that count, in their order.
[[nodiscard]] std::vector<ValidatedFamily> validated_families(const std::vector<ValidatedRun>& runs);
/// The families as the CSV that `lockstep validate --errors` writes and the catalog holds.
[[nodiscard]] std::string families_csv(const std::vector<ValidatedFamily>& families);
[[nodiscard]] std::vector<ValidatedFamily> read_families(const std::filesystem::path& file);

/// What the pools of a kind have in common with a step, from the most to the least.
enum class PoolKind { width, method, any_generation, all };
inline constexpr PoolKind all_pool_kinds[] = {PoolKind::width, PoolKind::method, PoolKind::any_generation,
                                              PoolKind::all};

/// What the steps of a pool have in common.
struct InCommon {
  PoolKind kind = PoolKind::all;
  bool size = true;  ///< whether all their models have fewer than small_parameters, or none has
};

/// How measured steps of a pool lie about their predictions, as standard deviations of log(measured / predicted).
struct Scatter {
  double machine = 0;  ///< of a machine's steps together, one source and chip being a machine
  double step = 0;     ///< of a step about the others of its machine
  std::string pool;
  std::size_t machines = 0;
  /// Share of what `steps` steps of a machine are off that is that machine's, not those steps': where a prediction that
  /// has seen them moves to.
  [[nodiscard]] double of_the_machine(int steps) const;
};

/// An interval of a step's time, relative to the predicted one.
struct ErrorBand {
  double low = 1, high = 1;  ///< measured / predicted
  PoolKind kind = PoolKind::all;
  std::string pool;  ///< "hopper, pipeline, 16 bits"
  std::size_t rows = 0, sources = 0;
  /// Steps of one model on one machine whose predictions differ by a smaller factor cannot be told apart: 80 % of the
  /// pairs that were measured so are off by less, one against the other. None where the pool has no such pairs.
  std::optional<double> apart;
  /// Why the interval is wider than that of the pool; empty if the step lies within what was measured.
  std::vector<std::string> widened;
};

class ErrorBands {
 public:
  explicit ErrorBands(std::vector<ValidatedFamily> families);

  /// None without any validated step.
  [[nodiscard]] std::optional<ErrorBand> of(const StepTraits& traits) const { return of(traits, ""); }
  /// That of the pool in which `of` puts the step.
  [[nodiscard]] std::optional<Scatter> scatter(const StepTraits& traits) const;
  /// How many rows lie in an interval.
  struct Held {
    double rows = 0;
    double inside = 0;    ///< of the rows, in the interval of their pool
    double left_out = 0;  ///< of the rows, in the interval that is made without their source
    Held& operator+=(const Held& other);
  };
  /// A pool, and the validated steps that take their band from it.
  struct Coverage {
    ErrorBand band;
    std::map<std::string, Held> of_tables;
    [[nodiscard]] Held all() const;
  };
  /// In order of the pools' rows, the most first.
  [[nodiscard]] std::vector<Coverage> coverage() const;
  /// By how much intervals of one source are widened, less 1.
  [[nodiscard]] double doubt(PoolKind kind) const { return doubts_[static_cast<std::size_t>(kind)]; }

 private:
  struct Found {
    std::vector<const ValidatedFamily*> families;
    InCommon in_common;
  };
  [[nodiscard]] Found pool_of(const StepTraits& traits, std::string_view without_source) const;
  [[nodiscard]] std::optional<ErrorBand> of(const StepTraits& traits, std::string_view without_source) const;

  std::vector<ValidatedFamily> families_;
  std::array<double, 4> doubts_{};
};

/// The families as they would lie about predictions to which `steps` other steps of their machine had been given: each
/// row less the part of some others' mean that is the machine's (Scatter), drawn several times.
[[nodiscard]] std::vector<ValidatedFamily> after_own_steps(const std::vector<ValidatedFamily>& families, int steps);
/// The bands of a machine to whose steps the chip's `sustained` was fitted (`own_steps`; 0: of none).
[[nodiscard]] ErrorBands bands_after_own_steps(const std::vector<ValidatedFamily>& families, int steps);

/// The band of a step under `model_of_time: calibrated`, from the catalog's families; none under other models, which
/// are bounds and not predictions. `exposed_share`: that of the simulated step, as StepTraits::network.
[[nodiscard]] std::optional<ErrorBand> error_band(const scenario::Scenario& scenario, double exposed_share);
/// The same of a simulated step; it contains what the step takes under other seeds of a hashed network.
[[nodiscard]] std::optional<ErrorBand> error_band(const scenario::Scenario& scenario, const Simulation& simulation);

}  // namespace lockstep::validation
