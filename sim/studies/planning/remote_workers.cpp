#include "sim/studies/planning/remote_workers.hpp"

#include <algorithm>
#include <type_traits>

#include "sim/core/errors.hpp"

namespace lockstep::planning {
namespace {

constexpr std::size_t most_at_once = 16;  // branches in one request

template <class Value>
void append(std::string& text, const Value& value) {
  static_assert(std::is_trivially_copyable_v<Value>);
  text.append(reinterpret_cast<const char*>(&value), sizeof value);
}

/// The next bytes of a message, which is shortened by them.
void take(std::string_view& text, void* to, std::size_t size) {
  if (text.size() < size) throw InternalError("planning: a message between workers ends too early");
  text.copy(static_cast<char*>(to), size);
  text.remove_prefix(size);
}

template <class Value>
Value taken(std::string_view& text) {
  static_assert(std::is_trivially_copyable_v<Value>);
  Value value;
  take(text, &value, sizeof value);
  return value;
}

void append(std::string& text, const PlanTree::Branches& made) {
  append(text, made.too_large);
  append(text, made.branches.size());
  for (const auto& branch : made.branches) append(text, branch);
}

PlanTree::Branches taken_branches(std::string_view& text) {
  PlanTree::Branches made;
  made.too_large = taken<std::int64_t>(text);
  for (auto left = taken<std::size_t>(text); left > 0; --left) made.branches.push_back(taken<PlanBranch>(text));
  return made;
}

}  // namespace

std::string RemoteWorker::answer(std::string_view request) {
  const auto task = taken<RemoteWorkers::Task>(request);
  std::string answer;
  const auto bounds = tree_.bounds();
  while (!request.empty()) {
    const auto branch = taken<PlanBranch>(request);
    switch (task) {
      case RemoteWorkers::Task::roots: append(answer, PlanTree::Branches{{tree_.root(branch.node)}, 0}); break;
      case RemoteWorkers::Task::below: append(answer, tree_.below(branch)); break;
      case RemoteWorkers::Task::time: append(answer, simulator_.step_s(branch.choice, engine_, log_)); break;
      case RemoteWorkers::Task::figures:
        append(answer, figures_in_child(space_.scenario(space_.node_of(branch.choice), branch.choice), engine_, log_));
        break;
    }
  }
  append(answer, tree_.bounds() - bounds);
  return answer;
}

RemoteWorkers::RemoteWorkers(const PlanSpace& space, Messages& messages)
    : messages_(messages),
      split_of_node_(splits_of_layers(space)),
      running_(static_cast<std::size_t>(messages.workers())) {}

std::vector<PlanBranch> RemoteWorkers::roots() {
  std::vector<PlanBranch> nodes(split_of_node_.size()), roots;
  for (std::size_t i = 0; i < nodes.size(); ++i) nodes[i].node = static_cast<std::int32_t>(i);
  for (const auto& made : look_into(Task::roots, nodes)) roots.push_back(made.branches.front());
  return roots;
}

std::vector<PlanTree::Branches> RemoteWorkers::below(std::span<const PlanBranch> branches) {
  return look_into(Task::below, branches);
}

std::vector<PlanTree::Branches> RemoteWorkers::look_into(Task task, std::span<const PlanBranch> branches) {
  std::vector<PlanTree::Branches> made(branches.size());
  std::map<std::size_t, std::vector<std::size_t>> left;  // by split
  for (std::size_t i = 0; i < branches.size(); ++i) left[split_of_node_[position_of(branches[i].node)]].push_back(i);
  const auto most = std::clamp(branches.size() / (4 * running_.size()), std::size_t{1}, most_at_once);
  for (std::size_t done = 0; done < branches.size();) {
    for (int worker = idle(); worker >= 0 && !left.empty(); worker = idle()) {
      auto share = share_of(worker, most, left);
      std::vector<PlanBranch> sent;
      for (const auto i : share) sent.push_back(branches[i]);
      send(worker, task, sent, std::move(share));
    }
    auto [which, answer] = next_answer();
    std::string_view text = answer;
    for (const auto i : which) made[i] = taken_branches(text);
    bounds_ += taken<std::int64_t>(text);
    done += which.size();
  }
  return made;
}

std::vector<std::size_t> RemoteWorkers::share_of(int worker, std::size_t most,
                                                 std::map<std::size_t, std::vector<std::size_t>>& left) {
  const auto owned_by = [&](int owner) {
    return std::find_if(left.begin(), left.end(), [&](const auto& split) {
      const auto known = owner_.find(split.first);
      return (known == owner_.end() ? -1 : known->second) == owner;
    });
  };
  auto from = owned_by(worker);
  if (from == left.end()) from = owned_by(-1);
  if (from == left.end()) from = std::prev(left.end());  // somebody else's
  owner_.try_emplace(from->first, worker);
  auto& all = from->second;
  const auto begin = all.end() - static_cast<std::ptrdiff_t>(std::min(most, all.size()));
  std::vector<std::size_t> share(begin, all.end());
  all.erase(begin, all.end());
  if (all.empty()) left.erase(from);
  return share;
}

bool RemoteWorkers::none_runs() const {
  return timed_.empty() &&
         std::none_of(running_.begin(), running_.end(), [](const auto& one) { return one && one->plan; });
}

void RemoteWorkers::start(const PlanBranch& plan) {
  const auto worker = idle();
  if (worker < 0) throw InternalError("planning: no worker is free");
  send(worker, Task::time, {&plan, 1}, {});
  running_[position_of(worker)]->plan = plan;
}

std::vector<ExactTimes::Timed> RemoteWorkers::wait() {
  while (timed_.empty()) (void)receive();
  return std::exchange(timed_, {});
}

PlanFigures RemoteWorkers::figures(const PlanChoice& choice) {
  while (idle() < 0) (void)receive();
  const PlanBranch plan{0, PlanBranch::Level::plan, choice, 0, 1, 0};
  send(idle(), Task::figures, {&plan, 1}, {0});
  const auto answer = next_answer().second;
  std::string_view text = answer;
  return taken<PlanFigures>(text);
}

int RemoteWorkers::idle() const {
  const auto free = std::find_if(running_.begin(), running_.end(), [](const auto& running) { return !running; });
  return free == running_.end() ? -1 : static_cast<int>(free - running_.begin());
}

void RemoteWorkers::send(int worker, Task task, std::span<const PlanBranch> branches, std::vector<std::size_t> which) {
  std::string request;
  append(request, task);
  for (const auto& branch : branches) append(request, branch);
  running_[position_of(worker)] = Running{std::move(which), {}};
  messages_.send(worker, request);
}

std::optional<RemoteWorkers::Answer> RemoteWorkers::receive() {
  auto [worker, text] = messages_.receive();
  auto running = std::move(*std::exchange(running_[position_of(worker)], std::nullopt));
  if (!running.plan) return Answer{std::move(running.which), std::move(text)};
  std::string_view rest = text;
  timed_.push_back({*running.plan, taken<double>(rest)});
  return std::nullopt;
}

RemoteWorkers::Answer RemoteWorkers::next_answer() {
  for (;;) {
    if (auto answer = receive()) return std::move(*answer);
  }
}

}  // namespace lockstep::planning
