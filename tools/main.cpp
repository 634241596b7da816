// The lockstep program. Exit 0: done; tools/output/files/exit_code.hpp has the others.
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <memory>
#include <string>

#include "tools/commands/command_line.hpp"
#include "tools/commands/commands.hpp"
#include "tools/commands/program_memory.hpp"
#include "tools/output/files/exit_code.hpp"
#include "tools/output/files/new_file.hpp"

int main(int argc, char** argv) {
  lockstep::commands::keep_freed_memory();
  lockstep::commands::use_large_pages();
  lockstep::output::survive_file_size_limit();
  spdlog::logger log("lockstep", std::make_shared<spdlog::sinks::stderr_sink_mt>());
  log.set_level(spdlog::level::warn);

  lockstep::commands::CommandLine line("Lockstep simulates one training step of a sharded Transformer on a cluster.",
                                       "lockstep");
  line.version("lockstep " LOCKSTEP_VERSION);
  line.program().footer(
      "Examples:\n  lockstep plan llama-3-70b --cluster h100:8 --batch-tokens 4M --sequence-length 8192\n"
      "  lockstep run scenarios/llama3-70b-v5p.yaml --out out/llama3-70b\n"
      "  lockstep collective all_gather --cluster tpu-v5p:4x4x4 --group x --bytes 1MiB..1GiB\n"
      "Each command has its own --help.");
  line.flag(
      "-v,--verbose", [&] { log.set_level(spdlog::level::debug); }, "log the stages of the work to stderr");
  lockstep::commands::add_run(line, log);
  lockstep::commands::add_plan(line, log);
  lockstep::commands::add_explore(line, log);
  lockstep::commands::add_compare(line, log);
  lockstep::commands::add_sweep(line, log);
  lockstep::commands::add_merge(line);
  lockstep::commands::add_check(line, log);
  lockstep::commands::add_init(line, log);
  lockstep::commands::add_list(line);
  lockstep::commands::add_model(line);
  lockstep::commands::add_goodput(line, log);
  lockstep::commands::add_cost(line, log);
  lockstep::commands::add_design(line, log);
  lockstep::commands::add_collective(line, log);
  lockstep::commands::add_faults(line, log);
  lockstep::commands::add_jobs(line, log);
  lockstep::commands::add_rl(line, log);
  lockstep::commands::add_roofline(line, log);
  lockstep::commands::add_schedule(line);
  lockstep::commands::add_import(line);
  lockstep::commands::add_replay(line, log);
  lockstep::commands::add_validate(line, log);
  lockstep::commands::add_calibrate(line, log);
  lockstep::commands::add_schema(line);
  lockstep::commands::add_completion(line);
  lockstep::commands::add_manual(line, LOCKSTEP_VERSION);
  try {
    return line.run(argc, argv).value_or(0);
  } catch (...) {
    return lockstep::output::exit_code_of_error("lockstep");
  }
}
