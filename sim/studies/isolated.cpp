#include "sim/studies/isolated.hpp"

#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <new>
#include <system_error>
#include <utility>

namespace lockstep::studies {
namespace {

void write_all(int file, const void* data, std::size_t size) {
  const auto* at = static_cast<const char*>(data);
  while (size > 0) {
    const auto written = ::write(file, at, size);
    if (written <= 0) return;
    at += written;
    size -= static_cast<std::size_t>(written);
  }
}

std::string read_all(int file) {
  std::string text;
  std::array<char, 4096> piece{};
  for (auto got = ::read(file, piece.data(), piece.size()); got > 0; got = ::read(file, piece.data(), piece.size())) {
    text.append(piece.data(), static_cast<std::size_t>(got));
  }
  return text;
}

Outcome outcome_of(const metrics::Metrics& metrics) {
  return {metrics.step_time.value(),
          metrics.breakdown.compute.value(),
          metrics.breakdown.exposed_comm.value(),
          metrics.breakdown.bubble.value(),
          metrics.mfu(),
          metrics.memory.peak.value(),
          metrics.memory.capacity.value()};
}

constexpr char field_end = '\x1f', problem_end = '\x1e';  // never in a message: problems show control codes escaped

std::string to_text(const std::vector<Problem>& problems) {
  std::string text;
  for (const auto& problem : problems) {
    for (const auto& field : {problem.where.file, std::to_string(problem.where.line),
                              std::to_string(problem.where.column), problem.key, problem.what, problem.expected}) {
      text += field + field_end;
    }
    text += problem_end;
  }
  return text;
}

std::vector<Problem> problems_in(const std::string& text) {
  std::vector<Problem> problems;
  std::vector<std::string> fields(1);
  for (const char c : text) {
    if (c == field_end) {
      fields.emplace_back();
    } else if (c == problem_end) {
      problems.push_back({{fields[0], std::stoi(fields[1]), std::stoi(fields[2])}, fields[3], fields[4], fields[5]});
      fields.assign(1, "");
    } else {
      fields.back() += c;
    }
  }
  return problems;
}

constexpr const char* no_memory =
    "not enough memory for a simulation; expected more of it, or fewer simulations at a time (--jobs)";

/// The child's answer: 'o' and its text, 'c' and problems, 'm' and what the machine has too little of, or 'e' and a
/// message.
[[noreturn]] void answer(int file, const std::function<std::string()>& work) {
  std::string text;
  try {
    text = "o" + work();
  } catch (const ConfigError& error) {
    text = "c" + to_text(error.problems());
  } catch (const OutOfResources& error) {
    text = std::string("m") + error.what();
  } catch (const std::bad_alloc&) {
    std::string().swap(text);
    text = "m";  // needs no memory
  } catch (const std::exception& error) {
    text = std::string("e") + error.what();
  }
  write_all(file, text.data(), text.size());
  ::_exit(0);
}

[[noreturn]] void no_process() {
  throw OutOfResources(
      "the system starts no process for a simulation: " + std::generic_category().message(errno) +
      "; expected more memory, processes or open files (ulimit), or fewer simulations at a time (--jobs)");
}

}  // namespace

Child::Child(const std::function<std::string()>& work) {
  std::array<int, 2> ends{};
  if (::pipe(ends.data()) != 0) no_process();
  const auto parent = ::getpid();
  ::sigset_t interrupt, before;
  ::sigemptyset(&interrupt);
  ::sigaddset(&interrupt, SIGINT);  // a terminal's Ctrl-C is for the parent, with which its children end
  ::pthread_sigmask(SIG_BLOCK, &interrupt, &before);
  process_ = ::fork();
  const int why = errno;
  if (process_ != 0) ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (process_ < 0) {
    ::close(ends[0]);
    ::close(ends[1]);
    errno = why;
    no_process();
  }
  if (process_ == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(1);
    ::close(ends[0]);
    studies::answer(ends[1], work);
  }
  ::close(ends[1]);
  file_ = ends[0];
}

Child::Child(Child&& other) noexcept
    : process_(std::exchange(other.process_, -1)), file_(std::exchange(other.file_, -1)) {}

Child& Child::operator=(Child&& other) noexcept {
  std::swap(process_, other.process_);
  std::swap(file_, other.file_);
  return *this;
}

std::size_t Child::first_ready(const std::vector<Child>& children) {
  std::vector<::pollfd> files;
  for (const auto& child : children) files.push_back({child.file_, POLLIN, 0});
  while (::poll(files.data(), files.size(), -1) <= 0) {
  }
  const auto ready = std::find_if(files.begin(), files.end(), [](const auto& file) { return file.revents != 0; });
  return static_cast<std::size_t>(ready - files.begin());
}

Child::~Child() {
  if (process_ > 0) (void)end();
}

int Child::end() {
  ::close(file_);  // one that is not listened to any more ends when it answers
  int status = 0;
  ::waitpid(std::exchange(process_, -1), &status, 0);
  return status;
}

std::string Child::answer() {
  const auto text = read_all(file_);
  const int status = end();
  if (text.empty() && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) {
    throw OutOfResources(
        "a simulation's process was killed (signal 9), as systems do when memory runs out; expected more of it, or "
        "fewer simulations at a time (--jobs)");
  }
  if (text.empty())
    throw ProcessDied("the simulation's process ended " + (WIFSIGNALED(status)
                                                               ? "by signal " + std::to_string(WTERMSIG(status))
                                                               : "with status " + std::to_string(WEXITSTATUS(status))));
  if (text[0] == 'm') throw OutOfResources(text.size() > 1 ? text.substr(1) : no_memory);
  if (text[0] == 'c') throw ConfigError(problems_in(text.substr(1)));
  if (text[0] != 'o') throw InternalError(text.substr(1));
  return text.substr(1);
}

std::string in_child(const std::function<std::string()>& work) { return Child(work).answer(); }

void in_children(std::size_t count, int jobs, const std::function<std::string(std::size_t)>& work,
                 const std::function<void(std::size_t, Child&)>& take) {
  std::vector<Child> running;
  std::vector<std::size_t> of;
  for (std::size_t next = 0; next < count || !running.empty();) {
    while (next < count && std::ssize(running) < jobs) {
      running.emplace_back([&] { return work(next); });
      of.push_back(next++);
    }
    const auto ready = Child::first_ready(running);
    auto child = std::move(running[ready]);
    const auto index = of[ready];
    running.erase(running.begin() + static_cast<std::ptrdiff_t>(ready));
    of.erase(of.begin() + static_cast<std::ptrdiff_t>(ready));
    take(index, child);
  }
}

Outcome simulate_isolated(const scenario::Scenario& scenario, engine::EngineKind engine, spdlog::logger& log) {
  (void)preparation::prepare(scenario);  // most of a user's mistakes are thrown here, without a process
  engine::load(engine);
  const auto text = in_child([&] {
    const auto made = outcome_of(simulate(scenario, {engine, true, {}}, log).metrics);
    return std::string(reinterpret_cast<const char*>(&made), sizeof made);
  });
  Outcome outcome;
  std::memcpy(&outcome, text.data(), std::min(text.size(), sizeof outcome));
  return outcome;
}

}  // namespace lockstep::studies
