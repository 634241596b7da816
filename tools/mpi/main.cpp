// lockstep-mpi: a sweep, or the search for a plan, over the ranks of an MPI job.
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <string_view>

#include "tools/mpi/programs.hpp"
#include "tools/output/files/exit_code.hpp"

int main(int argc, char** argv) {
  spdlog::logger log("lockstep-mpi", std::make_shared<spdlog::sinks::stderr_sink_mt>());
  log.set_level(spdlog::level::warn);
  const bool plans = argc > 1 && std::string_view(argv[1]) == "plan";
  try {
    return plans ? lockstep::mpi::plan_program(argc, argv, log) : lockstep::mpi::sweep_program(argc, argv, log);
  } catch (...) {
    return lockstep::output::exit_code_of_error("lockstep-mpi");
  }
}
