#pragma once
/// Every collective takes its closed-form time; nothing contends. Small enough to trust by reading,
/// it checks the SimGrid network wherever there is no contention.
#include <vector>

#include "sim/engine/runtime/date_queue.hpp"
#include "sim/engine/runtime/network.hpp"
#include "sim/program/program.hpp"

namespace lockstep::engine {

class ReferenceNetwork final : public Network {
 public:
  explicit ReferenceNetwork(const program::Program& program) : program_(program) {}

  [[nodiscard]] Seconds now() const override { return Seconds(now_s_); }
  void start_compute(Work work, Seconds until) override;
  [[nodiscard]] bool start_collective(Work work, std::int32_t op, std::int32_t group) override;
  void run(const TakeIn& take_in) override;
  [[nodiscard]] std::int64_t flows() const override { return 0; }

 private:
  const program::Program& program_;
  DateQueue dates_;
  double now_s_ = 0;
};

}  // namespace lockstep::engine
