#include "tools/mpi/job.hpp"

#include <mpi.h>
#include <unistd.h>

#include "sim/core/errors.hpp"
#include "tools/output/files/exit_code.hpp"

namespace lockstep::mpi {
namespace {

constexpr int tag = 1;

/// The exit code; what is wrong goes to stderr.
int guarded(const std::function<void()>& work) {
  try {
    work();
    return 0;
  } catch (...) {
    return output::exit_code_of_error("lockstep-mpi");
  }
}

std::string received(const MPI_Status& status) {
  int size = 0;
  MPI_Get_count(&status, MPI_BYTE, &size);
  std::string text(static_cast<std::size_t>(size), '\0');
  MPI_Recv(text.data(), size, MPI_BYTE, status.MPI_SOURCE, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  return text;
}

}  // namespace

int run_job(int& argc, char**& argv, const std::exception_ptr& refused, const std::function<void(int)>& lead,
            const std::function<void()>& follow) {
  MPI_Init(&argc, &argv);
  int rank = 0, ranks = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  int code = 2;
  if (refused || ranks < 2) {  // all ranks find the same
    if (rank == 0) {
      code = guarded([&] {
        if (refused) std::rethrow_exception(refused);
        throw ConfigError({{{"lockstep-mpi", 0, 0},
                            "",
                            "there is one rank only",
                            "two or more: rank 0 hands out the work, such as mpirun -n 4"}});
      });
    }
  } else {
    code = guarded([&] { rank == 0 ? lead(ranks - 1) : follow(); });
    if (code != 0) MPI_Abort(MPI_COMM_WORLD, code);
  }
  MPI_Finalize();
  return code;
}

std::pair<int, std::string> received() {
  int ready = 0;
  MPI_Status status;
  while (true) {  // a waiting MPI_Probe would take a core
    MPI_Iprobe(MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, &ready, &status);
    if (ready != 0) break;
    ::usleep(200);
  }
  return {status.MPI_SOURCE, received(status)};
}

void send(int rank, const std::string& text) {
  MPI_Send(text.data(), static_cast<int>(text.size()), MPI_BYTE, rank, tag, MPI_COMM_WORLD);
}

std::string received_from_leader() {
  MPI_Status status;
  MPI_Probe(0, tag, MPI_COMM_WORLD, &status);
  return received(status);
}

}  // namespace lockstep::mpi
