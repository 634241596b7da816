#pragma once
/// Simulations in processes of their own: SimGrid allows one engine per process.
#include <functional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "sim/simulate.hpp"

namespace lockstep::studies {

/// The machine has no memory, process or thread left for a simulation: neither the user's mistake nor ours.
class OutOfResources : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A process ended without an answer: by a signal of the system or of its own.
class ProcessDied : public InternalError {
 public:
  using InternalError::InternalError;
};

/// A forked process and the file through which it answers; it does not outlive the process that made it.
class Process {
 public:
  Process(int number, int file) : number_(number), file_(file) {}
  Process(Process&& other) noexcept;
  Process& operator=(Process&& other) noexcept;
  ~Process();  ///< waits

  [[nodiscard]] int file() const { return file_; }
  [[nodiscard]] bool has_ended() const { return number_ < 0; }
  /// Listens no more, so that it ends when it answers, and waits for that; its status.
  int end();

 private:
  int number_;  ///< -1: it has ended
  int file_;
};

/// A process that does `work`, answers with its text and ends.
class Child {
 public:
  /// Throws OutOfResources if the system makes no process.
  explicit Child(const std::function<std::string()>& work);

  /// The first child that has answered or ended; waits until there is one.
  [[nodiscard]] static std::size_t first_ready(const std::vector<Child>& children);
  /// Waits for the answer; may be called once. Throws what the child threw: ConfigError for the user's mistakes,
  /// OutOfResources if memory ran out or the system killed it, InternalError otherwise (ProcessDied if it never
  /// answered).
  [[nodiscard]] std::string answer();

 private:
  Process process_;
};

/// The answer of a single child.
[[nodiscard]] std::string in_child(const std::function<std::string()>& work);

/// What a piece of work in another process came to.
class Answer {
 public:
  /// As a process coded it; empty if it ended without an answer, then with this status.
  Answer(std::string coded, int status) : coded_(std::move(coded)), status_(status) {}
  /// The work's text. Throws as Child::answer.
  [[nodiscard]] std::string text() const;

 private:
  std::string coded_;
  int status_;
};

/// Does `count` pieces of work, at most `jobs` at a time: `work` is run in children, `take` here as answers come in.
/// A child does one piece after the other, so that it keeps its memory, and sees what this process knew when the child
/// was made; one that has run SimGrid, which runs once in a process, makes way for another.
void in_children(std::size_t count, int jobs, const std::function<std::string(std::size_t)>& work,
                 const std::function<void(std::size_t, const Answer&)>& take);

/// The figures of one simulation, small enough for a pipe.
struct Outcome {
  double step_s = 0, compute_s = 0, exposed_comm_s = 0, bubble_s = 0, mfu = 0;
  std::int64_t peak_bytes = 0, capacity_bytes = 0;
};

/// simulate() in a child.
[[nodiscard]] Outcome simulate_isolated(const scenario::Scenario& scenario, engine::EngineKind engine,
                                        spdlog::logger& log);

}  // namespace lockstep::studies
