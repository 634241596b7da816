#pragma once
/// SQLite's C interface, closed and finalised by scope. Errors that a user can mend are a ConfigError; a full disk is
/// OutOfRoom.
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "tools/output/files/out_of_room.hpp"

struct sqlite3;
struct sqlite3_stmt;

namespace lockstep::sweep {

class Database {
 public:
  enum class Mode { create, read };
  Database(const std::filesystem::path& file, Mode mode);
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;
  ~Database();

  void execute(const std::string& sql);
  /// The first column of the first row, as a whole number or a text.
  [[nodiscard]] std::int64_t number(const std::string& sql);
  [[nodiscard]] std::string text(const std::string& sql);

 private:
  friend class Statement;
  void check(int code, const std::string& doing) const;

  std::filesystem::path file_;
  sqlite3* handle_ = nullptr;
};

class Statement {
 public:
  Statement(Database& database, const std::string& sql);
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;
  ~Statement();

  // Parameters count from 1; what is bound lives until the next step.
  void bind(int at, std::int64_t value);
  void bind(int at, double value);
  void bind(int at, std::string_view text);
  void bind(int at, std::span<const std::uint8_t> blob);
  void bind_null(int at);
  /// Whether there is a row; after the last one the statement is ready to run again, with nothing bound.
  bool step();

  // Columns of the row count from 0.
  [[nodiscard]] int columns() const;
  [[nodiscard]] std::string column_name(int at) const;
  enum class Type { null, whole, real, text, blob };
  [[nodiscard]] Type type(int at) const;
  [[nodiscard]] std::int64_t whole(int at) const;
  [[nodiscard]] double real(int at) const;
  [[nodiscard]] std::string text(int at) const;
  [[nodiscard]] std::span<const std::uint8_t> blob(int at) const;

 private:
  Database& database_;
  sqlite3_stmt* handle_ = nullptr;
};

/// A name as SQL takes any, in double quotes.
[[nodiscard]] std::string quoted_name(std::string_view name);

}  // namespace lockstep::sweep
