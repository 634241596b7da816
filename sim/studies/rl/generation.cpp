#include "sim/studies/rl/generation.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numbers>
#include <queue>

#include "sim/core/splitmix64.hpp"

namespace lockstep::rl {
namespace {

/// Uniform in (0, 1).
double unit(std::uint64_t& state) {
  const auto number = splitmix64(state);
  state += splitmix64_step;
  return (static_cast<double>(number >> 11U) + 0.5) / 9007199254740992.0;
}

/// What one replica does.
class Replica {
 public:
  explicit Replica(const GenerationSpec& engine) : engine_(engine) {}

  /// The next of its responses begins as soon as fewer than `sequences` are decoded.
  void decode(std::int64_t length) {
    if (std::ssize(ends_) == engine_.sequences) end_next();
    ends_.push(decoded_ + length);
  }
  void end_all() {
    while (!ends_.empty()) end_next();
  }
  [[nodiscard]] Seconds time() const { return time_; }
  [[nodiscard]] double sequence_seconds() const { return sequence_seconds_; }

 private:
  /// Until the next response has ended, and all others that end with it.
  void end_next() {
    const auto running = std::ssize(ends_);
    const auto end = ends_.top();
    const auto passed = engine_.decode(running) * static_cast<double>(end - decoded_);
    time_ += passed;
    sequence_seconds_ += passed.value() * static_cast<double>(running);
    decoded_ = end;
    ends_.pop();
  }

  const GenerationSpec& engine_;
  /// Every running sequence gets its next token at the same time, so a response ends when the replica has decoded so
  /// many in a row.
  std::priority_queue<std::int64_t, std::vector<std::int64_t>, std::greater<>> ends_;
  std::int64_t decoded_ = 0;
  Seconds time_{0};
  double sequence_seconds_ = 0;
};

}  // namespace

std::vector<std::int64_t> ResponseLengths::drawn(std::int64_t responses, std::uint64_t seed) const {
  auto state = splitmix64(seed);
  std::vector<std::int64_t> lengths;
  lengths.reserve(static_cast<std::size_t>(responses));
  const double variance = mean > 0 ? std::log1p(deviation * deviation / (mean * mean)) : 0;
  for (std::int64_t i = 0; i < responses; ++i) {
    const double u = unit(state);
    if (!shares.empty()) {
      double below = 0;
      auto at = shares.begin();
      while (at + 1 != shares.end() && (below += at->second) <= u) ++at;
      lengths.push_back(at->first);
      continue;
    }
    const double normal = std::sqrt(-2 * std::log(u)) * std::cos(2 * std::numbers::pi * unit(state));
    const double tokens = mean * std::exp(std::sqrt(variance) * normal - variance / 2);
    lengths.push_back(std::clamp<std::int64_t>(std::llround(std::min(tokens, static_cast<double>(most))), 1, most));
  }
  return lengths;
}

Seconds GenerationSpec::decode(std::int64_t running) const {
  const double alone = 1 / tokens_per_s_alone, full = static_cast<double>(sequences) / tokens_per_s;
  if (sequences == 1) return Seconds(full);
  const double more = (full - alone) / static_cast<double>(sequences - 1);
  return Seconds(alone + more * static_cast<double>(running - 1));
}

Generation generation_of(const GenerationSpec& engine, std::int64_t replicas, std::int64_t prompt_tokens,
                         const std::vector<std::int64_t>& lengths) {
  Generation phase;
  double sequence_seconds = 0;
  for (std::int64_t first = 0; first < replicas; ++first) {
    Replica replica(engine);
    double prompts = 0;
    for (auto i = first; i < std::ssize(lengths); i += replicas) {
      const auto tokens = lengths[static_cast<std::size_t>(i)];
      replica.decode(tokens);
      prompts += static_cast<double>(prompt_tokens);
      phase.tokens += static_cast<double>(tokens);
    }
    replica.end_all();
    const Seconds reading(engine.prompt_tokens_per_s > 0 ? prompts / engine.prompt_tokens_per_s : 0);
    phase.time = std::max(phase.time, reading + replica.time());
    sequence_seconds += replica.sequence_seconds();
  }
  const double could = phase.time.value() * static_cast<double>(replicas * engine.sequences);
  phase.running_share = could > 0 ? sequence_seconds / could : 0;
  return phase;
}

}  // namespace lockstep::rl
