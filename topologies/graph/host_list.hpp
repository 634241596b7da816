#pragma once
/// Lists of names as Slurm writes them: `gpu[001-128],login1`. A backslash takes the next letter as it stands, so that
/// any name can be written.
#include <cstddef>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "sim/core/quantity_text.hpp"

namespace lockstep::topologies {

/// The names of a list in its order, "n[1-2]" before "m"; of several brackets in a name the last one counts fastest.
/// A list of more than `most` names is refused before any of them is made.
[[nodiscard]] std::variant<std::vector<std::string>, QuantityError> expand_names(std::string_view list,
                                                                                 std::size_t most);
/// The shortest list that this function finds; expand_names gives the same names in the same order.
[[nodiscard]] std::string fold_names(const std::vector<std::string>& names);

/// Whether a name comes before another where numbers within names count as numbers: "mlx5_9" before "mlx5_10".
[[nodiscard]] bool natural_less(std::string_view one, std::string_view other);

/// "a, b, c and 5 more".
[[nodiscard]] std::string some_of(const std::vector<std::string>& names, std::size_t most = 3);

}  // namespace lockstep::topologies
