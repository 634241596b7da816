// Values and names of any kind go into a database and come back; a mistake of the user is a ConfigError at the file.
#include "tools/sweep/sqlite.hpp"

#include <gmock/gmock.h>

#include <array>
#include <limits>

#include "tests/unit/output/hostile_name.hpp"
#include "tests/unit/scratch_folder.hpp"
#include "tools/sweep/file_lock.hpp"

namespace lockstep {
namespace {

using testing::HasSubstr;
using Type = sweep::Statement::Type;

class Sqlite : public test::ScratchFolder {};

TEST_F(Sqlite, ValuesComeBackAsTheyWere) {
  sweep::Database database(place("a.db"), sweep::Database::Mode::create);
  database.execute("CREATE TABLE t (a, b, c, d, e)");
  const std::string text = test::hostile_name + std::string("\0after a zero", 13);
  const std::array<std::uint8_t, 4> blob{0, 255, 7, 0};
  const auto whole = std::numeric_limits<std::int64_t>::min();
  const double real = 1.0 / 3;
  sweep::Statement insert(database, "INSERT INTO t VALUES (?, ?, ?, ?, ?)");
  insert.bind(1, whole);
  insert.bind(2, real);
  insert.bind(3, std::string_view(text));
  insert.bind(4, std::span<const std::uint8_t>(blob));
  insert.bind_null(5);
  EXPECT_FALSE(insert.step());

  sweep::Statement row(database, "SELECT * FROM t");
  ASSERT_TRUE(row.step());
  EXPECT_EQ(row.columns(), 5);
  EXPECT_EQ(row.whole(0), whole);
  EXPECT_EQ(row.real(1), real);
  EXPECT_EQ(row.text(2), text);
  EXPECT_THAT(row.blob(3), testing::ElementsAreArray(blob));
  const std::vector<Type> types{row.type(0), row.type(1), row.type(2), row.type(3), row.type(4)};
  EXPECT_EQ(types, (std::vector<Type>{Type::whole, Type::real, Type::text, Type::blob, Type::null}));
  EXPECT_FALSE(row.step());
}

// After its last row a statement runs again, and what was bound before is gone.
TEST_F(Sqlite, AStatementRunsAgainWithNothingBound) {
  sweep::Database database(place("a.db"), sweep::Database::Mode::create);
  database.execute("CREATE TABLE t (x)");
  sweep::Statement insert(database, "INSERT INTO t VALUES (?)");
  insert.bind(1, std::int64_t{7});
  EXPECT_FALSE(insert.step());
  EXPECT_FALSE(insert.step());
  EXPECT_EQ(database.number("SELECT count(*) FROM t"), 2);
  EXPECT_EQ(database.number("SELECT count(*) FROM t WHERE x IS NULL"), 1);
}

TEST_F(Sqlite, NamesOfAnyKindAreNames) {
  sweep::Database database(place("a.db"), sweep::Database::Mode::create);
  for (const std::string name : {"plain", "with space", "\"quoted\"", "x); DROP TABLE t; --", "select", "a'b"}) {
    database.execute("CREATE TABLE " + sweep::quoted_name(name) + " (" + sweep::quoted_name(name) + ")");
    database.execute("INSERT INTO " + sweep::quoted_name(name) + " VALUES (1)");
    sweep::Statement row(database, "SELECT * FROM " + sweep::quoted_name(name));
    EXPECT_EQ(row.column_name(0), name);
    EXPECT_TRUE(row.step());
  }
  EXPECT_EQ(database.number("SELECT count(*) FROM sqlite_master"), 6);
}

TEST_F(Sqlite, AFileThatIsMissingIsNotMadeByReading) {
  EXPECT_THAT(refusal([&] { sweep::Database database(place("a.db"), sweep::Database::Mode::read); }),
              testing::StartsWith(place("a.db").string()));
  EXPECT_TRUE(names().empty());
}

TEST_F(Sqlite, ReadingChangesNothing) {
  { sweep::Database(place("a.db"), sweep::Database::Mode::create).execute("CREATE TABLE t (x)"); }
  sweep::Database database(place("a.db"), sweep::Database::Mode::read);
  EXPECT_ANY_THROW(database.execute("INSERT INTO t VALUES (1)"));
  EXPECT_EQ(database.number("SELECT count(*) FROM t"), 0);
}

// The lock is a file beside the database and gone with its holder.
TEST_F(Sqlite, ALockHasOneHolder) {
  {
    const sweep::FileLock lock(place("a.db"));
    EXPECT_EQ(names(), std::vector<std::string>{"a.db.lock"});
  }
  EXPECT_TRUE(names().empty());
  EXPECT_EQ(refusal([&] { sweep::FileLock again(place("a.db")); }), "");
  EXPECT_NE(refusal([&] { sweep::FileLock lock(place("missing/a.db")); }), "");
}

}  // namespace
}  // namespace lockstep
