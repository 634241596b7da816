#include <charconv>

#include "sim/scenario/scenario.hpp"

namespace lockstep {

TorusSpec parse_cluster(std::string_view text, const Location& where, const std::string& key, Problems& problems) {
  TorusSpec spec;
  const std::string expected = "CHIP:SHAPE such as tpu-v5p:16x20x28";
  const auto colon = text.find(':');
  if (colon == std::string_view::npos) {
    problems.add({where, key, "'" + std::string(text) + "' has no shape", expected});
    return spec;
  }
  spec.chip = load_chip(data_root() / "topologies" / "catalog", text.substr(0, colon), problems);
  auto rest = text.substr(colon + 1);
  while (true) {
    int size = 0;
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), size);
    if (error != std::errc{} || size < 1) {
      problems.add({where, key, "'" + std::string(text) + "' has a bad shape", expected});
      return spec;
    }
    spec.shape.push_back(size);
    rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
    if (rest.empty()) return spec;
    if (rest.front() != 'x') {
      problems.add({where, key, "'" + std::string(text) + "' has a bad shape", expected});
      return spec;
    }
    rest.remove_prefix(1);
  }
}

}  // namespace lockstep
