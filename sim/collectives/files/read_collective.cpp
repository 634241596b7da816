#include "sim/collectives/files/read_collective.hpp"

#include "sim/collectives/files/msccl_program.hpp"
#include "sim/collectives/files/step_list.hpp"
#include "topologies/graph/text_file.hpp"

namespace lockstep::collectives {

ChunkSchedule read_collective_text(std::string_view text, const std::string& file) {
  Problems problems;
  ChunkSchedule schedule;
  if (!msccl::is_msccl(text)) {
    schedule = read_step_list(text, file, problems);
  } else if (const auto algorithm = msccl::read_algorithm(text, file, problems)) {
    schedule = msccl::execute(*algorithm, problems);
  }
  problems.throw_if_any();
  return schedule;
}

ChunkSchedule read_collective(const std::filesystem::path& file) {
  Problems problems;
  const auto text = topologies::read_text(
      file, [](std::string_view) { return true; }, problems);
  problems.throw_if_any();
  return read_collective_text(*text, file.string());
}

}  // namespace lockstep::collectives
