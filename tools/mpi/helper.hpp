#pragma once
/// A small process that does the work of a rank, forked before MPI starts: interconnects do not bear a fork after that,
/// and a simulation that ends its process ends none of MPI's.
#include <functional>
#include <string>
#include <string_view>

namespace lockstep::mpi {

class Helper {
 public:
  using Answer = std::function<std::string(std::string_view request)>;
  /// `answer` is called in the new process, where what it changes stays.
  explicit Helper(const Answer& answer);
  Helper(const Helper&) = delete;
  Helper& operator=(const Helper&) = delete;
  ~Helper();  ///< ends it

  /// Throws OutOfResources or InternalError for what `answer` threw.
  [[nodiscard]] std::string ask(const std::string& request);

 private:
  int process_ = -1, requests_ = -1, answers_ = -1;
};

}  // namespace lockstep::mpi
