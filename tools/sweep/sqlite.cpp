#include "tools/sweep/sqlite.hpp"

#include <sqlite3.h>

#include "sim/core/errors.hpp"

namespace lockstep::sweep {
namespace {

[[noreturn]] void refuse(const std::filesystem::path& file, const std::string& what, const std::string& expected) {
  throw ConfigError({{{file.string(), 0, 0}, "", what, expected}});
}

}  // namespace

void Database::check(int code, const std::string& doing) const {
  const int kind = code & 0xff;
  if (kind == SQLITE_OK || kind == SQLITE_ROW || kind == SQLITE_DONE) return;
  const std::string message = handle_ != nullptr ? sqlite3_errmsg(handle_) : sqlite3_errstr(code);
  if (kind == SQLITE_FULL || kind == SQLITE_IOERR) throw output::OutOfRoom(message);
  if (kind == SQLITE_BUSY || kind == SQLITE_LOCKED || kind == SQLITE_PROTOCOL)
    refuse(file_, "is in use by another program", "a database that nothing else writes to");
  if (kind == SQLITE_NOTADB || kind == SQLITE_CORRUPT)
    refuse(file_, "is not a sound database: " + message, "a database of lockstep sweep, or a new file");
  if (kind == SQLITE_CANTOPEN || kind == SQLITE_READONLY || kind == SQLITE_PERM || kind == SQLITE_AUTH)
    refuse(file_, "cannot be opened: " + message, "a file in a folder that may be written");
  throw InternalError("SQLite, " + doing + ": " + message + " (" + std::to_string(code) + ")");
}

Database::Database(const std::filesystem::path& file, Mode mode) : file_(file) {
  const int flags =
      mode == Mode::create ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_URI : SQLITE_OPEN_READONLY;
  try {
    check(sqlite3_open_v2(file.c_str(), &handle_, flags, nullptr), "opening");
    sqlite3_extended_result_codes(handle_, 1);
    sqlite3_busy_timeout(handle_, 10'000);
    // Opening alone reads nothing, and tables that make no sense are an error of the first query that names one.
    const int read =
        sqlite3_exec(handle_, "PRAGMA schema_version; SELECT count(*) FROM sqlite_master", nullptr, nullptr, nullptr);
    if ((read & 0xff) == SQLITE_ERROR)
      refuse(file_, "is not a sound database: " + std::string(sqlite3_errmsg(handle_)),
             "a database of lockstep sweep, or a new file");
    check(read, "opening");
  } catch (...) {
    sqlite3_close_v2(handle_);
    throw;
  }
}

Database::~Database() { sqlite3_close_v2(handle_); }

void Database::execute(const std::string& sql) {
  check(sqlite3_exec(handle_, sql.c_str(), nullptr, nullptr, nullptr), sql);
}

std::int64_t Database::number(const std::string& sql) {
  Statement statement(*this, sql);
  return statement.step() ? statement.whole(0) : 0;
}

std::string Database::text(const std::string& sql) {
  Statement statement(*this, sql);
  return statement.step() ? statement.text(0) : "";
}

Statement::Statement(Database& database, const std::string& sql) : database_(database) {
  database_.check(sqlite3_prepare_v2(database_.handle_, sql.c_str(), -1, &handle_, nullptr), sql);
}

Statement::~Statement() { sqlite3_finalize(handle_); }

void Statement::bind(int at, std::int64_t value) { database_.check(sqlite3_bind_int64(handle_, at, value), "binding"); }
void Statement::bind(int at, double value) { database_.check(sqlite3_bind_double(handle_, at, value), "binding"); }
void Statement::bind(int at, std::string_view text) {
  database_.check(sqlite3_bind_text(handle_, at, text.data(), static_cast<int>(text.size()), nullptr), "binding");
}
void Statement::bind(int at, std::span<const std::uint8_t> blob) {
  database_.check(sqlite3_bind_blob(handle_, at, blob.data(), static_cast<int>(blob.size()), nullptr), "binding");
}
void Statement::bind_null(int at) { database_.check(sqlite3_bind_null(handle_, at), "binding"); }

bool Statement::step() {
  const int code = sqlite3_step(handle_);
  if (code == SQLITE_ROW) return true;
  sqlite3_reset(handle_);  // the error stays readable
  sqlite3_clear_bindings(handle_);
  database_.check(code, "running a statement");
  return false;
}

int Statement::columns() const { return sqlite3_column_count(handle_); }
std::string Statement::column_name(int at) const { return sqlite3_column_name(handle_, at); }

Statement::Type Statement::type(int at) const {
  switch (sqlite3_column_type(handle_, at)) {
    case SQLITE_INTEGER: return Type::whole;
    case SQLITE_FLOAT: return Type::real;
    case SQLITE_TEXT: return Type::text;
    case SQLITE_BLOB: return Type::blob;
    default: return Type::null;
  }
}

std::int64_t Statement::whole(int at) const { return sqlite3_column_int64(handle_, at); }
double Statement::real(int at) const { return sqlite3_column_double(handle_, at); }

std::string Statement::text(int at) const {
  const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(handle_, at));
  return text != nullptr ? std::string(text, static_cast<std::size_t>(sqlite3_column_bytes(handle_, at))) : "";
}

std::span<const std::uint8_t> Statement::blob(int at) const {
  const auto* data = static_cast<const std::uint8_t*>(sqlite3_column_blob(handle_, at));
  return {data, static_cast<std::size_t>(sqlite3_column_bytes(handle_, at))};
}

std::string quoted_name(std::string_view name) {
  std::string text = "\"";
  for (const char c : name) text += c == '"' ? std::string("\"\"") : std::string(1, c);
  return text + "\"";
}

}  // namespace lockstep::sweep
