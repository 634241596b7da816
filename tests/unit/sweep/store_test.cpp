// What a database keeps, and which files it refuses.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <fstream>

#include "sim/studies/isolated.hpp"
#include "tests/unit/scratch_folder.hpp"
#include "tools/sweep/export_csv.hpp"
#include "tools/sweep/merge.hpp"
#include "tools/sweep/outputs.hpp"
#include "tools/sweep/run_sweep.hpp"

namespace lockstep {
namespace {

using testing::HasSubstr;

class Store : public test::ScratchFolder {
 protected:
  Store() {
    std::ofstream(folder_ / "sweep.yaml")
        << "format: 1\nmodel: {type: two-matmul, layers: 2, d_model: 64, d_ff: 128}\ncluster: tpu-v5p:4x4\n"
           "batch: {sequences: 16, sequence_length: 8}\nsweep: {grid: {parallel.fsdp: [4, 16], training.optimizer: "
           "[sgd, 'adam', \"a,b\"]}}\n";
    sweep_ = sweep::load_sweep(folder_ / "sweep.yaml");
  }
  /// A result that the number stands for.
  [[nodiscard]] static sweep::PointResult result(double step_s) {
    sweep::PointResult made;
    for (const auto& output : sweep::sweep_outputs())
      made.outputs.push_back(output.name == "step_time_s" ? step_s : output.name == "mfu" ? std::nan("") : 7);
    return made;
  }
  void make(const std::string& name, const std::vector<std::pair<std::int64_t, sweep::PointResult>>& rows) const {
    sweep::SweepStore store(place(name), header_of(sweep_));
    for (const auto& [point, row] : rows) store.add(sweep_, point, row);
    store.finish();
  }
  [[nodiscard]] std::string csv(const std::string& name) const {
    sweep::Database database(place(name), sweep::Database::Mode::read);
    return export_csv(database, header_of(sweep_));
  }

  sweep::Sweep sweep_;
};

TEST_F(Store, RowsReadBackAsTheyWereWritten) {
  make("a.db", {{1, result(0.1)}, {5, {sweep::PointResult::Status::refused, "no \"such\" thing,\nat all", {}, ""}}});
  const auto text = csv("a.db");
  EXPECT_THAT(text, HasSubstr("parallel.fsdp,training.optimizer,status,step_time_s,"));
  EXPECT_THAT(text, HasSubstr("\n4,adam,done,0.1,7,7,7,,7,"));
  EXPECT_THAT(text, HasSubstr("\n16,\"\"\"a,b\"\"\",refused,,,"));
  EXPECT_THAT(text, HasSubstr(",\"no \"\"such\"\" thing,\nat all\"\n"));
}

// The order of the export is that of the inputs, whatever came first.
TEST_F(Store, TheOrderOfWritingDoesNotShow) {
  make("a.db", {{0, result(1)}, {1, result(2)}, {4, result(3)}});
  make("b.db", {{4, result(3)}, {0, result(1)}, {1, result(2)}});
  EXPECT_EQ(csv("a.db"), csv("b.db"));
}

TEST_F(Store, ResultsTravelAsText) {
  auto made = result(0.3);
  made.json = "{\"a\": 1}";
  made.error = "why";
  made.status = sweep::PointResult::Status::crashed;
  const auto back = sweep::result_in(to_text(made));
  EXPECT_EQ(back.status, made.status);
  EXPECT_EQ(back.error, made.error);
  EXPECT_EQ(back.json, made.json);
  EXPECT_EQ(back.outputs.front(), 0.3);
  EXPECT_EQ(to_text(back), to_text(made));
}

TEST_F(Store, AnEarlierDatabaseIsGoneOnWith) {
  make("a.db", {{1, result(0.1)}});
  sweep::SweepStore again(place("a.db"), header_of(sweep_));
  EXPECT_EQ(again.stored(), 1);
  EXPECT_TRUE(again.has(sweep_.identity(1)));
  EXPECT_EQ(points_to_do(sweep_, again, {}), (std::vector<std::int64_t>{0, 2, 3, 4, 5}));
}

// Every point is in one shard.
TEST_F(Store, ShardsPartThePoints) {
  sweep::SweepStore empty(place("a.db"), header_of(sweep_));
  std::vector<std::int64_t> all;
  for (std::int64_t shard = 0; shard < 3; ++shard) {
    sweep::SweepOptions options;
    options.shard = shard;
    options.shards = 3;
    const auto part = points_to_do(sweep_, empty, options);
    all.insert(all.end(), part.begin(), part.end());
  }
  EXPECT_THAT(all, testing::UnorderedElementsAre(0, 1, 2, 3, 4, 5));
}

// 600 points over 4 shards: 150 each, +- 5 standard deviations sqrt(600 / 4 x 3 / 4) = 10.6.
TEST_F(Store, ShardsAreAlikeInSize) {
  std::ofstream(place("large.yaml"))
      << "format: 1\nmodel: {type: two-matmul, layers: 2, d_model: 64, d_ff: 128}\ncluster: tpu-v5p:4x4\nbatch: "
         "{sequences: 16, sequence_length: 8}\n"
         "sweep: {grid: {batch.sequences: {from: 2, to: 200, step: 2}, model.layers: [1, 2, 3, 4, 5, 6]}}\n";
  const auto large = sweep::load_sweep(place("large.yaml"));
  sweep::SweepStore empty(place("a.db"), header_of(large));
  for (std::int64_t shard = 0; shard < 4; ++shard) {
    sweep::SweepOptions options;
    options.shard = shard;
    options.shards = 4;
    EXPECT_NEAR(static_cast<double>(points_to_do(large, empty, options).size()), 150, 53);
  }
}

// Merged twice is merged once; an equal key with another result is told and changes nothing; a failure gives way.
TEST_F(Store, MergingIsIdempotent) {
  make("a.db", {{0, result(1)}, {1, result(2)}, {2, {sweep::PointResult::Status::crashed, "signal 9", {}, ""}}});
  make("b.db", {{1, result(2.5)}, {2, result(3)}, {3, result(4)}});
  make("whole.db", {{0, result(1)}, {1, result(2)}, {2, result(3)}, {3, result(4)}});
  sweep::SweepStore into(place("out.db"), header_of(sweep_));
  EXPECT_EQ(merge(into, place("a.db")).added, 3);
  const auto counts = merge(into, place("b.db"));
  EXPECT_EQ(counts.added, 1);
  EXPECT_EQ(counts.known, 2);
  EXPECT_EQ(counts.differing, 1);
  EXPECT_EQ(counts.replaced, 1);
  const auto again = merge(into, place("b.db"));
  EXPECT_EQ(again.added, 0);
  EXPECT_EQ(again.replaced, 0);
  into.finish();
  EXPECT_EQ(csv("out.db"), csv("whole.db"));
}

TEST_F(Store, OtherFilesAreRefused) {
  make("a.db", {{0, result(1)}});
  std::ofstream(place("text.db"))
      << "a text of some length that is no database at all, with more words to fill it up .................";
  EXPECT_THAT(refusal([&] { sweep::SweepStore store(place("text.db"), header_of(sweep_)); }),
              HasSubstr("is not a sound database"));
  {
    sweep::Database foreign(place("foreign.db"), sweep::Database::Mode::create);
    foreign.execute("CREATE TABLE t (x)");
  }
  EXPECT_THAT(refusal([&] { sweep::SweepStore store(place("foreign.db"), header_of(sweep_)); }),
              HasSubstr("is not a database of lockstep sweep"));
  auto header = header_of(sweep_);
  header.program = "9.9.9";
  EXPECT_THAT(refusal([&] { sweep::SweepStore store(place("a.db"), header); }),
              HasSubstr("was written by lockstep " + header_of(sweep_).program));
  header = header_of(sweep_);
  header.scenario = "other";
  EXPECT_THAT(refusal([&] { sweep::SweepStore store(place("a.db"), header); }), HasSubstr("is of another scenario"));
  header = header_of(sweep_);
  header.keys.pop_back();
  EXPECT_THAT(refusal([&] { sweep::SweepStore store(place("a.db"), header); }),
              HasSubstr("is of a sweep over other keys"));
  {
    sweep::Database newer(place("a.db"), sweep::Database::Mode::create);
    newer.execute("PRAGMA user_version = 2");
  }
  EXPECT_THAT(refusal([&] { sweep::SweepStore store(place("a.db"), header_of(sweep_)); }),
              HasSubstr("has schema 2; expected schema 1"));
  EXPECT_THAT(refusal([&] { sweep::SweepStore store(place("none/a.db"), header_of(sweep_)); }),
              HasSubstr("cannot be written"));
}

// Files that call themselves ours and are damaged, or made to do harm.
TEST_F(Store, OtherTablesAreRefused) {
  const auto changed = [&](const std::string& sql) {
    std::filesystem::remove(place("a.db"));
    make("a.db", {{1, result(1)}});
    sweep::Database(place("a.db"), sweep::Database::Mode::create).execute(sql);
    return refusal([&] { (void)sweep::header_in(place("a.db")); });
  };
  EXPECT_THAT(changed("DROP TABLE sweep"), HasSubstr("has no table `sweep`"));
  EXPECT_THAT(changed("DROP TABLE point"), HasSubstr("has no table `point`"));
  EXPECT_THAT(changed("ALTER TABLE point DROP COLUMN step_time_s"), HasSubstr("has no table `point`"));
  EXPECT_THAT(changed("UPDATE sweep SET v = 'other.key' WHERE k = 'keys'"), HasSubstr("has no table `point`"));
  EXPECT_THAT(changed("CREATE TRIGGER t AFTER INSERT ON point BEGIN DELETE FROM sweep; END"),
              HasSubstr("has triggers or views"));
}

TEST_F(Store, IsWrittenByOneAtATime) {
  sweep::SweepStore first(place("a.db"), header_of(sweep_));
  const auto another =
      studies::in_child([&] { return refusal([&] { sweep::SweepStore second(place("a.db"), header_of(sweep_)); }); });
  EXPECT_THAT(another, HasSubstr("a.db: is in use by another sweep, process " + std::to_string(::getpid())));
}

// max_page_count stands for the end of the disk: SQLite answers both with SQLITE_FULL. Committed rows stay.
TEST_F(Store, AFullDiskKeepsWhatWasCommitted) {
  {
    sweep::SweepStore store(place("a.db"), header_of(sweep_));
    store.add(sweep_, 0, result(1));
    store.commit();
    store.database().execute("PRAGMA max_page_count = 1");  // SQLite takes the present size
    auto large = result(2);
    large.json.assign(1'000'000, 'x');
    EXPECT_THROW(
        {
          store.add(sweep_, 1, large);
          store.commit();
        },
        output::OutOfRoom);
    EXPECT_EQ(store.stored(), 1);
  }
  sweep::SweepStore again(place("a.db"), header_of(sweep_));
  EXPECT_EQ(again.stored(), 1);
  EXPECT_EQ(again.database().text("PRAGMA integrity_check"), "ok");
  again.add(sweep_, 1, result(2));
  again.finish();
  EXPECT_EQ(again.stored(), 2);
}

}  // namespace
}  // namespace lockstep
