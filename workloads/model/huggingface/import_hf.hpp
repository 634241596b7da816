#pragma once
/// Hugging Face config.json -> Model. One reader per model_type in an explicit table; an unknown
/// model_type is refused by name (guessing "llama" would drift silently: biases, norms, gates differ).
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "workloads/model/model.hpp"

namespace lockstep::workloads {

[[nodiscard]] std::vector<std::string> supported_model_types();
/// The model is named after the file, or after its folder when the file is config.json. Keys that say nothing about the
/// shape are ignored. From a multimodal config (text_config) the text part is read. Missing file, malformed JSON,
/// missing keys, impossible sizes and unknown model_type are problems. `as` reads the file as another type than it
/// says.
[[nodiscard]] Model import_hf_config(const std::filesystem::path& file, Problems& problems, std::string_view as = {});

/// A file of a type without a reader, read as the type whose keys it has.
struct Draft {
  std::string model_type;  ///< as the file says
  std::string read_as;
  Model model;
};
/// None if the type has a reader, or if that type's sizes are not all there.
[[nodiscard]] std::optional<Draft> draft_of_unknown(const std::filesystem::path& file);

}  // namespace lockstep::workloads
