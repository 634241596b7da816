#pragma once
/// The two programs that lockstep-mpi is. Each returns the exit code.
#include <spdlog/fwd.h>

namespace lockstep::mpi {

[[nodiscard]] int sweep_program(int argc, char** argv, spdlog::logger& log);
[[nodiscard]] int plan_program(int argc, char** argv, spdlog::logger& log);

}  // namespace lockstep::mpi
