#include "workloads/model/recurrence.hpp"

namespace lockstep::workloads {
namespace {

double real(std::int64_t value) { return static_cast<double>(value); }

/// D x width in one step, or down to a rank and up again.
std::int64_t projection(std::int64_t d_model, std::int64_t rank, std::int64_t width) {
  return rank > 0 ? rank * (d_model + width) : d_model * width;
}

}  // namespace

std::int64_t recurrence_matrices(const Recurrence& recurrence, std::int64_t d_model) {
  const std::int64_t read_and_written = d_model * recurrence.channels();
  const std::int64_t gate = projection(d_model, recurrence.gate_rank, recurrence.values());
  const std::int64_t output = recurrence.values() * d_model;
  switch (recurrence.rule) {
    case Recurrence::Rule::mamba2: return read_and_written + gate + output + d_model * recurrence.heads;
    case Recurrence::Rule::gated_delta: return read_and_written + gate + output + 2 * d_model * recurrence.heads;
    case Recurrence::Rule::kimi_delta:
      return read_and_written + gate + output + d_model * recurrence.heads +
             projection(d_model, recurrence.decay_rank, recurrence.keys());
  }
  return 0;
}

std::int64_t recurrence_vectors(const Recurrence& recurrence) {
  const std::int64_t taps = recurrence.channels() * (recurrence.convolution + (recurrence.convolution_bias ? 1 : 0));
  switch (recurrence.rule) {
    case Recurrence::Rule::mamba2: return taps + 3 * recurrence.heads;  // decay, step size, skip
    case Recurrence::Rule::gated_delta: return taps + 2 * recurrence.heads;
    case Recurrence::Rule::kimi_delta: return taps + recurrence.heads + recurrence.keys();
  }
  return 0;
}

std::int64_t recurrence_norm(const Recurrence& recurrence) {
  return recurrence.rule == Recurrence::Rule::mamba2 ? recurrence.values() : recurrence.value_size;
}

double counted_state_flops(const Recurrence& recurrence) {
  if (recurrence.rule == Recurrence::Rule::mamba2) return 7.0 * real(recurrence.state());
  const double convolution = 2.0 * real(recurrence.convolution) * real(recurrence.channels());
  if (recurrence.rule == Recurrence::Rule::gated_delta) return 8.0 * real(recurrence.state()) + convolution;
  return real(recurrence.heads) * chunk_flops_of_head(recurrence).forward + convolution;
}

/// mamba2: values under the chunk's scores; the chunk's share of the state and what queries read of it.
/// Delta rules: keys with keys, queries with keys, and a triangular inverse of C^2 / 3; keys and values under it,
/// values under the scores; three products with the state.
ChunkFlops chunk_flops_of_head(const Recurrence& recurrence) {
  const double chunk = real(recurrence.chunk);
  const double keys = real(recurrence.key_size);
  const double values = real(recurrence.value_size);
  if (recurrence.rule == Recurrence::Rule::mamba2)
    return {2.0 * (chunk * values + 2.0 * keys * values), 2.0 * keys * values};
  const double inside = 3.0 * chunk * keys + 2.0 * chunk * values + chunk * chunk / 3.0;
  return {2.0 * (inside + 3.0 * keys * values), 2.0 * (chunk * keys + chunk * values + 2.0 * keys * values)};
}

/// mamba2: the scores of a chunk, which its heads share.
ChunkFlops chunk_flops_of_key_head(const Recurrence& recurrence) {
  if (recurrence.rule != Recurrence::Rule::mamba2) return {};
  const double scores = 2.0 * real(recurrence.chunk) * real(recurrence.key_size);
  return {scores, 0.0};
}

}  // namespace lockstep::workloads
