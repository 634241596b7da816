#pragma once
/// A format of files that describe a network: its row of the table.
#include <span>
#include <string_view>

#include "topologies/graph/network_builder_private.hpp"

namespace lockstep::topologies {

struct NetworkFormat {
  std::string_view name;
  /// Whether a file that begins like this is meant to be of this format.
  bool (*recognises)(std::string_view head);
  /// Adds what the text describes to the builder, and notes on what was assumed or left out.
  void (*read)(std::string_view text, NetworkBuilder& builder);
};

/// All formats; the first that recognises a file reads it.
[[nodiscard]] std::span<const NetworkFormat> network_formats();

}  // namespace lockstep::topologies
