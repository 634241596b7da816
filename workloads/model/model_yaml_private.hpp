#pragma once
/// How the blocks of a model in YAML are asked, and the parts that stand in a file of their own.
#include <string>
#include <string_view>
#include <vector>

#include "workloads/model/model.hpp"

namespace lockstep::workloads {

/// The size, or 0 when it is missing or refused, so that no later check complains of a made-up value.
[[nodiscard]] std::int64_t required_size(const YamlView& block, std::string_view key, std::int64_t least,
                                         std::int64_t most);
[[nodiscard]] std::int64_t size_or(const YamlView& block, std::string_view key, std::int64_t least,
                                   std::int64_t absent);
[[nodiscard]] bool flag_or(const YamlView& block, std::string_view key, bool absent);
/// Index of the chosen word; the first word is the default.
[[nodiscard]] std::size_t choice_or_first(const YamlView& block, std::string_view key,
                                          const std::vector<std::string>& words);

// model_yaml_layers.cpp: what a layer has in place of attention to all tokens.

void read_indexer(const YamlView& block, Model& model);
void read_compressed_attention(const YamlView& block, Model& model);
void read_full_heads(const YamlView& block, Model& model);
/// Whether the layers are listed by letters.
bool read_layer_pattern(const YamlView& letters, Model& model);
void read_recurrence(const YamlView& block, bool listed, Model& model);
void read_mtp_pattern(const YamlView& letters, Model& model);
/// Problems of layers that need a part which the model does not have, and of parts that no layer has.
void check_layer_kinds(const YamlView& block, const Model& model);

}  // namespace lockstep::workloads
