#include "tools/sweep/merge.hpp"

#include "sim/core/readable_file.hpp"
#include "tools/sweep/outputs.hpp"

namespace lockstep::sweep {
namespace {

void check_readable(const std::filesystem::path& file) {
  if (const auto why = why_unreadable(file); !why.empty())
    throw ConfigError({{{file.string(), 0, 0}, "", why, "a database of lockstep sweep"}});
}

/// A file as a URI that is only read, whatever characters its name has.
std::string read_only_uri(const std::filesystem::path& file) {
  std::string uri = "file:";
  for (const char c : file.string()) {
    if (c == '%' || c == '?' || c == '#') {
      uri += '%';
      uri += "0123456789ABCDEF"[static_cast<unsigned char>(c) >> 4];
      uri += "0123456789ABCDEF"[static_cast<unsigned char>(c) & 15];
    } else {
      uri += c;
    }
  }
  return uri + "?mode=ro";
}

std::string in_quotes(const std::string& text) {
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("''") : std::string(1, c);
  return quoted + "'";
}

}  // namespace

StoreHeader header_in(const std::filesystem::path& file) {
  check_readable(file);
  Database database(file, Database::Mode::read);
  return read_header(database, file);
}

MergeCounts merge(SweepStore& into, const std::filesystem::path& from) {
  const auto header = header_in(from);
  auto& database = into.database();
  const auto own = read_header(database, from);
  const auto refuse = [&](const std::string& what) {
    throw ConfigError(
        {{{from.string(), 0, 0}, "", what, "databases of one sweep, all written by one version of lockstep"}});
  };
  if (header.program != own.program)
    refuse("was written by lockstep " + header.program + ", the one before it by " + own.program);
  if (header.scenario != own.scenario) refuse("is of another scenario than the one before it");
  if (header.keys != own.keys) refuse("is of a sweep over other keys than the one before it");

  std::string columns = "key, status, error", differs = "a.status IS NOT b.status";
  for (const auto& key : header.keys) columns += ", " + quoted_name(key);
  for (const auto& output : sweep_outputs()) {
    columns += ", " + std::string(output.name);
    differs += " OR a." + std::string(output.name) + " IS NOT b." + std::string(output.name);
  }
  columns += ", result";
  const auto rows = [&] { return database.number("SELECT count(*) FROM main.point"); };
  const std::string failure = " IN ('failed', 'crashed')";
  MergeCounts counts;
  database.execute("ATTACH " + in_quotes(read_only_uri(from)) + " AS other");
  const std::string both = "main.point a JOIN other.point b ON a.key = b.key";
  counts.known = database.number("SELECT count(*) FROM " + both);
  counts.replaced =
      database.number("SELECT count(*) FROM " + both + " WHERE a.status" + failure + " AND NOT b.status" + failure);
  counts.differing = database.number("SELECT count(*) FROM " + both + " WHERE NOT a.status" + failure +
                                     " AND NOT b.status" + failure + " AND (" + differs + ")");
  const auto before = rows() - counts.replaced;
  database.execute("BEGIN IMMEDIATE; DELETE FROM main.point WHERE status" + failure +
                   " AND key IN (SELECT key FROM other.point WHERE NOT status" + failure +
                   "); INSERT INTO main.point (" + columns + ") SELECT " + columns +
                   " FROM other.point WHERE true ON CONFLICT(key) DO NOTHING; COMMIT");
  counts.added = rows() - before - counts.replaced;
  database.execute("DETACH other");
  return counts;
}

}  // namespace lockstep::sweep
