#include "workloads/sharded_layers/muon.hpp"

#include <algorithm>

#include "workloads/sharding/joined_axes.hpp"

namespace lockstep::workloads {
namespace {

constexpr Bytes step_element(2);  // the steps run in bf16

double real(std::int64_t value) { return static_cast<double>(value); }

/// All steps on `count` matrices.
struct Steps {
  double flops = 0;
  double bytes = 0;
};

/// With products of side x side, of which `along` terms each are added up here: X X^T, its square, the product with X.
Steps all_steps(const MuonSpec& spec, std::int64_t count, std::int64_t side, std::int64_t along) {
  const double m = real(side), n = real(along), times = real(count) * spec.steps;
  return {times * (4 * m * m * n + 2 * m * m * m), times * (4 * m * n + 5 * m * m) * real(step_element.value())};
}

Steps whole_steps(const MuonSpec& spec, std::int64_t count, std::int64_t rows, std::int64_t columns) {
  return all_steps(spec, count, std::min(rows, columns), std::max(rows, columns));
}

Bytes bytes_of(double value) { return Bytes(static_cast<std::int64_t>(value)); }

}  // namespace

std::string_view name(MuonSharing sharing) {
  switch (sharing) {
    case MuonSharing::blockwise: return "blockwise";
    case MuonSharing::duplicated: return "duplicated";
    case MuonSharing::distributed: return "distributed";
    case MuonSharing::layer_sharded: return "layer_sharded";
    case MuonSharing::layer_wise: return "layer_wise";
  }
  return "?";
}

Flops newton_schulz_flops(std::int64_t rows, std::int64_t columns) {
  const double small = real(std::min(rows, columns)), large = real(std::max(rows, columns));
  return Flops(4 * small * small * large + 2 * small * small * small);
}

MuonWork muon_work(const MuonSpec& spec, const MuonMatrices& matrices, Bytes moment) {
  MuonWork work;
  if (matrices.count == 0) return work;
  const bool by_owners = matrices.sharing == MuonSharing::layer_wise;
  const auto sharing = by_owners ? spec.tensor : matrices.sharing;
  work.axes = matrices.tensor;
  if (!by_owners) work.axes.insert(work.axes.end(), matrices.zero.begin(), matrices.zero.end());
  const std::int64_t ranks = matrices.tensor_ranks * (by_owners ? 1 : matrices.zero_ranks);
  const double whole = real(moment.value()) * real(matrices.count) * real(matrices.rows) * real(matrices.columns);
  auto steps = whole_steps(spec, matrices.count, matrices.rows, matrices.columns);
  double share = 1;  // of the matrices, on average
  if (by_owners) {
    work.owners = matrices.zero_ranks;
    share = 1 / real(matrices.zero_ranks);
  }
  switch (sharing) {
    case MuonSharing::blockwise:
      steps = whole_steps(spec, matrices.count, matrices.local_rows, matrices.local_columns);
      break;
    case MuonSharing::duplicated:
      if (ranks > 1) work.gathered = bytes_of(whole * share);
      break;
    case MuonSharing::distributed: {
      if (ranks == 1) break;
      // Sums run along the dimension that is split, the larger or not; what they leave all ranks have and square.
      const bool rows = matrices.local_rows < matrices.rows;
      const auto side = rows ? matrices.columns : matrices.rows;
      steps = all_steps(spec, matrices.count, side, rows ? matrices.local_rows : matrices.local_columns);
      work.summed = bytes_of(real(step_element.value()) * real(matrices.count) * real(side) * real(side) * share);
      break;
    }
    case MuonSharing::layer_sharded:
      if (ranks > 1) work.exchanged = bytes_of(whole);
      work.owners = ranks;
      share = 1 / real(ranks);
      break;
    case MuonSharing::layer_wise: break;
  }
  work.flops = Flops(steps.flops * share);
  work.traffic = bytes_of(steps.bytes * share);
  return work;
}

NotShared share(const MuonSpec& spec, MuonMatrices& matrices) {
  const bool split = matrices.zero_ranks > 1;
  const auto usual = !split               ? MuonSharing::duplicated
                     : matrices.scattered ? MuonSharing::layer_sharded
                                          : MuonSharing::layer_wise;
  matrices.sharing = spec.sharing.value_or(usual);
  const auto over = joined(matrices.zero, " and "), copied = joined(matrices.copied, " and ");
  switch (matrices.sharing) {
    case MuonSharing::blockwise:
    case MuonSharing::distributed:
      if (split)
        return {"ZeRO has split the momentum over " + over + " into runs that are no matrices",
                matrices.scattered ? "layer_sharded" : "layer_wise or layer_sharded"};
      break;
    case MuonSharing::layer_wise:
      if (matrices.scattered)
        return {"gradients that ZeRO stages 2 and 3 scatter over " + over + " have no owner",
                "ZeRO stage 1 for " + over + ", or layer_sharded"};
      if (!split && !copied.empty())
        return {"all ranks along " + copied + " keep the momentum of the same matrices, which have no owners",
                "ZeRO stage 1 for " + copied + ", or duplicated"};
      break;
    case MuonSharing::duplicated:
    case MuonSharing::layer_sharded: break;
  }
  return {};
}

}  // namespace lockstep::workloads
