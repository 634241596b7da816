// A search gives one answer whoever works for it, and a search that is stopped says what it left open.
#include "sim/studies/planning/plan_search.hpp"

#include <gtest/gtest.h>
#include <spdlog/logger.h>

#include <deque>
#include <random>

#include "sim/studies/planning/remote_workers.hpp"
#include "tests/unit/planning/small_space.hpp"

namespace lockstep::test {
namespace {

const SmallSpace small{.cluster = "tpu-v5p:4x2",
                       .search =
                           "tensor: [1, 2, 4, 8], pipeline: [1, 2, 4], zero: [0, 3], recompute: none, microbatches: "
                           "[1, 2, 4], schedules: [1f1b, zb-h1]",
                       .more = "parallel: {tensor: 2, data: 2, pipeline: 2}\n"};

spdlog::logger silent("test");

planning::SearchResult searched(const planning::PlanSpace& space, double limit_s) {
  planning::SearchOptions options;
  options.limit_s = limit_s;
  return search_plans(space, options, silent);
}

void expect_same(const planning::SearchResult& one, const planning::SearchResult& other) {
  ASSERT_EQ(one.best.size(), other.best.size());
  for (std::size_t i = 0; i < one.best.size(); ++i) {
    EXPECT_EQ(one.best[i].choice, other.best[i].choice);
    EXPECT_EQ(one.best[i].bound_s, other.best[i].bound_s);
    EXPECT_EQ(one.best[i].figures.step_s, other.best[i].figures.step_s);
  }
  EXPECT_EQ(one.proof.pruned_by_bound, other.proof.pruned_by_bound);
  EXPECT_EQ(one.proof.pruned_by_memory, other.proof.pruned_by_memory);
  EXPECT_EQ(one.proof.simulated, other.proof.simulated);
  EXPECT_EQ(one.proof.open, other.proof.open);
}

/// Workers that answer in an order drawn at random.
class ShuffledMessages : public planning::Messages {
 public:
  ShuffledMessages(const planning::PlanSpace& space, int workers, std::uint32_t seed) : random_(seed) {
    for (int i = 0; i < workers; ++i) workers_.emplace_back(space, engine::EngineKind::max_min, silent);
  }
  [[nodiscard]] int workers() const override { return static_cast<int>(workers_.size()); }
  void send(int worker, const std::string& request) override { waiting_.emplace_back(worker, request); }
  [[nodiscard]] std::pair<int, std::string> receive() override {
    const auto next = waiting_.begin() + static_cast<std::ptrdiff_t>(random_() % waiting_.size());
    const auto [worker, request] = *next;
    waiting_.erase(next);
    ++asked;
    return {worker, workers_[position_of(worker)].answer(request)};
  }
  int asked = 0;

 private:
  std::mt19937 random_;
  std::deque<planning::RemoteWorker> workers_;
  std::vector<std::pair<int, std::string>> waiting_;
};

TEST(PlanSearchTest, RemoteWorkersInAnyOrderGiveTheAnswerOfOneThread) {
  const planning::PlanSpace space(small.load());
  planning::SearchOptions options;
  options.engine = engine::EngineKind::max_min;
  const auto alone = search_plans(space, options, silent);
  ASSERT_EQ(alone.best.size(), options.top);
  for (const int workers : {1, 3, 40}) {
    for (std::uint32_t seed = 0; seed < 3; ++seed) {
      ShuffledMessages messages(space, workers, seed);
      planning::RemoteWorkers remote(space, messages);
      expect_same(alone, search_plans(space, options, remote));
      EXPECT_GT(messages.asked, 0);
    }
  }
}

TEST(PlanSearchTest, AMessageThatIsCutOffIsRefused) {
  const planning::PlanSpace space(small.load());
  planning::RemoteWorker worker(space, engine::EngineKind::max_min, silent);
  EXPECT_THROW((void)worker.answer(""), InternalError);
  EXPECT_THROW((void)worker.answer(std::string(3, '\0')), InternalError);
}

// Every plan is counted once: pruned, simulated or open. A search that has no time at all has timed one plan, the
// file's own.
TEST(PlanSearchTest, AStoppedSearchCountsWhatIsOpen) {
  const planning::PlanSpace space(small.load());
  const auto stopped = searched(space, 0);
  EXPECT_TRUE(stopped.stopped);
  ASSERT_EQ(stopped.best.size(), 1u);
  EXPECT_EQ(stopped.proof.open + stopped.proof.pruned_by_bound + stopped.proof.pruned_by_memory, space.size() - 1);
  const auto best_s = searched(space, std::numeric_limits<double>::infinity()).best.front().figures.step_s;
  EXPECT_GT(stopped.proof.lowest_open_s, 0);
  EXPECT_LE(stopped.proof.lowest_open_s, best_s);
}

TEST(PlanSearchTest, ALimitThatIsNotReachedChangesNothing) {
  const planning::PlanSpace space(small.load());
  const auto whole = searched(space, std::numeric_limits<double>::infinity()), limited = searched(space, 1e6);
  EXPECT_FALSE(limited.stopped);
  EXPECT_EQ(limited.proof.open, 0);
  EXPECT_EQ(limited.gap(), 0);
  expect_same(whole, limited);
}

/// Notes what is timed first.
class FirstTimed : public planning::LocalWorkers {
 public:
  using LocalWorkers::LocalWorkers;
  void start(const planning::PlanBranch& plan) override {
    if (!first) first = plan.choice;
    LocalWorkers::start(plan);
  }
  std::optional<planning::PlanChoice> first;
};

TEST(PlanSearchTest, ALimitedSearchStartsAtTheSizesOfTheFile) {
  const planning::PlanSpace space(small.load());
  const planning::Degrees sizes{.tensor = 2, .data = 2, .pipeline = 2};
  EXPECT_EQ(space.degrees_of_file(), sizes);
  FirstTimed workers(space, 1, engine::EngineKind::max_min, silent);
  planning::SearchOptions options;
  options.limit_s = 1e6;
  (void)search_plans(space, options, workers);
  ASSERT_TRUE(workers.first);
  EXPECT_EQ(workers.first->degrees, sizes);
}

// What a search without time answers is the plan that the file writes: all of its keys, whether or not it says where
// its axes lie, and whatever other plans of its sizes look better.
TEST(PlanSearchTest, NoAnswerOfALimitedSearchIsWorseThanTheFilesOwnPlan) {
  auto given = small;
  given.more = "parallel: {tensor: 2, fsdp: 2, pipeline: 2, zero: 3}\npipeline: {schedule: zb-h1}\n";
  const auto scenario = given.load();
  const planning::PlanSpace space(scenario);
  ASSERT_FALSE(space.plans_of_file().empty());
  for (const auto& plan : space.plans_of_file()) {
    EXPECT_EQ(plan.degrees, (planning::Degrees{.tensor = 2, .data = 2, .pipeline = 2}));
    EXPECT_EQ(plan.zero, 3);
    EXPECT_EQ(plan.microbatches, scenario.batch.microbatches);
    EXPECT_EQ(space.schedule(plan.schedule).name, "zb-h1");
  }
  const auto answer = searched(space, 0);
  ASSERT_EQ(answer.best.size(), 1u);
  EXPECT_TRUE(std::count(space.plans_of_file().begin(), space.plans_of_file().end(), answer.best.front().choice) > 0);
}

// A file whose plan the space leaves out has none there, in each of its keys; the search is limited to others then.
TEST(PlanSearchTest, AFilesPlanThatTheSpaceLeavesOutIsNotSought) {
  for (const char* const more :
       {"parallel: {tensor: 2, data: 2, pipeline: 2, zero: 1}\n", "parallel: {tensor: 8}\nmesh: {tensor: [x, y]}\n",
        "parallel: {tensor: 2, data: 2, pipeline: 2}\npipeline: {schedule: gpipe}\n"}) {
    auto given = small;
    given.more = more;
    const planning::PlanSpace space(given.load());
    EXPECT_EQ(space.plans_of_file().empty(), std::string_view(more).find("tensor: 8") == std::string_view::npos)
        << more;
  }
}

// A tenth below the best plan is the least that open plans may take: the gap is a tenth.
TEST(PlanSearchTest, TheGapIsWhatAnOpenPlanMayGain) {
  planning::SearchResult result;
  EXPECT_EQ(result.gap(), 0);
  result.best.emplace_back().figures.step_s = 2;
  EXPECT_EQ(result.gap(), 0);
  result.proof.open = 5;
  result.proof.lowest_open_s = 1.8;
  EXPECT_NEAR(result.gap(), 0.1, 1e-12);
  result.proof.lowest_open_s = 3;  // none of them can be faster
  EXPECT_EQ(result.gap(), 0);
}

}  // namespace
}  // namespace lockstep::test
