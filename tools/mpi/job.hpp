#pragma once
/// An MPI job whose rank 0 hands out work, which the other ranks do.
#include <cstdint>
#include <exception>
#include <functional>
#include <string>
#include <utility>

namespace lockstep::mpi {

/// Starts MPI and runs `lead` on rank 0, which is given the number of the other ranks, and `follow` on these. What they
/// throw, `refused`, and a job of one rank are told on stderr by one rank. The exit code.
[[nodiscard]] int run_job(int& argc, char**& argv, const std::exception_ptr& refused,
                          const std::function<void(int followers)>& lead, const std::function<void()>& follow);

/// On rank 0: the next message of any rank, and whose it is.
[[nodiscard]] std::pair<int, std::string> received();
void send(int rank, const std::string& text);
/// On the other ranks: the next message of rank 0.
[[nodiscard]] std::string received_from_leader();

}  // namespace lockstep::mpi
