#include <iostream>

#include "sim/core/quantity_text.hpp"
#include "sim/core/yaml_view.hpp"

int main() {
  lockstep::Problems problems;
  const auto file = lockstep::YamlView::from_text("bandwidth: 90 GB/s", "memory", problems);
  std::cout << lockstep::format(file["bandwidth"].bytes_per_second()) << '\n';
}
