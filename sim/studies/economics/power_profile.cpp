#include "sim/studies/economics/power_profile.hpp"

#include <algorithm>
#include <cmath>

namespace lockstep::economics {
namespace {

constexpr int windows_of_step = 1000;

/// Adds the energy of a piece of simulated time to the windows that it lies in.
void add_energy(std::vector<double>& joules, double window, double start, double length, double watts) {
  const auto last = static_cast<int>(joules.size()) - 1;
  auto at = std::min(static_cast<int>(start / window), last);
  const double end = start + length;
  for (double from = start; from < end; ++at) {
    const double until = at == last ? end : std::min(end, (at + 1) * window);
    if (until > from) joules[position_of(at)] += (until - from) * watts;
    from = std::max(from, until);
  }
}

}  // namespace

PowerProfile power_over_step(const Simulation& simulation, const Indexed<topologies::ChipKindId, ChipPower>& power) {
  const auto& timeline = simulation.run.timeline;
  const auto& repetition = timeline.repetition();
  PowerProfile profile;
  const double length = timeline.simulated_makespan().value();
  if (length <= 0) return profile;
  const double window = length / windows_of_step;
  std::vector<double> joules(windows_of_step, 0.0);
  double chip_seconds = 0, computing = 0, communicating = 0;
  for (topologies::RankId lane = 0; lane < simulation.program.ranks(); ++lane) {
    const double chips = simulation.ranks.size[lane];
    const auto& of_chip = power[simulation.program.chip_of(lane)];
    profile.idle += of_chip.idle * chips;
    const metrics::RankPieces pieces(simulation.program, timeline, lane);
    for (const auto& piece : pieces.pieces) {
      const bool talks = !piece.computing && piece.first >= 0;
      const auto watts = piece.computing ? of_chip.compute : talks ? of_chip.communicate : of_chip.idle;
      add_energy(joules, window, piece.start, piece.length, watts.value() * chips);
      const double seconds =
          chips * repetition.in_step({Seconds(piece.start), Seconds(piece.start + piece.length)}).value();
      profile.step += watts * Seconds(seconds);
      chip_seconds += seconds;
      if (piece.computing) computing += seconds;
      if (talks) communicating += seconds;
    }
  }
  profile.computing = computing / chip_seconds;
  profile.communicating = communicating / chip_seconds;
  profile.mean = profile.step / timeline.makespan();
  profile.least = Watts(HUGE_VAL);
  for (int i = 0; i < windows_of_step; ++i) {
    const Seconds start(i * window), end(i + 1 == windows_of_step ? length : (i + 1) * window);
    const Watts mean(joules[position_of(i)] / (end - start).value());
    profile.windows.push_back({start, end, repetition.in_step({start, end}), mean});
    profile.least = std::min(profile.least, mean);
    profile.most = std::max(profile.most, mean);
  }
  return profile;
}

}  // namespace lockstep::economics
