#pragma once
/// All flows of a program, communicator by communicator and group by group: the order in which classes number them.
#include "sim/program/program.hpp"

namespace lockstep::program {

template <class Visit>
void for_each_flow(const Program& program, Visit visit) {
  for (const auto& communicator : program.communicators) {
    for (const auto& group : communicator.groups) {
      for (const auto& flow : group.flows) visit(flow);
    }
  }
}

}  // namespace lockstep::program
