#pragma once
/// The database of a sweep: one row for each point. Schema: docs/howto/sweep.md.
#include <memory>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "sim/studies/sweep/sweep.hpp"
#include "tools/sweep/file_lock.hpp"
#include "tools/sweep/sqlite.hpp"

namespace lockstep::sweep {

/// The result of a point.
struct PointResult {
  enum class Status { done, refused, failed, crashed };
  Status status = Status::done;
  std::string error;            ///< problems of a refused scenario, the message of our failure
  std::vector<double> outputs;  ///< as sweep_outputs(), if done
  std::string json;             ///< result.json, if asked for
};
[[nodiscard]] std::string name(PointResult::Status status);

struct PointCounts {
  std::int64_t done = 0, refused = 0, failed = 0, crashed = 0;
  [[nodiscard]] std::int64_t all() const { return done + refused + failed + crashed; }
};

/// Properties that all rows of a database share; only databases with equal headers are resumed or merged.
struct StoreHeader {
  std::string program;   ///< version of lockstep
  std::string scenario;  ///< digest of the scenario, its files and the catalogs
  std::vector<std::string> keys;
};
[[nodiscard]] StoreHeader header_of(const Sweep& sweep);

/// Written by one program at a time. Rows are kept in transactions of half a second.
class SweepStore {
 public:
  /// Makes the file, or goes on with one of an equal header. Throws ConfigError for any other file.
  SweepStore(const std::filesystem::path& file, const StoreHeader& header);

  [[nodiscard]] bool has(const Digest::Bytes16& identity) const { return known_.contains(key_of(identity)); }
  void add(const Sweep& sweep, std::int64_t point, const PointResult& result);
  /// Forgets points that failed or crashed.
  void forget_failures();
  void commit();
  /// Commits and leaves everything in the one file.
  void finish();
  [[nodiscard]] std::int64_t stored() const { return stored_; }  ///< rows that are safe
  [[nodiscard]] Database& database() { return database_; }

 private:
  static std::string key_of(const Digest::Bytes16& bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
  void make(const StoreHeader& header);
  void read_known();

  std::filesystem::path file_;
  FileLock lock_;
  Database database_;
  std::vector<std::string> keys_;
  std::unordered_set<std::string> known_;
  std::unique_ptr<Statement> insert_;
  std::int64_t stored_ = 0, pending_ = 0;
  bool open_ = false;  ///< in a transaction
  double opened_at_ = 0;
};

/// Throws ConfigError unless the file is a database of a sweep that this version reads.
[[nodiscard]] StoreHeader read_header(Database& database, const std::filesystem::path& file);
[[nodiscard]] PointCounts count_points(Database& database);

}  // namespace lockstep::sweep
