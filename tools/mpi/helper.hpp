#pragma once
/// A small process that simulates points, forked before MPI starts: interconnects do not bear a fork after that, and a
/// scenario that ends its process ends none of MPI's.
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tools/sweep/run_sweep.hpp"

namespace lockstep::mpi {

class PointHelper {
 public:
  PointHelper(const sweep::Sweep& sweep, const sweep::SweepOptions& options, spdlog::logger& log);
  PointHelper(const PointHelper&) = delete;
  PointHelper& operator=(const PointHelper&) = delete;
  ~PointHelper();  ///< ends it

  /// Results of the points, as rows_in() reads them.
  [[nodiscard]] std::string simulate(std::span<const std::int64_t> points);

 private:
  int process_ = -1, requests_ = -1, answers_ = -1;
};

[[nodiscard]] std::vector<std::pair<std::int64_t, sweep::PointResult>> rows_in(std::string_view text);

}  // namespace lockstep::mpi
