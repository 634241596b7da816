#include "sim/studies/isolated.hpp"

#include <malloc.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <new>
#include <system_error>
#include <utility>

#include "sim/engine/load_simgrid.hpp"

namespace lockstep::studies {
namespace {

void write_all(int file, const void* data, std::size_t size) {
  const auto* at = static_cast<const char*>(data);
  while (size > 0) {
    const auto written = ::write(file, at, size);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;
    at += written;
    size -= static_cast<std::size_t>(written);
  }
}

/// As ::read, whatever signals come.
::ssize_t read_some(int file, void* data, std::size_t size) {
  ::ssize_t got = 0;
  do {
    got = ::read(file, data, size);
  } while (got < 0 && errno == EINTR);
  return got;
}

std::string read_all(int file) {
  std::string text;
  std::array<char, 4096> piece{};
  for (auto got = read_some(file, piece.data(), piece.size()); got > 0;
       got = read_some(file, piece.data(), piece.size())) {
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
std::string coded_answer(const std::function<std::string()>& work) {
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
  return text;
}

[[noreturn]] void no_process() {
  throw OutOfResources(
      "the system starts no process for a simulation: " + std::generic_category().message(errno) +
      "; expected more memory, processes or open files (ulimit), or fewer simulations at a time (--jobs)");
}

/// Makes a process that does `act` with its end of two files that `connect` connects, and ends. Throws OutOfResources
/// if the system makes no process.
template <class Connect, class Act>
Process forked(Connect connect, Act act) {
  std::array<int, 2> ends{};
  if (connect(ends.data()) != 0) no_process();
  const auto parent = ::getpid();
  ::sigset_t interrupt, before;
  ::sigemptyset(&interrupt);
  ::sigaddset(&interrupt, SIGINT);  // a terminal's Ctrl-C is for the parent, with which its children end
  ::pthread_sigmask(SIG_BLOCK, &interrupt, &before);
  const auto process = ::fork();
  const int why = errno;
  if (process != 0) ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (process < 0) {
    ::close(ends[0]);
    ::close(ends[1]);
    errno = why;
    no_process();
  }
  if (process == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(1);
    ::close(ends[0]);
    act(ends[1]);
    ::_exit(0);
  }
  ::close(ends[1]);
  return {process, ends[0]};
}

bool read_whole(int file, void* data, std::size_t size) {
  auto* at = static_cast<char*>(data);
  while (size > 0) {
    const auto got = read_some(file, at, size);
    if (got <= 0) return false;
    at += got;
    size -= static_cast<std::size_t>(got);
  }
  return true;
}

/// A child that does one piece of work after the other.
class Worker {
 public:
  /// What a worker sends before the text of an answer.
  struct Header {
    std::uint64_t size = 0;
    bool is_last = false;  ///< it does no further work
  };

  /// `others`: their files this one must not keep open.
  Worker(const std::function<std::string(std::size_t)>& work, const std::vector<Worker>& others)
      : process_(forked([](int* ends) { return ::socketpair(AF_UNIX, SOCK_STREAM, 0, ends); },
                        [&](int file) {
                          for (const auto& other : others) ::close(other.file());
                          do_pieces(file, work);
                        })) {}

  void give(std::size_t piece) {
    piece_ = piece;
    (void)::send(file(), &piece, sizeof piece, MSG_NOSIGNAL);  // that it has died is seen when its answer is read
  }
  [[nodiscard]] std::size_t piece() const { return piece_; }
  [[nodiscard]] int file() const { return process_.file(); }

  /// Waits for the answer to the last piece; after the worker's last one it has ended.
  [[nodiscard]] Answer answer() {
    Header header;
    std::string text;
    if (read_whole(file(), &header, sizeof header)) {
      text.resize(header.size);
      if (!read_whole(file(), text.data(), text.size())) text.clear();
    }
    const int status = text.empty() || header.is_last ? process_.end() : 0;
    return {std::move(text), status};
  }
  [[nodiscard]] bool has_ended() const { return process_.has_ended(); }

 private:
  /// Memory that is given back to the system is cleared before it comes again.
  static void keep_memory() {
    constexpr int most_kept = 1 << 30;
    ::mallopt(M_TRIM_THRESHOLD, most_kept);
    ::mallopt(M_MMAP_MAX, 0);
  }
  static void do_pieces(int file, const std::function<std::string(std::size_t)>& work) {
    keep_memory();
    std::size_t piece = 0;
    while (read_whole(file, &piece, sizeof piece)) {
      const auto text = coded_answer([&] { return work(piece); });
      const Header header{text.size(), engine::simgrid_has_run()};
      write_all(file, &header, sizeof header);
      write_all(file, text.data(), text.size());
      if (header.is_last) return;
    }
  }

  Process process_;
  std::size_t piece_ = 0;
};

/// The first of these files that has something to read or has been closed; waits until there is one.
std::size_t first_ready(const std::vector<int>& files) {
  std::vector<::pollfd> polled;
  for (const int file : files) polled.push_back({file, POLLIN, 0});
  while (::poll(polled.data(), polled.size(), -1) <= 0) {
  }
  const auto ready = std::find_if(polled.begin(), polled.end(), [](const auto& file) { return file.revents != 0; });
  return static_cast<std::size_t>(ready - polled.begin());
}

}  // namespace

Process::Process(Process&& other) noexcept : number_(std::exchange(other.number_, -1)), file_(other.file_) {}

Process& Process::operator=(Process&& other) noexcept {
  std::swap(number_, other.number_);
  std::swap(file_, other.file_);
  return *this;
}

Process::~Process() {
  if (!has_ended()) (void)end();
}

int Process::end() {
  ::close(file_);
  int status = 0;
  const int number = std::exchange(number_, -1);
  while (::waitpid(number, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

Child::Child(const std::function<std::string()>& work)
    : process_(forked(::pipe, [&](int file) {
        const auto text = coded_answer(work);
        write_all(file, text.data(), text.size());
      })) {}

std::size_t Child::first_ready(const std::vector<Child>& children) {
  std::vector<int> files;
  for (const auto& child : children) files.push_back(child.process_.file());
  return studies::first_ready(files);
}

std::string Child::answer() {
  auto coded = read_all(process_.file());
  const int status = process_.end();
  return Answer(std::move(coded), status).text();
}

std::string Answer::text() const {
  if (coded_.empty() && WIFSIGNALED(status_) && WTERMSIG(status_) == SIGKILL) {
    throw OutOfResources(
        "a simulation's process was killed (signal 9), as systems do when memory runs out; expected more of it, or "
        "fewer simulations at a time (--jobs)");
  }
  if (coded_.empty())
    throw ProcessDied("the simulation's process ended " +
                      (WIFSIGNALED(status_) ? "by signal " + std::to_string(WTERMSIG(status_))
                                            : "with status " + std::to_string(WEXITSTATUS(status_))));
  if (coded_[0] == 'm') throw OutOfResources(coded_.size() > 1 ? coded_.substr(1) : no_memory);
  if (coded_[0] == 'c') throw ConfigError(problems_in(coded_.substr(1)));
  if (coded_[0] != 'o') throw InternalError(coded_.substr(1));
  return coded_.substr(1);
}

std::string in_child(const std::function<std::string()>& work) { return Child(work).answer(); }

void in_children(std::size_t count, int jobs, const std::function<std::string(std::size_t)>& work,
                 const std::function<void(std::size_t, const Answer&)>& take) {
  if (jobs < 1) throw InternalError("work is given to no process");
  std::vector<Worker> workers;
  std::size_t next = 0;
  while (next < count && std::ssize(workers) < jobs) {
    workers.push_back(Worker(work, workers));
    workers.back().give(next++);
  }
  while (!workers.empty()) {
    std::vector<int> files;
    for (const auto& worker : workers) files.push_back(worker.file());
    const auto ready = workers.begin() + static_cast<std::ptrdiff_t>(first_ready(files));
    const auto piece = ready->piece();
    const auto answer = ready->answer();
    const bool has_ended = ready->has_ended();
    if (has_ended || next == count) workers.erase(ready);
    if (next < count) {
      if (has_ended) workers.push_back(Worker(work, workers));
      (has_ended ? workers.back() : *ready).give(next++);
    }
    take(piece, answer);
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
