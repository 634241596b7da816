#include "tests/unit/planning/small_space.hpp"

#include "tests/source_dir.hpp"

namespace lockstep::test {

std::string SmallSpace::text() const {
  return "format: 1\nmodel: {type: two-matmul, layers: " + std::to_string(layers) +
         ", d_model: " + std::to_string(small_d) + ", d_ff: " + std::to_string(small_f) + "}\ncluster: \"" + cluster +
         "\"\nbatch: {sequences: " + std::to_string(sequences) + ", sequence_length: 8}\n" +
         (search.empty() ? "" : "search: {" + search + "}\n") +
         (more.find("model_of_time") == std::string::npos ? "model_of_time: ideal\n" : "") + more;
}

scenario::Scenario SmallSpace::load() const { return scenario::scenario_of_text(text(), "small.yaml", source_dir); }

}  // namespace lockstep::test
