#pragma once
/// Workers of a search in other processes. Sets of plans and plans are handed out as they become free; only the
/// searcher knows the best plans so far, so nobody works on what these rule out. All processes run the same program on
/// the same kind of machine, so values travel as they lie in memory.
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/studies/planning/plan_simulator.hpp"
#include "sim/studies/planning/plan_workers.hpp"

namespace lockstep::planning {

/// The way to the workers and back; these are numbered from 0.
class Messages {
 public:
  virtual ~Messages() = default;
  [[nodiscard]] virtual int workers() const = 0;
  virtual void send(int worker, const std::string& request) = 0;
  /// Waits for the next answer, whoever gives it.
  [[nodiscard]] virtual std::pair<int, std::string> receive() = 0;
};

/// The worker's end: answers one request at a time, and keeps what requests have in common.
class RemoteWorker {
 public:
  RemoteWorker(const PlanSpace& space, engine::EngineKind engine, spdlog::logger& log)
      : space_(space), engine_(engine), log_(log), tree_(space), simulator_(space) {}
  [[nodiscard]] std::string answer(std::string_view request);

 private:
  const PlanSpace& space_;
  engine::EngineKind engine_;
  spdlog::logger& log_;
  PlanTree tree_;
  PlanSimulator simulator_;
};

/// The searcher's end. `messages` must outlive it.
class RemoteWorkers : public PlanWorkers {
 public:
  RemoteWorkers(const PlanSpace& space, Messages& messages);

  [[nodiscard]] int count() const override { return messages_.workers(); }
  [[nodiscard]] std::vector<PlanBranch> roots() override;
  [[nodiscard]] std::vector<PlanTree::Branches> below(std::span<const PlanBranch> branches) override;
  [[nodiscard]] std::int64_t bounds() const override { return bounds_; }
  [[nodiscard]] bool has_room() const override { return idle() >= 0; }
  [[nodiscard]] bool none_runs() const override;
  void start(const PlanBranch& plan) override;
  [[nodiscard]] std::vector<ExactTimes::Timed> wait() override;
  [[nodiscard]] PlanFigures figures(const PlanChoice& choice) override;

 private:
  friend class RemoteWorker;
  enum class Task : char { roots, below, time, figures };
  struct Running {
    std::vector<std::size_t> which;  ///< of the branches that are looked into now
    std::optional<PlanBranch> plan;  ///< that is timed instead
  };
  using Answer = std::pair<std::vector<std::size_t>, std::string>;  ///< to which branches, and the text

  [[nodiscard]] int idle() const;  ///< a worker without work; -1: none
  void send(int worker, Task task, std::span<const PlanBranch> branches, std::vector<std::size_t> which);
  /// The next answer, unless it is the time of a plan, which is kept for wait().
  std::optional<Answer> receive();
  [[nodiscard]] Answer next_answer();
  [[nodiscard]] std::vector<PlanTree::Branches> look_into(Task task, std::span<const PlanBranch> branches);
  /// Up to `most` of the branches that are left, by split of layers. All of a split go to one worker, who knows its
  /// summaries, unless others have nothing to do.
  [[nodiscard]] std::vector<std::size_t> share_of(int worker, std::size_t most,
                                                  std::map<std::size_t, std::vector<std::size_t>>& left);

  Messages& messages_;
  std::vector<std::size_t> split_of_node_;
  std::map<std::size_t, int> owner_;             ///< of a split: the worker who knows its summaries
  std::vector<std::optional<Running>> running_;  ///< by worker
  std::vector<ExactTimes::Timed> timed_;         ///< for the next wait()
  std::int64_t bounds_ = 0;
};

}  // namespace lockstep::planning
