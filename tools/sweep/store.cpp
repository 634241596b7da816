#include "tools/sweep/store.hpp"

#include <sys/vfs.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cmath>
#include <sstream>

#include "tools/output/elements/json_document.hpp"
#include "tools/sweep/outputs.hpp"

namespace lockstep::sweep {
namespace {

constexpr std::int64_t our_files = 0x4c6b5374;  // "LkSt", SQLite's application_id
constexpr std::int64_t schema = 1;              // user_version
constexpr double seconds_between_commits = 0.5;
constexpr std::int64_t rows_between_commits = 2000;

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

/// A write-ahead log needs memory shared by all who open the file: not over a network.
bool on_a_network(const std::filesystem::path& file) {
  constexpr std::array networks = {0x6969L,     0x0BD00BD0L, 0x47504653L,
                                   0xFF534D42L, 0xFE534D42L, 0x65735546L};  // NFS, Lustre, GPFS, CIFS, SMB2, FUSE
  struct ::statfs about {};
  const auto folder = file.has_parent_path() ? file.parent_path() : std::filesystem::path(".");
  if (::statfs(folder.c_str(), &about) != 0) return true;
  return std::find(networks.begin(), networks.end(), static_cast<long>(about.f_type)) != networks.end();
}

[[noreturn]] void refuse(const std::filesystem::path& file, const std::string& what, const std::string& expected) {
  throw ConfigError({{{file.string(), 0, 0}, "", what, expected}});
}

std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const auto& line : lines) text += line + "\n";
  return text;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

const std::string header_table = "CREATE TABLE sweep (k TEXT PRIMARY KEY, v TEXT NOT NULL)";

std::string point_table(const std::vector<std::string>& keys) {
  std::string inputs, outputs;
  for (const auto& key : keys) inputs += quoted_name(key) + ", ";  // no type: numbers stay numbers, words words
  for (const auto& output : sweep_outputs())
    outputs += std::string(output.name) + (output.whole ? " INTEGER, " : " REAL, ");
  return "CREATE TABLE point (id INTEGER PRIMARY KEY, key BLOB NOT NULL UNIQUE CHECK (length(key) = 16), status TEXT "
         "NOT NULL, error TEXT, " +
         inputs + outputs + "result TEXT)";
}

/// A database's own header is trusted only if its tables are those that `make` makes, and it has no triggers or views.
void check_table(Database& database, const std::filesystem::path& file, const std::string& name,
                 const std::string& made) {
  if (database.text("SELECT sql FROM sqlite_master WHERE type = 'table' AND name = '" + name + "'") != made) {
    refuse(file, "has no table `" + name + "` as lockstep " + output::version() + " makes it",
           "a database of this version, undamaged, or a new file");
  }
}

/// Numbers as numbers, everything else as it is written.
void bind_input(Statement& statement, int at, const std::string& text) {
  const char* end = text.data() + text.size();
  std::int64_t whole = 0;
  if (const auto read = std::from_chars(text.data(), end, whole); read.ec == std::errc() && read.ptr == end)
    return statement.bind(at, whole);
  double real = 0;
  if (const auto read = std::from_chars(text.data(), end, real);
      read.ec == std::errc() && read.ptr == end && std::isfinite(real))
    return statement.bind(at, real);
  statement.bind(at, std::string_view(text));
}

}  // namespace

std::string name(PointResult::Status status) {
  switch (status) {
    case PointResult::Status::done: return "done";
    case PointResult::Status::refused: return "refused";
    case PointResult::Status::failed: return "failed";
    case PointResult::Status::crashed: return "crashed";
  }
  return "";
}

StoreHeader header_of(const Sweep& sweep) { return {output::version(), sweep.scenario_digest.hex(), sweep.keys}; }

StoreHeader read_header(Database& database, const std::filesystem::path& file) {
  if (database.number("PRAGMA application_id") != our_files)
    refuse(file, "is not a database of lockstep sweep", "one, or a new file");
  if (const auto found = database.number("PRAGMA user_version"); found != schema) {
    refuse(file, "has schema " + std::to_string(found),
           "schema " + std::to_string(schema) + ", which this version of lockstep reads and writes");
  }
  check_table(database, file, "sweep", header_table);
  if (database.number("SELECT count(*) FROM sqlite_master WHERE type IN ('trigger', 'view')") > 0)
    refuse(file, "has triggers or views", "a database of lockstep sweep, as it was made");
  const auto value = [&](const std::string& key) {
    return database.text("SELECT v FROM sweep WHERE k = '" + key + "'");
  };
  StoreHeader header{value("program"), value("scenario"), lines_of(value("keys"))};
  check_table(database, file, "point", point_table(header.keys));
  return header;
}

PointCounts count_points(Database& database) {
  const auto of = [&](PointResult::Status status) {
    return database.number("SELECT count(*) FROM point WHERE status = '" + name(status) + "'");
  };
  return {of(PointResult::Status::done), of(PointResult::Status::refused), of(PointResult::Status::failed),
          of(PointResult::Status::crashed)};
}

SweepStore::SweepStore(const std::filesystem::path& file, const StoreHeader& header)
    : file_(file), lock_(file), database_(file, Database::Mode::create), keys_(header.keys) {
  if (database_.number("PRAGMA schema_version") == 0 && database_.number("PRAGMA application_id") == 0) {
    make(header);
  } else {
    const auto found = read_header(database_, file);
    if (found.program != header.program)
      refuse(file, "was written by lockstep " + found.program,
             "a database of lockstep " + header.program + ", or a new file");
    if (found.keys != header.keys)
      refuse(file, "is of a sweep over other keys", "the same keys in the same order, or a new file");
    if (found.scenario != header.scenario)
      refuse(file, "is of another scenario, or the scenario, its files or the catalog have changed since",
             "the same scenario, or a new file");
  }
  // After a look at it: pragmas write into the file.
  const bool wal = !on_a_network(file) && database_.text("PRAGMA journal_mode=WAL") == "wal";
  if (!wal) (void)database_.text("PRAGMA journal_mode=DELETE");
  database_.execute(wal ? "PRAGMA synchronous=NORMAL"
                        : "PRAGMA synchronous=FULL");  // a log loses at most the last commits with the power
  read_known();
  std::string columns = "key, status, error", marks = "?, ?, ?";
  for (const auto& key : keys_) columns += ", " + quoted_name(key), marks += ", ?";
  for (const auto& output : sweep_outputs()) columns += ", " + std::string(output.name), marks += ", ?";
  insert_ = std::make_unique<Statement>(
      database_, "INSERT INTO point (" + columns + ", result) VALUES (" + marks + ", ?) ON CONFLICT(key) DO NOTHING");
}

void SweepStore::make(const StoreHeader& header) {
  database_.execute("BEGIN IMMEDIATE; " + header_table + "; " + point_table(header.keys));
  Statement insert(database_, "INSERT INTO sweep VALUES (?, ?)");
  const auto keys = joined(header.keys);
  for (const auto& [key, value] : {std::pair<std::string_view, std::string_view>{"program", header.program},
                                   {"scenario", header.scenario},
                                   {"keys", keys}}) {
    insert.bind(1, key);
    insert.bind(2, value);
    (void)insert.step();
  }
  database_.execute("PRAGMA application_id = " + std::to_string(our_files) +
                    "; PRAGMA user_version = " + std::to_string(schema) + "; COMMIT");
}

void SweepStore::read_known() {
  known_.clear();
  Statement rows(database_, "SELECT key FROM point");
  while (rows.step()) {
    const auto key = rows.blob(0);
    known_.emplace(reinterpret_cast<const char*>(key.data()), key.size());
  }
  stored_ = std::ssize(known_);
}

void SweepStore::forget_failures() {
  commit();
  database_.execute("DELETE FROM point WHERE status IN ('failed', 'crashed')");
  read_known();
}

void SweepStore::add(const Sweep& sweep, std::int64_t point, const PointResult& result) {
  if (!open_) {
    database_.execute("BEGIN IMMEDIATE");
    open_ = true;
    opened_at_ = now();
  }
  const auto identity = sweep.identity(point);
  const auto status = name(result.status);
  int at = 0;
  insert_->bind(++at, std::span<const std::uint8_t>(identity));
  insert_->bind(++at, std::string_view(status));
  if (++at; !result.error.empty()) insert_->bind(at, std::string_view(result.error));
  const auto settings = sweep.settings(point);
  for (const auto& key : keys_) {
    ++at;
    for (const auto* setting : settings) {
      if (setting->key == key) bind_input(*insert_, at, setting->value);
    }
  }
  for (std::size_t i = 0; i < sweep_outputs().size(); ++i) {
    ++at;
    if (i >= result.outputs.size() || std::isnan(result.outputs[i])) continue;
    if (sweep_outputs()[i].whole) {
      insert_->bind(at, static_cast<std::int64_t>(std::llround(result.outputs[i])));
    } else {
      insert_->bind(at, result.outputs[i]);
    }
  }
  if (++at; !result.json.empty()) insert_->bind(at, std::string_view(result.json));
  (void)insert_->step();
  known_.insert(key_of(identity));
  if (++pending_ >= rows_between_commits || now() - opened_at_ > seconds_between_commits) commit();
}

void SweepStore::commit() {
  if (!open_) return;
  database_.execute("COMMIT");
  open_ = false;
  stored_ += pending_;
  pending_ = 0;
}

void SweepStore::finish() {
  commit();
  insert_.reset();
  (void)database_.text("PRAGMA journal_mode=DELETE");
}

}  // namespace lockstep::sweep
