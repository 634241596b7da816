#include "sim/studies/validation/error_band.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "sim/studies/conformal_interval.hpp"
#include "sim/studies/validation/scatter_private.hpp"

namespace lockstep::validation {
namespace {

using studies::ResidualInterval;
using studies::WeightedResidual;

/// Time that a step may lose for each doubling of chips beyond what was measured. MaxText's runs on 1 to 32 slices of
/// TPU v5e lose 2 to 4 % for each doubling of slices, none of which the simulation shows.
constexpr double loss_of_a_doubling = 0.04;
constexpr double weight_of_neighbours = 1;  ///< all of them together, in sources of the pool's mean weight

int bits_of(topologies::Precision precision) {
  const bool four = precision == topologies::Precision::fp4 || precision == topologies::Precision::nvfp4;
  return four ? 4 : static_cast<int>(8 * element_size(precision).value());
}
bool is_small(const StepTraits& traits) { return traits.parameters < small_parameters; }

/// Whether a step of these traits is in that pool for the other.
bool pooled(const InCommon& in_common, const StepTraits& one, const StepTraits& other) {
  const auto kind = in_common.kind;
  if (in_common.size && is_small(one) != is_small(other)) return false;
  if (kind == PoolKind::all) return true;
  if (one.method != other.method) return false;
  if (kind == PoolKind::any_generation) return true;
  if (one.generation != other.generation) return false;
  return kind == PoolKind::method || bits_of(one.precision) == bits_of(other.precision);
}

using Pool = std::vector<const ValidatedFamily*>;

std::size_t rows_of(const Pool& pool) {
  std::size_t rows = 0;
  for (const auto* family : pool) rows += family->rows;
  return rows;
}

std::size_t sources_of(const Pool& pool) {
  std::set<std::string_view> sources;
  for (const auto* family : pool) sources.insert(family->table);
  return sources.size();
}

/// A pool, and steps of the same method that it leaves out, which stand for what its few sources do not know.
struct Neighbourhood {
  Pool pool, others;
};

/// Families of the same method that are not in the pool.
Pool neighbours(const std::vector<ValidatedFamily>& families, const InCommon& pool, const StepTraits& traits,
                std::string_view without_source) {
  Pool others;
  if (pool.kind != PoolKind::width && pool.kind != PoolKind::method) return others;
  for (const auto& family : families) {
    if (family.table != without_source && pooled({PoolKind::any_generation, pool.size}, family.traits, traits) &&
        !pooled(pool, family.traits, traits))
      others.push_back(&family);
  }
  return others;
}

/// What a pool's rows say, each with its weight.
struct PoolResiduals {
  std::vector<WeightedResidual> each;
  double weight = 0, sources = 0;  ///< of all of them together
};

PoolResiduals residuals_of(const Pool& pool) {
  std::map<std::string_view, double> of_source;
  for (const auto* family : pool) of_source[family->table] += static_cast<double>(family->rows);
  PoolResiduals made;
  for (const auto* family : pool) {
    const double weight = static_cast<double>(family->rows) / static_cast<double>(family->residuals.size()) /
                          std::sqrt(of_source[family->table]);
    for (const double residual : family->residuals) made.each.push_back({std::log(residual), weight});
    made.weight += weight * static_cast<double>(family->residuals.size());
  }
  made.sources = static_cast<double>(of_source.size());
  return made;
}

ResidualInterval interval_of(const Neighbourhood& of) {
  auto made = residuals_of(of.pool);
  if (const auto others = residuals_of(of.others); others.weight > 0) {
    const double share = made.weight / made.sources * weight_of_neighbours / others.weight;
    for (const auto& [residual, weight] : others.each) made.each.push_back({residual, weight * share});
  }
  return studies::interval_of(made.each);
}

/// The factor by which `band_share` of the pairs of one family are off, one against the other.
std::optional<double> apart_in(const Pool& pool) {
  std::vector<std::pair<double, double>> weighted;  // difference and weight
  double sum = 0;
  for (const auto* family : pool) {
    const auto& residuals = family->residuals;
    const auto count = static_cast<double>(residuals.size());
    for (std::size_t i = 0; i < residuals.size(); ++i) {
      for (std::size_t k = 0; k < i; ++k) {
        const double weight = std::sqrt(static_cast<double>(family->rows)) / (count * (count - 1) / 2);
        weighted.emplace_back(std::log(residuals[i] / residuals[k]), weight);
        sum += weight;
      }
    }
  }
  std::sort(weighted.begin(), weighted.end());
  double below = 0;
  for (const auto& [difference, weight] : weighted) {
    below += weight;
    if (below >= band_share * sum) return std::exp(difference);
  }
  return {};
}

/// Families that make the pool of a family when its source is left out, and with it what pools of that kind have to
/// answer for.
Pool left_out_pool(const std::vector<ValidatedFamily>& families, PoolKind kind, const ValidatedFamily& of) {
  Pool pool;
  for (const auto& family : families) {
    const bool other_generation = family.traits.generation != of.traits.generation;
    const bool other_method = family.traits.method != of.traits.method;
    if (family.table != of.table && pooled({kind}, family.traits, of.traits) &&
        (kind != PoolKind::any_generation || other_generation) && (kind != PoolKind::all || other_method))
      pool.push_back(&family);
  }
  return pool;
}

struct Share {
  double held = 0, rows = 0;
};

/// A family and the interval of its pool without its own source, before it is widened.
struct LeftOut {
  const ValidatedFamily* family;
  ResidualInterval interval;
  std::size_t sources;  ///< that the interval is made of
};

/// Every family whose pool has enough rows of other sources.
std::vector<LeftOut> left_out_intervals(const std::vector<ValidatedFamily>& families, PoolKind kind) {
  std::vector<LeftOut> made;
  using Made = std::pair<ResidualInterval, std::size_t>;
  std::map<std::tuple<std::string_view, std::string_view, Method, int, bool>, Made> known;  // by what makes the pool
  for (const auto& family : families) {
    const auto& traits = family.traits;
    const std::tuple key(std::string_view(family.table), std::string_view(traits.generation), traits.method,
                         bits_of(traits.precision), is_small(traits));
    auto found = known.find(key);
    if (found == known.end()) {
      const Neighbourhood of{left_out_pool(families, kind, family),
                             neighbours(families, {kind}, family.traits, family.table)};
      if (rows_of(of.pool) < least_rows) continue;
      found = known.emplace(key, Made{interval_of(of), sources_of(of.pool)}).first;
    }
    made.push_back({&family, found->second.first, found->second.second});
  }
  return made;
}

/// The share of the rows of a source on one generation that these intervals hold, the mean over all of these.
double mean_share(const std::vector<LeftOut>& left_out, double doubt) {
  std::map<std::pair<std::string_view, std::string_view>, Share> machines;
  for (const auto& [family, interval, sources] : left_out) {
    const auto wide = interval.widened(doubt, sources);
    auto& source = machines[{family->table, family->traits.generation}];
    const double each = static_cast<double>(family->rows) / static_cast<double>(family->residuals.size());
    for (const double residual : family->residuals) source.held += wide.holds(std::log(residual)) ? each : 0;
    source.rows += static_cast<double>(family->rows);
  }
  double sum = 0;
  for (const auto& [machine, share] : machines) sum += share.held / share.rows;
  return sum / static_cast<double>(machines.size());
}

/// 0 without sources that can be left out.
double doubt_of(const std::vector<LeftOut>& left_out) {
  if (left_out.empty()) return 0;
  return studies::least_doubt([&](double doubt) { return mean_share(left_out, doubt); });
}

std::string percents(double share) { return std::to_string(std::lround(100 * share)) + " %"; }

std::string name_of(const InCommon& in_common, const StepTraits& traits) {
  const auto kind = in_common.kind;
  std::string text;
  if (kind == PoolKind::width || kind == PoolKind::method) text = traits.generation + ", ";
  text += kind == PoolKind::all ? "all methods" : std::string(name(traits.method));
  if (kind == PoolKind::width) text += ", " + std::to_string(bits_of(traits.precision)) + " bits";
  if (!in_common.size) return text + ", models of any size";
  return text + (is_small(traits) ? ", models below 1e9 parameters" : "");
}

}  // namespace

ErrorBands::ErrorBands(std::vector<ValidatedFamily> families) : families_(std::move(families)) {
  for (const auto kind : all_pool_kinds) {
    auto& doubt = doubts_[static_cast<std::size_t>(kind)];
    doubt = doubt_of(left_out_intervals(families_, kind));
    // A pool that knows less is not trusted more.
    if (kind != PoolKind::width) doubt = std::max(doubt, doubts_[static_cast<std::size_t>(kind) - 1]);
  }
}

ErrorBands::Found ErrorBands::pool_of(const StepTraits& traits, std::string_view without_source) const {
  Found found;
  for (const bool size : {true, false}) {
    for (const auto kind : all_pool_kinds) {
      found.in_common = {kind, size};
      found.families.clear();
      for (const auto& family : families_) {
        if (family.table != without_source && pooled(found.in_common, family.traits, traits))
          found.families.push_back(&family);
      }
      if (rows_of(found.families) >= least_rows) return found;
    }
  }
  return found;
}

std::optional<Scatter> ErrorBands::scatter(const StepTraits& traits) const {
  const auto [pool, in_common] = pool_of(traits, "");
  if (pool.empty()) return {};
  auto scatter = scatter_of(pool);
  scatter.pool = name_of(in_common, traits);
  return scatter;
}

std::optional<ErrorBand> ErrorBands::of(const StepTraits& traits, std::string_view without_source) const {
  const auto [pool, in_common] = pool_of(traits, without_source);
  if (pool.empty()) return {};
  const auto kind = in_common.kind;
  ErrorBand band;
  band.kind = kind;
  band.pool = name_of(in_common, traits);
  band.rows = rows_of(pool);
  std::int64_t most_chips = 0;
  double most_network = 0;
  for (const auto* family : pool) {
    most_chips = std::max(most_chips, family->traits.chips);
    most_network = std::max(most_network, family->traits.network);
  }
  band.sources = sources_of(pool);
  const Neighbourhood near{pool, neighbours(families_, in_common, traits, without_source)};
  auto interval = interval_of(near).widened(doubt(kind), band.sources);
  if (traits.chips > 2 * most_chips) {
    interval.high +=
        std::log1p(loss_of_a_doubling) * std::log2(static_cast<double>(traits.chips) / static_cast<double>(most_chips));
    band.widened.push_back("more chips than the " + std::to_string(most_chips) + " measured");
  }
  if (traits.network > most_network + 0.05) {
    // What the step waits for its network beyond any measured step may take twice as long.
    interval.high += std::log1p(traits.network - most_network);
    band.widened.push_back("waits for its network for " + percents(traits.network) +
                           " of the step, measured ones up to " + percents(most_network));
  }
  const bool known = std::any_of(families_.begin(), families_.end(), [&](const ValidatedFamily& family) {
    return family.traits.generation == traits.generation;
  });
  if (!known) {
    band.widened.push_back("no step on " + traits.generation + " was ever measured");
  } else if (kind == PoolKind::any_generation) {
    band.widened.push_back("no " + traits.generation + " was measured so");
  }
  if (kind == PoolKind::all) band.widened.push_back("nothing like it was measured");
  band.apart = apart_in(pool);
  band.low = std::exp(interval.low);
  band.high = std::exp(interval.high);
  return band;
}

ErrorBands::Held& ErrorBands::Held::operator+=(const Held& other) {
  rows += other.rows;
  inside += other.inside;
  left_out += other.left_out;
  return *this;
}

ErrorBands::Held ErrorBands::Coverage::all() const {
  Held sum;
  for (const auto& [table, held] : of_tables) sum += held;
  return sum;
}

std::vector<ErrorBands::Coverage> ErrorBands::coverage() const {
  std::map<std::string, Coverage> pools;
  for (const auto& family : families_) {
    auto traits = family.traits;
    traits.chips = 0;  // the interval of the pool itself
    traits.network = 0;
    const auto own = of(traits), without = of(traits, family.table);
    auto& pool = pools[own->pool];
    pool.band = *own;
    auto& held = pool.of_tables[family.table];
    const double each = static_cast<double>(family.rows) / static_cast<double>(family.residuals.size());
    for (const double residual : family.residuals) {
      held.inside += own->low <= residual && residual <= own->high ? each : 0;
      held.left_out += without && without->low <= residual && residual <= without->high ? each : 0;
    }
    held.rows += static_cast<double>(family.rows);
  }
  std::vector<Coverage> made;
  for (auto& [name, pool] : pools) made.push_back(std::move(pool));
  std::stable_sort(made.begin(), made.end(),
                   [](const Coverage& one, const Coverage& other) { return one.band.rows > other.band.rows; });
  return made;
}

}  // namespace lockstep::validation
