// The lockstep program. Exit 0: done; tools/output/files/exit_code.hpp has the others.
#include <malloc.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>

#include "tools/commands/command_line.hpp"
#include "tools/commands/commands.hpp"
#include "tools/output/files/exit_code.hpp"
#include "tools/output/files/new_file.hpp"

constexpr int growth_of_the_heap = 16 << 20;

/// Memory that is freed will be asked for again in a moment: giving it back to the system in between takes a tenth of a
/// short run. Only large arrays go back at once, since what a search keeps between them would leave gaps in the heap
/// that the arrays of the next step do not fit into: a search for a plan then takes half as much memory again.
void keep_freed_memory() {
  ::mallopt(M_MMAP_THRESHOLD, 2 << 20);
  ::mallopt(M_TRIM_THRESHOLD, 64 << 20);
  ::mallopt(M_TOP_PAD, growth_of_the_heap);
}

/// Asks for large pages for the first part of the heap: a fault for every 4 KiB takes a fifth of a short run. The
/// system may say no, and takes none of this memory before it is used. To be called after keep_freed_memory.
void use_large_pages() {
  constexpr int first_part = 64 << 20;
  constexpr std::uintptr_t page = 2 << 20;
  const auto before = reinterpret_cast<std::uintptr_t>(::sbrk(0));
  ::mallopt(M_TOP_PAD, first_part);
  void* volatile grown = std::malloc(page);  // the heap grows by the first part; volatile, or this would be left out
  std::free(grown);
  ::mallopt(M_TOP_PAD, growth_of_the_heap);
  const auto begin = (before + page - 1) / page * page, end = reinterpret_cast<std::uintptr_t>(::sbrk(0));
  if (end > begin) ::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE);
}

int main(int argc, char** argv) {
  keep_freed_memory();
  use_large_pages();
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
