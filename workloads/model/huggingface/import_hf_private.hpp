#pragma once
/// A config.json as the readers of model_types ask it, and what several of them share.
#include <initializer_list>
#include <span>
#include <string_view>
#include <vector>

#include "workloads/model/layer_pattern.hpp"
#include "workloads/model/model.hpp"
#include "workloads/model/model_limits.hpp"

namespace lockstep::workloads {

/// An absent key takes the default of its model_type, so every default is written at the place that
/// asks. An explicit null counts as absent unless the reader asks is_null.
class HfConfig {
 public:
  using Keys = std::initializer_list<std::string_view>;  ///< names of one meaning; the first is today's

  explicit HfConfig(const YamlView& document);
  /// The map itself, for problems at one of its keys.
  [[nodiscard]] const YamlView& text() const { return text_; }
  /// A map inside (dbrx), without text_config; absent keys of an absent map are absent.
  [[nodiscard]] HfConfig part(std::string_view key) const;

  [[nodiscard]] bool is_null(std::string_view key) const { return text_[key].is_null(); }
  [[nodiscard]] bool given(std::string_view key) const { return text_[key].exists() && !is_null(key); }
  [[nodiscard]] std::int64_t size(std::string_view key, std::int64_t most = most_size) const {
    return size({key}, most);
  }
  [[nodiscard]] std::int64_t size(Keys names, std::int64_t most = most_size) const;
  /// `least` may be 0 where nothing is a choice.
  [[nodiscard]] std::int64_t size_or(std::string_view key, std::int64_t absent, std::int64_t least = 1) const {
    return size_or(Keys{key}, absent, least);
  }
  [[nodiscard]] std::int64_t size_or(Keys names, std::int64_t absent, std::int64_t least = 1) const;
  /// A multimodal config may write flags beside text_config instead of inside.
  [[nodiscard]] bool flag_or(std::string_view key, bool absent) const;
  [[nodiscard]] std::vector<std::int64_t> list(std::string_view key) const;  ///< whole numbers; empty if absent

 private:
  HfConfig(const YamlView& outer, const YamlView& text) : outer_(outer), text_(text) {}
  [[nodiscard]] YamlView one_of(Keys names) const;
  YamlView outer_;
  YamlView text_;
};

/// The meaning of absent keys for one model_type; 0: heads, hidden_size / heads, a required vocab_size.
struct ClassDefaults {
  std::int64_t kv_heads = 0;
  std::int64_t head_size = 0;
  std::int64_t vocabulary = 0;
  bool tied = false;
};

/// The part that most types write alike: all sizes but that of the MLP, gated between two RMS norms.
[[nodiscard]] Model read_shape(const HfConfig& config, const ClassDefaults& absent);
/// Like read_shape, with the dense MLP.
[[nodiscard]] Model read_dense_shape(const HfConfig& config, const ClassDefaults& absent);
void read_attention_bias(const HfConfig& config, bool absent, Model& model);
/// Windows by the type's rule, unless the file lists each layer under layer_types.
void read_windows(const HfConfig& config, const WindowRule& rule, Model& model);

struct ModelTypeReader {
  std::string_view model_type;
  Model (*read)(const HfConfig&);
};
[[nodiscard]] std::span<const ModelTypeReader> dense_readers();
[[nodiscard]] std::span<const ModelTypeReader> expert_readers();  ///< grouped-query attention and experts
[[nodiscard]] std::span<const ModelTypeReader> hybrid_readers();  ///< with layers that have a recurrence
[[nodiscard]] std::span<const ModelTypeReader> latent_readers();  ///< latent attention, or experts as DeepSeek has them

}  // namespace lockstep::workloads
