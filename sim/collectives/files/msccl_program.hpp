#pragma once
/// An MSCCL algorithm as its file says it: for every GPU, thread blocks that run their steps one after another.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/collectives/files/chunk_schedule.hpp"
#include "sim/core/errors.hpp"

namespace lockstep::collectives::msccl {

enum class Buffer { input, output, scratch };

struct Chunks {
  Buffer buffer = Buffer::input;
  std::int32_t first = -1;  ///< -1: none
};

/// What a step does, in this order.
struct Action {
  std::string_view type;  ///< as the file has it
  bool receives, reduces, stores, sends;
};

struct Step {
  const Action* action = nullptr;
  Chunks source, target;
  std::int32_t count = 1;
  std::int32_t after_block = -1, after_step = -1;  ///< of the same GPU, which ends before this one starts; -1: none
  bool awaited = false;                            ///< another step waits for this one
  std::int32_t line = 0, column = 0;
};

struct ThreadBlock {
  MemberId send = -1, receive = -1;  ///< the peers; -1: none
  std::int32_t channel = 0;
  std::vector<Step> steps;
};

struct Gpu {
  std::int32_t input = 0, output = 0, scratch = 0;  ///< chunks of its buffers
  std::vector<ThreadBlock> blocks;
};

struct Algorithm {
  std::string file, name, protocol;
  workloads::CollectiveKind kind = workloads::CollectiveKind::all_gather;
  std::int32_t chunks = 0;  ///< of the larger buffer
  bool in_place = false;    ///< the smaller buffer is a part of the larger one
  std::vector<Gpu> gpus;
  std::int32_t line = 0, column = 0;
  [[nodiscard]] Location where(const Step& step) const { return {file, step.line, step.column}; }
};

/// What a step of this type does; it must be one.
[[nodiscard]] const Action& action_named(std::string_view type);
/// "allgather": how files call a kind.
[[nodiscard]] std::string_view file_name(workloads::CollectiveKind kind);

[[nodiscard]] bool is_msccl(std::string_view text);
/// Every reference in the answer leads somewhere; nothing where something is wrong, which is a problem then.
[[nodiscard]] std::optional<Algorithm> read_algorithm(std::string_view text, const std::string& file,
                                                      Problems& problems);
/// Runs it on symbols and checks its promise; what is wrong is a problem.
[[nodiscard]] ChunkSchedule execute(const Algorithm& algorithm, Problems& problems);

}  // namespace lockstep::collectives::msccl
