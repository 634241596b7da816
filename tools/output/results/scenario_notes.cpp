#include "tools/output/results/scenario_notes.hpp"

#include "topologies/torus/torus.hpp"

namespace lockstep::output {

std::vector<std::string> notes_of(const scenario::Scenario& scenario) {
  std::vector<std::string> notes;
  if (const auto* torus = scenario.cluster.torus()) {
    if (auto note = slice_note(*torus); !note.empty()) notes.push_back(std::move(note));
  }
  if (!scenario.time_model_chosen && !scenario.replay && scenario.time_model == cost::TimeModel::ideal) {
    std::string chips;
    for (const auto& chip : scenario.cluster.chips()) {
      if (cost::unmeasured_precision(chip, scenario.training.precision))
        chips += (chips.empty() ? "" : " and ") + chip.name;
    }
    notes.push_back("compute takes the rates of the data sheet, since the kernels of " + chips +
                    " have not been measured in " + std::string(name(scenario.training.precision)) +
                    "; a real step takes longer");
  }
  if (scenario.cluster.chips().count() > 1)
    notes.emplace_back(
        "nodes of several kinds: utilisation is of the sum of their peaks, and the communication library "
        "is as slow as on the slowest kind");
  return notes;
}

std::string note_lines(const scenario::Scenario& scenario) {
  std::string text;
  for (const auto& note : notes_of(scenario)) text += "note: " + note + "\n";
  return text;
}

}  // namespace lockstep::output
