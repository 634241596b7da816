// lockstep-mpi: a sweep over the ranks of an MPI job. Rank 0 hands out points and is the one who writes the database.
#include <mpi.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <optional>

#include "sim/core/errors.hpp"
#include "tools/commands/engine_option.hpp"
#include "tools/mpi/helper.hpp"
#include "tools/output/exit_code.hpp"
#include "tools/output/file.hpp"
#include "tools/sweep/progress.hpp"
#include "tools/sweep/summary.hpp"

namespace lockstep::mpi {
namespace {

constexpr int rows_tag = 1, points_tag = 2;
constexpr std::size_t most_points_at_once = 8;

struct Arguments {
  std::string file, db, engine = "max_min";
  bool keep_results = false, retry = false;
};

std::string received_rows(int& from) {
  int ready = 0;
  MPI_Status status;
  while (true) {  // a waiting MPI_Probe would take a core
    MPI_Iprobe(MPI_ANY_SOURCE, rows_tag, MPI_COMM_WORLD, &ready, &status);
    if (ready != 0) break;
    ::usleep(200);
  }
  int size = 0;
  MPI_Get_count(&status, MPI_BYTE, &size);
  std::string rows(static_cast<std::size_t>(size), '\0');
  from = status.MPI_SOURCE;
  MPI_Recv(rows.data(), size, MPI_BYTE, from, rows_tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  return rows;
}

/// A worker that sends rows, none at first, gets points; none: it is done.
void hand_out(const sweep::Sweep& sweep, const Arguments& arguments, int workers) {
  sweep::SweepStore store(arguments.db, header_of(sweep));
  if (arguments.retry) store.forget_failures();
  const auto points = points_to_do(sweep, store, {});
  sweep::SweepProgressLine line;
  std::size_t next = 0, done = 0;
  try {
    for (int working = workers; working > 0;) {
      int from = 0;
      for (const auto& [point, result] : rows_in(received_rows(from))) {
        store.add(sweep, point, result);
        line.point(++done, points.size(), result.status);
      }
      const auto left = points.size() - next;
      const auto count = std::min(
          {left, most_points_at_once, left / (2 * static_cast<std::size_t>(workers)) + 1});  // small ones at the end
      MPI_Send(points.data() + next, static_cast<int>(count), MPI_INT64_T, from, points_tag, MPI_COMM_WORLD);
      next += count;
      if (count == 0) --working;
    }
    store.finish();
  } catch (const output::OutOfRoom& error) {
    throw output::OutOfRoom(arguments.db + ": " + error.what() + "; " + std::to_string(store.stored()) +
                            " points are stored: make room and run the same command again");
  }
  line.clear();
  const auto text = sweep_summary(store.database(), header_of(sweep), arguments.db);
  output::print(text);
}

void work(PointHelper& helper) {
  std::vector<std::int64_t> points;
  std::string rows;
  do {
    MPI_Send(rows.data(), static_cast<int>(rows.size()), MPI_BYTE, 0, rows_tag, MPI_COMM_WORLD);
    MPI_Status status;
    int count = 0;
    MPI_Probe(0, points_tag, MPI_COMM_WORLD, &status);
    MPI_Get_count(&status, MPI_INT64_T, &count);
    points.resize(static_cast<std::size_t>(count));
    MPI_Recv(points.data(), count, MPI_INT64_T, 0, points_tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (!points.empty()) rows = helper.simulate(points);
  } while (!points.empty());
}

/// The exit code; what is wrong goes to stderr.
template <class Do>
int guarded(Do work) {
  try {
    work();
    return 0;
  } catch (...) {
    return output::exit_code_of_error("lockstep-mpi");
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
  std::optional<PointHelper> helper;
  if (sweep) helper.emplace(*sweep, options, log);

  MPI_Init(&argc, &argv);
  int rank = 0, ranks = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  int code = 2;
  if (refused || ranks < 2) {  // all ranks find the same
    if (rank == 0) {
      code = guarded([&] {
        if (refused) std::rethrow_exception(refused);
        throw ConfigError({{{"lockstep-mpi", 0, 0},
                            "",
                            "there is one rank only",
                            "two or more: rank 0 hands out the points, such as mpirun -n 4"}});
      });
    }
  } else {
    code = guarded([&] { rank == 0 ? hand_out(*sweep, arguments, ranks - 1) : work(*helper); });
    if (code != 0) MPI_Abort(MPI_COMM_WORLD, code);
  }
  MPI_Finalize();
  return code;
}

}  // namespace
}  // namespace lockstep::mpi

int main(int argc, char** argv) {
  spdlog::logger log("lockstep-mpi", std::make_shared<spdlog::sinks::stderr_sink_mt>());
  log.set_level(spdlog::level::warn);
  lockstep::mpi::Arguments arguments;
  lockstep::commands::CommandLine line("A lockstep sweep over the ranks of an MPI job.", "lockstep-mpi");
  auto program = line.program();
  program.option("file", arguments.file, "sweep file (YAML)").required();
  program.option("--db", arguments.db, "the database, made or resumed").required();
  lockstep::commands::add_engine_option(program, arguments.engine);
  program.flag("--keep-results", arguments.keep_results, "also keep result.json of every point in the database");
  program.flag("--retry", arguments.retry, "run points that failed or crashed once more");
  program.footer("Example:\n  mpirun -n 64 lockstep-mpi sweep.yaml --db sweep.db");
  if (const auto code = line.run(argc, argv)) return *code;
  return lockstep::mpi::sweep_over_ranks(arguments, argc, argv, log);
}
