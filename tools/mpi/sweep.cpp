// A sweep over the ranks: rank 0 hands out points and is the one who writes the database.
#include <spdlog/spdlog.h>

#include <algorithm>
#include <optional>

#include "sim/core/errors.hpp"
#include "tools/commands/engine_option.hpp"
#include "tools/mpi/helper.hpp"
#include "tools/mpi/job.hpp"
#include "tools/mpi/points.hpp"
#include "tools/mpi/programs.hpp"
#include "tools/output/elements/answer.hpp"
#include "tools/output/files/file.hpp"
#include "tools/sweep/progress.hpp"
#include "tools/sweep/summary.hpp"

namespace lockstep::mpi {
namespace {

constexpr std::size_t most_points_at_once = 8;

struct Arguments {
  std::string file, db, engine = "max_min";
  bool keep_results = false, retry = false;
};

/// A worker that sends rows, none at first, gets points; none: it is done.
void hand_out(const sweep::Sweep& sweep, const Arguments& arguments, int workers) {
  sweep::SweepStore store(arguments.db, header_of(sweep));
  if (arguments.retry) store.forget_failures();
  const auto points = points_to_do(sweep, store, {});
  sweep::SweepProgressLine line;
  std::size_t next = 0, done = 0;
  try {
    for (int working = workers; working > 0;) {
      const auto [from, rows] = received();
      for (const auto& [point, result] : rows_in(rows)) {
        store.add(sweep, point, result);
        line.point(++done, points.size(), result.status);
      }
      const auto left = points.size() - next;
      const auto count = std::min(
          {left, most_points_at_once, left / (2 * static_cast<std::size_t>(workers)) + 1});  // small ones at the end
      send(from, text_of(std::span(points).subspan(next, count)));
      next += count;
      if (count == 0) --working;
    }
    store.finish();
  } catch (const output::OutOfRoom& error) {
    throw output::OutOfRoom(arguments.db + ": " + error.what() + "; " + std::to_string(store.stored()) +
                            " points are stored: make room and run the same command again");
  }
  line.clear();
  output::Answer answer;
  answer.add(arguments.db);
  answer.print(sweep_summary(store.database(), header_of(sweep), arguments.db));
}

void work(Helper& helper) {
  std::string rows;
  for (;;) {
    send(0, rows);
    const auto points = received_from_leader();
    if (points.empty()) return;
    rows = helper.ask(points);
  }
}

int sweep_over_ranks(const Arguments& arguments, int& argc, char**& argv, spdlog::logger& log) {
  std::optional<sweep::Sweep> sweep;
  std::exception_ptr refused;  // told by one rank only
  try {
    sweep = sweep::load_sweep(arguments.file);
  } catch (const ConfigError&) {
    refused = std::current_exception();
  }
  sweep::SweepOptions options;
  options.engine = engine::engine_named(arguments.engine);
  options.keep_results = arguments.keep_results;
  std::optional<Helper> helper;
  if (sweep) helper.emplace([&](std::string_view points) { return rows_of(points, *sweep, options, log); });
  return run_job(
      argc, argv, refused, [&](int followers) { hand_out(*sweep, arguments, followers); }, [&] { work(*helper); });
}

}  // namespace

int sweep_program(int argc, char** argv, spdlog::logger& log) {
  Arguments arguments;
  commands::CommandLine line("A lockstep sweep or `plan` over the ranks of an MPI job.", "lockstep-mpi");
  auto program = line.program();
  program.option("file", arguments.file, "sweep file (YAML); `plan` and a scenario: see lockstep-mpi plan --help")
      .required();
  program.option("--db", arguments.db, "the database, made or resumed").required();
  commands::add_engine_option(program, arguments.engine);
  program.flag("--keep-results", arguments.keep_results, "also keep result.json of every point in the database");
  program.flag("--retry", arguments.retry, "run points that failed or crashed once more");
  program.footer(
      "Examples:\n  mpirun -n 64 lockstep-mpi sweep.yaml --db sweep.db\n  mpirun -n 64 lockstep-mpi plan "
      "scenario.yaml");
  if (const auto code = line.run(argc, argv)) return *code;
  return sweep_over_ranks(arguments, argc, argv, log);
}

}  // namespace lockstep::mpi
