#include <unistd.h>

#include <cstdio>
#include <memory>
#include <thread>

#include "tools/commands/command_line.hpp"
#include "tools/commands/commands.hpp"
#include "tools/commands/common_options.hpp"
#include "tools/commands/engine_option.hpp"
#include "tools/commands/refuse.hpp"
#include "tools/output/elements/answer.hpp"
#include "tools/output/elements/svg.hpp"
#include "tools/output/elements/table.hpp"
#include "tools/output/files/file.hpp"
#include "tools/report/sweep_report.hpp"
#include "tools/sweep/export_csv.hpp"
#include "tools/sweep/merge.hpp"
#include "tools/sweep/progress.hpp"
#include "tools/sweep/summary.hpp"

namespace lockstep::commands {
namespace {

constexpr std::int64_t most_points_unasked = 20'000;

struct SweepArguments {
  std::string file, db, shard = "0/1", csv;
  int jobs = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  std::string engine = "max_min", plot, report, y, x, by;
  bool yes = false, retry = false, keep_results = false;
};

struct MergeArguments {
  std::string into;
  std::vector<std::string> from;
};

/// "2/8" into the options.
void read_shard(const std::string& text, sweep::SweepOptions& options) {
  long long shard = -1, shards = 0;
  int end = 0;
  if (std::sscanf(text.c_str(), "%lld/%lld%n", &shard, &shards, &end) != 2 ||
      static_cast<std::size_t>(end) != text.size() || shards < 1 || shards > sweep::most_points || shard < 0 ||
      shard >= shards) {
    refuse("--shard", "'" + text + "' is not a shard", "I/N with I from 0 to N-1, such as 0/8");
  }
  options.shard = shard;
  options.shards = shards;
}

/// A slip in a range is a question of days: many points are asked for twice.
void confirm(const SweepArguments& arguments, const sweep::Sweep& sweep) {
  if (sweep.points() <= most_points_unasked || arguments.yes) return;
  const auto count = output::with_separators(static_cast<double>(sweep.points()));
  if (::isatty(STDIN_FILENO) == 0 || ::isatty(STDERR_FILENO) == 0)
    refuse(arguments.file, "the sweep has " + count + " points", "fewer values, or --yes");
  std::fprintf(stderr, "The sweep has %s points. Go on? [y/N] ", count.c_str());
  const int answer = std::getchar();
  if (answer != 'y' && answer != 'Y')
    refuse(arguments.file, "the sweep of " + count + " points was not wanted", "fewer values, or y");
}

/// Before anything is simulated for a picture that cannot be drawn.
void check_axes(const SweepArguments& arguments, const std::vector<std::string>& keys) {
  sweep::SweepTable table;
  for (const auto& key : keys) table.keys.push_back({key, {}, {}, true});
  (void)axes_named(table, arguments.y, arguments.x, arguments.by);
}

void simulate_into(const std::string& db, const SweepArguments& arguments, spdlog::logger& log) {
  sweep::SweepOptions options;
  read_shard(arguments.shard, options);
  const auto sweep = sweep::load_sweep(arguments.file);
  confirm(arguments, sweep);
  if (!arguments.plot.empty() || !arguments.report.empty()) check_axes(arguments, header_of(sweep).keys);
  options.jobs = arguments.jobs;
  options.engine = engine::engine_named(arguments.engine);
  options.keep_results = arguments.keep_results;
  sweep::SweepStore store(db, header_of(sweep));
  if (arguments.retry) store.forget_failures();
  try {
    sweep::SweepProgressLine line;
    run_sweep(
        sweep, store, options,
        [&](std::size_t done, std::size_t all, sweep::PointResult::Status status) { line.point(done, all, status); },
        log);
    store.finish();
  } catch (const output::OutOfRoom& error) {
    throw output::OutOfRoom(db + ": " + error.what() + "; " +
                            output::with_separators(static_cast<double>(store.stored())) +
                            " points are stored: make room and run the same command again");
  }
}

/// The picture and the page; gives back what to tell the user.
std::string show(const SweepArguments& arguments, sweep::Database& database, const sweep::StoreHeader& header,
                 const std::string& title, output::Answer& answer) {
  if (arguments.plot.empty() && arguments.report.empty()) return "";
  const auto table = read_table(database, header);
  const auto axes = axes_named(table, arguments.y, arguments.x, arguments.by);
  if (!arguments.plot.empty()) answer.write(arguments.plot, sweep_picture(table, axes, title));
  if (arguments.report.empty()) return "";
  const auto page = report::sweep_report(database, table, axes, title);
  if (!page) return "no " + arguments.report + ": this program was built without Node.js\n";
  answer.write(arguments.report, *page);
  return "";
}

void run_sweep_command(const SweepArguments& arguments, spdlog::logger& log) {
  if (arguments.file.empty() && arguments.db.empty())
    refuse("sweep", "there is nothing to sweep and nothing to read",
           "a sweep file, or --db with a database that is there");
  const auto db = arguments.db.empty() ? std::filesystem::path(arguments.file).stem().string() + ".db" : arguments.db;
  for (const auto& file : {arguments.csv, arguments.report}) output::check_file_place(file);
  output::svg::check_place(arguments.plot);
  output::Answer answer;
  if (!arguments.file.empty()) {
    simulate_into(db, arguments, log);
    answer.add(db);
  }
  const auto header = sweep::header_in(db);
  sweep::Database database(db, sweep::Database::Mode::read);
  if (!arguments.csv.empty()) answer.write(arguments.csv, export_csv(database, header));
  const auto left_out = show(arguments, database, header, std::filesystem::path(db).stem().string(), answer);
  answer.print(sweep_summary(database, header, db) + left_out);
}

void run_merge(const MergeArguments& arguments) {
  sweep::SweepStore into(arguments.into, sweep::header_in(arguments.from.front()));
  std::string text;
  try {
    for (const auto& file : arguments.from) {
      const auto counts = merge(into, file);
      const auto count = [](std::int64_t number) { return output::with_separators(static_cast<double>(number)); };
      text += file + ": " + count(counts.added) + " added, " + count(counts.known) + " known" +
              (counts.replaced > 0 ? ", " + count(counts.replaced) + " failures replaced" : "") +
              (counts.differing > 0 ? ", " + count(counts.differing) + " DIFFERING (the first stays)" : "") + "\n";
    }
    into.finish();
  } catch (const output::OutOfRoom& error) {
    throw output::OutOfRoom(arguments.into + ": " + error.what() +
                            "; what was merged stays: make room and run the same command again");
  }
  output::Answer answer;
  answer.add(arguments.into);
  answer.print(text);
}

}  // namespace

void add_sweep(CommandLine& line, spdlog::logger& log) {
  auto command = line.command("sweep", "simulate many scenarios into a database");
  auto arguments = std::make_shared<SweepArguments>();
  command.option("file", arguments->file, "sweep file (YAML); without one nothing is simulated and --db is only read");
  command.option("--db", arguments->db, "database to create or resume (default: the sweep file's name with .db, here)");
  add_jobs_option(command, arguments->jobs);
  command.option("--shard", arguments->shard, "simulate one part of N: I/N, I from 0").shows_default();
  add_engine_option(command, arguments->engine);
  command.flag("--yes", arguments->yes,
               "do not ask before a sweep of more than " + std::to_string(most_points_unasked) + " points");
  command.flag("--retry", arguments->retry, "run points that failed or crashed once more");
  command.flag("--keep-results", arguments->keep_results, "also keep result.json of every point in the database");
  command.option("--export", arguments->csv, "write all points of the database as CSV");
  command.option("--plot", arguments->plot, "draw an output over a swept key, as SVG");
  command.option("--report", arguments->report,
                 "write a page with such charts to choose from and the best points (HTML)");
  command.option("--y", arguments->y, "output that is drawn (default: step_time_s)");
  command.option("--x", arguments->x, "swept key along the plot (default: the first with several values)");
  command.option("--by", arguments->by,
                 "swept key with a line for each value (default: the next with several, if they are few)");
  command.footer(
      "Examples:\n  lockstep sweep sweep.yaml --report sweep.html\n  lockstep sweep sweep.yaml --shard 0/8 --db "
      "part.0.db\n"
      "  lockstep sweep --db sweep.db --export sweep.csv\nExit 74: the disk is full; what is stored stays, and the "
      "same command goes on.");
  command.callback([arguments, &log] { run_sweep_command(*arguments, log); });
}

void add_merge(CommandLine& line) {
  auto command = line.command("merge", "put databases of one sweep together");
  auto arguments = std::make_shared<MergeArguments>();
  command.option("out", arguments->into, "the database to add to; created if it does not exist").required();
  command.option("in", arguments->from, "databases of the same sweep").required();
  command.footer("Example:\n  lockstep merge sweep.db sweep.0.db sweep.1.db");
  command.callback([arguments] { run_merge(*arguments); });
}

}  // namespace lockstep::commands
