// What the search for a plan would take on many cores: plan_cores SCENARIO [KEY=VALUE...] [cores...]
// The search runs here as it does over MPI, each worker with what it knows, but on one core and against a clock of its
// own: a request takes its worker the processor time that it takes here, the searcher the time that it computes between
// requests, and a message 20 us. One plan is shown, as with --top 1.
#include <spdlog/logger.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <deque>
#include <limits>
#include <vector>

#include "sim/scenario/scenario.hpp"
#include "sim/studies/planning/plan_search.hpp"
#include "sim/studies/planning/remote_workers.hpp"

namespace {

using namespace lockstep;

constexpr double message_s = 20e-6;

/// Processor time of this process.
double computed_s() {
  timespec own{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &own);
  return static_cast<double>(own.tv_sec) + 1e-9 * static_cast<double>(own.tv_nsec);
}

double wall_s() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

class ClockedMessages : public planning::Messages {
 public:
  ClockedMessages(const planning::PlanSpace& space, int workers, spdlog::logger& log) {
    for (int i = 0; i < workers; ++i) workers_.emplace_back(space, engine::EngineKind::max_min, log);
  }
  [[nodiscard]] int workers() const override { return static_cast<int>(workers_.size()); }
  void send(int worker, const std::string& request) override {
    searcher_computed();
    now_s += message_s;  // the searcher sends one message after the other
    // A plan that is shown is simulated in a process of its own, whose time counts as real time does.
    const double started_s = computed_s(), started_wall_s = wall_s();
    auto answer = workers_[static_cast<std::size_t>(worker)].answer(request);
    const double own_s = computed_s() - started_s;
    const double took_s = request.front() == shown ? wall_s() - started_wall_s : own_s;
    busy_s += took_s;
    longest_s = std::max(longest_s, took_s);
    ++requests;
    waiting_.push_back({now_s + message_s + took_s, worker, std::move(answer)});
    since_s_ = computed_s();
  }
  [[nodiscard]] std::pair<int, std::string> receive() override {
    searcher_computed();
    const auto first = std::min_element(waiting_.begin(), waiting_.end(),
                                        [](const auto& a, const auto& b) { return a.at_s < b.at_s; });
    auto answer = std::move(*first);
    waiting_.erase(first);
    now_s = std::max(now_s, answer.at_s + message_s);
    since_s_ = computed_s();
    return {answer.worker, std::move(answer.text)};
  }
  /// The searcher has computed since the last message.
  void searcher_computed() {
    const double now = computed_s();
    searcher_s += now - since_s_;
    now_s += now - since_s_;
    since_s_ = now;
  }

  double now_s = 0, busy_s = 0, searcher_s = 0, longest_s = 0;
  std::int64_t requests = 0;

 private:
  static constexpr char shown = 3;  // the task of PlanWorkers::figures
  struct Answer {
    double at_s = 0;
    int worker = 0;
    std::string text;
  };
  std::deque<planning::RemoteWorker> workers_;
  std::vector<Answer> waiting_;
  double since_s_ = computed_s();
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  spdlog::logger silent("bench");
  std::vector<scenario::KeyOverride> keys;
  std::vector<int> cores;
  for (int i = 2; i < argc; ++i) {
    const std::string word = argv[i];
    const auto equals = word.find('=');
    if (equals != std::string::npos) {
      keys.push_back({word.substr(0, equals), word.substr(equals + 1)});
    } else {
      cores.push_back(std::atoi(argv[i]));
    }
  }
  if (cores.empty()) cores = {1, 4, 16, 64, 256, 1024};
  const planning::PlanSpace space(scenario::load_scenario(argv[1], keys));
  std::printf("%6s %9s %9s %9s %9s %9s %9s\n", "cores", "seconds", "speed-up", "work", "searcher", "longest",
              "requests");
  double alone_s = 0;
  for (const int workers : cores) {
    ClockedMessages messages(space, workers, silent);
    planning::RemoteWorkers remote(space, messages);
    planning::SearchOptions options;
    options.top = 1;
    const auto result = search_plans(space, options, remote);
    messages.searcher_computed();
    if (alone_s == 0) alone_s = messages.now_s;
    std::printf("%6d %9.3f %9.2f %9.2f %9.3f %9.3f %9lld\n", workers, messages.now_s, alone_s / messages.now_s,
                messages.busy_s, messages.searcher_s, messages.longest_s, static_cast<long long>(messages.requests));
    std::fflush(stdout);
  }
  return 0;
}
