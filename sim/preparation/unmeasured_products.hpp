#pragma once
/// The products of a step whose shapes the chip's table of measured products lacks.
#include <string>
#include <vector>

#include "sim/scenario/scenario.hpp"
#include "topologies/chips/measured_products.hpp"

namespace lockstep::preparation {

/// Shapes of one step's products, as one rank multiplies them.
struct UnmeasuredProducts {
  std::size_t shapes = 0;                         ///< different ones
  std::vector<topologies::ProductShape> missing;  ///< that the table lacks, those with the most FLOPs first
  double share_of_flops = 0;                      ///< of all products' FLOPs, those of the missing shapes
};

/// For the scenario's first chip and the mesh axes whose sizes the scenario states. Throws ConfigError for shardings
/// that do not divide.
[[nodiscard]] UnmeasuredProducts unmeasured_products(const scenario::Scenario& scenario,
                                                     const topologies::MeasuredProducts& table);
/// A sentence without a full stop: how many shapes are missing, and the largest of them; "" if none is.
[[nodiscard]] std::string unmeasured_products_note(const UnmeasuredProducts& found, const std::string& file);

}  // namespace lockstep::preparation
