#include "workloads/model_limits.hpp"

#include <string>

namespace lockstep {
namespace {

/// Within a factor of three of the count, in floating point because the exact one might overflow.
double roughly_count(const Model& model) {
  const auto number = [](std::int64_t value) { return static_cast<double>(value); };
  const double attention = 2.0 * number(model.head_size) * (number(model.heads) + number(model.kv_heads) + 1.0);
  const double layer = number(model.d_model) * (attention + 3.0 * number(model.d_ff) + 10.0);
  const double rows = 2.0 * number(model.vocabulary) + number(model.learned_positions) + 2.0;
  return number(model.layers) * layer + rows * number(model.d_model);
}

void complete_heads(Model& model, const YamlView& place) {
  const std::string heads = std::to_string(model.heads);
  if (model.kv_heads == 0) model.kv_heads = model.heads;
  if (model.kv_heads > 0 && model.heads % model.kv_heads != 0) {
    place.problem(
        heads + " query heads do not divide evenly over " + std::to_string(model.kv_heads) + " key-value heads",
        "a number of key-value heads that divides the query heads");
  }
  if (model.head_size > 0 || model.heads == 0 || model.d_model == 0) return;
  if (model.d_model % model.heads == 0) {
    model.head_size = model.d_model / model.heads;
  } else {
    place.problem("no head size given, and d_model " + std::to_string(model.d_model) + " is not a multiple of " +
                      heads + " heads",
                  "a head size, or heads that divide d_model");
  }
}

}  // namespace

void complete_shape(Model& model, const YamlView& place) {
  if (model.attention) complete_heads(model, place);
  if (roughly_count(model) > most_parameters) {
    place.problem("the model has more than 1e15 parameters", "sizes whose product is a model one could train");
  }
}

}  // namespace lockstep
