#pragma once
/// Hugging Face config.json -> Model. One reader per model_type in an explicit table; an unknown
/// model_type is refused by name (guessing "llama" would drift silently: biases, norms, gates differ).
#include <filesystem>
#include <string>
#include <vector>

#include "workloads/model/model.hpp"

namespace lockstep::workloads {

[[nodiscard]] std::vector<std::string> supported_model_types();
/// The model is named after the file, or after its folder when the file is config.json. Keys that say nothing about the
/// shape are ignored. From a multimodal config (text_config) the text part is read. Missing file, malformed JSON,
/// missing keys, impossible sizes and unknown model_type are problems.
[[nodiscard]] Model import_hf_config(const std::filesystem::path& file, Problems& problems);

}  // namespace lockstep::workloads
