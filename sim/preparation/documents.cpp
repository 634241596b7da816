#include "sim/preparation/documents.hpp"

#include <algorithm>
#include <map>
#include <queue>
#include <random>
#include <tuple>

#include "sim/preparation/preparing_private.hpp"

namespace lockstep::preparation {
namespace {

using Documents = std::vector<std::int64_t>;  ///< by length

class DrawnLengths {
 public:
  explicit DrawnLengths(const scenario::LengthsSpec& lengths) : lengths_(lengths) {
    std::seed_seq seeds{lengths.seed, lengths.seed >> 32};
    random_.seed(seeds);
    double sum = 0;
    for (const auto& [tokens, share] : lengths.documents) up_to_.push_back(sum += share);
  }
  std::int64_t next() {
    const double drawn = static_cast<double>(random_() >> 11) * 0x1p-53 * up_to_.back();
    const auto found = std::upper_bound(up_to_.begin(), up_to_.end(), drawn);
    return lengths_.documents[static_cast<std::size_t>(std::min(found - up_to_.begin(), std::ssize(up_to_) - 1))].first;
  }

 private:
  const scenario::LengthsSpec& lengths_;
  std::mt19937_64 random_;
  std::vector<double> up_to_;  ///< sums of shares
};

/// FLOPs of a document's forward, and of its attention alone.
class Work {
 public:
  explicit Work(const scenario::Scenario& scenario)
      : scenario_(scenario), of_token_(forward_flops_per_token(scenario.model, 0, scenario.derive.causal)) {}
  double of_token() const { return of_token_; }  ///< without attention
  double attention(std::int64_t tokens) {
    const auto [known, is_new] = known_.try_emplace(tokens, 0.0);
    if (is_new)
      known->second = static_cast<double>(tokens) *
                      (forward_flops_per_token(scenario_.model, tokens, scenario_.derive.causal) - of_token_);
    return known->second;
  }
  double attention(const Documents& documents) {
    double sum = 0;
    for (const auto tokens : documents) sum += attention(tokens);
    return sum;
  }

 private:
  const scenario::Scenario& scenario_;
  double of_token_;
  std::map<std::int64_t, double> known_;
};

workloads::DocumentCounts counted(const Documents& documents) {
  std::map<std::int64_t, std::int64_t> counts;
  for (const auto tokens : documents) ++counts[tokens];
  return {counts.begin(), counts.end()};
}

/// How ranks wait for each other: `coupled` of them in every microbatch.
std::int64_t coupled_ranks(const scenario::Scenario& scenario, const workloads::Parallel& parallel) {
  std::int64_t coupled = 1;
  if (parallel.zero_on("data") >= 2) coupled *= parallel.data;
  if (parallel.zero_on("fsdp") >= 2) coupled *= parallel.fsdp;
  if (scenario.model.experts || parallel.zero_on("expert") >= 2) coupled *= parallel.expert;
  return coupled;
}

/// Of work[microbatch][rank], for each microbatch the rank whose work counts.
std::vector<std::size_t> slowest_ranks(const std::vector<std::vector<double>>& work, std::size_t coupled) {
  std::vector<std::size_t> best;
  double most = -1;
  for (std::size_t first = 0; first < work.front().size(); first += coupled) {
    std::vector<std::size_t> ranks;
    double sum = 0;
    for (const auto& of_microbatch : work) {
      const auto begin = of_microbatch.begin() + static_cast<std::ptrdiff_t>(first);
      const auto slowest = std::max_element(begin, begin + static_cast<std::ptrdiff_t>(coupled));
      ranks.push_back(static_cast<std::size_t>(slowest - of_microbatch.begin()));
      sum += *slowest;
    }
    if (sum <= most) continue;
    most = sum;
    best = std::move(ranks);
  }
  return best;
}

/// Context ranks that hold a document: as few, a power of two or all, as hold at most so many of its tokens each.
std::int64_t ranks_of_document(std::int64_t tokens, std::int64_t of_rank, std::int64_t context) {
  std::int64_t ranks = 1;
  while (ranks < context && ranks * of_rank < tokens) ranks *= 2;
  return std::min(ranks, context);
}

/// Shares out the documents of one microbatch after the other: the longest first, each to the ranks that have the least
/// work so far. Ranks that share a document have the same work until then, so a group stands for its ranks until
/// shorter documents divide it.
class SharedOut {
 public:
  /// `together`: ranks meet in every microbatch, so that work of earlier ones only decides among equals.
  SharedOut(const scenario::Scenario& scenario, std::int64_t context, std::int64_t replicas, bool together)
      : scenario_(scenario),
        context_(context),
        replicas_(replicas),
        together_(together),
        before_(static_cast<std::size_t>(replicas * context), 0.0) {}

  /// Work of each rank in the next microbatch.
  std::vector<double> next(Documents documents, Work& work) {
    std::sort(documents.begin(), documents.end(), std::greater<>());
    std::priority_queue<Group, std::vector<Group>, std::greater<>> groups;
    for (std::int64_t replica = 0; replica < replicas_; ++replica) groups.push(group(0, replica * context_, context_));
    for (const auto tokens : documents) {
      const auto ranks = ranks_of_document(tokens, scenario_.lengths.tokens_of_rank, context_);
      auto taken = groups.top();
      groups.pop();
      while (taken.ranks > ranks) {
        const auto half = taken.ranks / 2;
        groups.push(group(taken.load, taken.first + half, half));
        taken = group(taken.load, taken.first, half);
      }
      const double of_document = static_cast<double>(tokens) * work.of_token() + work.attention(tokens);
      groups.push(group(taken.load + of_document / static_cast<double>(taken.ranks), taken.first, taken.ranks));
    }
    std::vector<double> loads(before_.size(), 0.0);
    for (; !groups.empty(); groups.pop())
      std::fill_n(loads.begin() + groups.top().first, groups.top().ranks, groups.top().load);
    for (std::size_t rank = 0; rank < loads.size(); ++rank) before_[rank] += loads[rank];
    return loads;
  }

 private:
  struct Group {
    double order, other, load;  ///< by which the least is found, then among equals; of each of its ranks
    std::int64_t first, ranks;
    bool operator>(const Group& one) const {
      return std::tie(order, other, first) > std::tie(one.order, one.other, one.first);
    }
  };
  [[nodiscard]] Group group(double load, std::int64_t first, std::int64_t ranks) const {
    const auto begin = before_.begin() + first;
    const double before = *std::max_element(begin, begin + ranks);
    return {together_ ? load : before + load, before, load, first, ranks};
  }

  const scenario::Scenario& scenario_;
  std::int64_t context_, replicas_;
  bool together_;
  std::vector<double> before_;  ///< of each rank, in the microbatches so far
};

class LoadOfStep {
 public:
  LoadOfStep(const scenario::Scenario& scenario, const workloads::Parallel& parallel)
      : scenario_(scenario),
        work_(scenario),
        context_(parallel.context),
        coupled_(coupled_ranks(scenario, parallel)),
        replicas_(parallel.data * parallel.fsdp * parallel.expert) {
    const auto& batch = scenario.batch;
    load_.sequence_length = batch.sequence_length;
    load_.causal = scenario.derive.causal;
    load_.sequences = batch.sequences / batch.microbatches / replicas_;
    if (parallel.zero_on("context") >= 2) coupled_contexts_ = context_;
    auto sequence = documents_of_step(scenario);
    auto next = sequence.begin();
    for (std::int64_t microbatch = 0; microbatch < batch.microbatches; ++microbatch) {
      auto& of_replicas = documents_.emplace_back();
      for (std::int64_t replica = 0; replica < replicas_; ++replica) {
        auto& documents = of_replicas.emplace_back();
        for (std::int64_t i = 0; i < load_.sequences; ++i, ++next)
          documents.insert(documents.end(), next->begin(), next->end());
      }
    }
  }

  workloads::SequenceLoad run() {
    scenario_.lengths.tokens_of_rank > 0 ? on_few_ranks() : on_all_ranks();
    return std::move(load_);
  }

 private:
  /// Every document is split over all context ranks, early and late pieces alike, so that these have equal work.
  void on_all_ranks() {
    std::vector<std::vector<double>> work;
    for (const auto& of_replicas : documents_) {
      auto& row = work.emplace_back();
      for (const auto& documents : of_replicas) row.push_back(work_.attention(documents));
    }
    const auto slowest = slowest_ranks(work, static_cast<std::size_t>(coupled_));
    for (std::size_t m = 0; m < documents_.size(); ++m)
      load_.microbatches.push_back({counted(documents_[m][slowest[m]]), 1, 1});
  }

  /// A document lies on few context ranks, and all replicas share out those of a microbatch. Ranks with long documents
  /// have fewer tokens; attention stands for what their work exceeds that of an even share of the tokens.
  void on_few_ranks() {
    const auto ranks = static_cast<double>(replicas_ * context_);
    const double tokens_of_rank =
        static_cast<double>(load_.sequences * load_.sequence_length) / static_cast<double>(context_);
    std::vector<Documents> all;
    std::vector<std::vector<double>> work;
    SharedOut shared(scenario_, context_, replicas_, coupled_ * coupled_contexts_ > 1);
    for (const auto& of_replicas : documents_) {
      auto& pool = all.emplace_back();
      for (const auto& documents : of_replicas) pool.insert(pool.end(), documents.begin(), documents.end());
      work.push_back(shared.next(pool, work_));
    }
    const auto slowest = slowest_ranks(work, static_cast<std::size_t>(coupled_ * coupled_contexts_));
    for (std::size_t m = 0; m < all.size(); ++m) {
      const double even = work_.attention(all[m]) / ranks;
      const double attention = std::max(0.0, work[m][slowest[m]] - tokens_of_rank * work_.of_token());
      double passed = 0;  // tokens whose keys and values a rank gets from others
      for (const auto tokens : all[m])
        passed +=
            static_cast<double>(tokens * (ranks_of_document(tokens, scenario_.lengths.tokens_of_rank, context_) - 1));
      const double on_a_ring = tokens_of_rank * ranks * static_cast<double>(context_ - 1);
      load_.microbatches.push_back({counted(all[m]), even > 0 ? attention / even : 1, passed / on_a_ring});
    }
    load_.sequences *= replicas_;
  }

  const scenario::Scenario& scenario_;
  Work work_;
  std::int64_t context_, coupled_, replicas_, coupled_contexts_ = 1;
  std::vector<std::vector<Documents>> documents_;  ///< by microbatch and replica
  workloads::SequenceLoad load_;
};

}  // namespace

std::vector<Documents> documents_of_step(const scenario::Scenario& scenario) {
  const auto& batch = scenario.batch;
  DrawnLengths drawn(scenario.lengths);
  std::vector<Documents> sequences(static_cast<std::size_t>(batch.sequences));
  std::int64_t left = 0;  // of a document that did not fit
  for (auto& documents : sequences) {
    for (auto room = batch.sequence_length; room > 0;) {
      const auto tokens = left > 0 ? left : drawn.next();
      left = tokens;
      if (tokens > room && !scenario.lengths.cut) break;
      documents.push_back(std::min(tokens, room));
      room -= documents.back();
      left = tokens - documents.back();
    }
  }
  return sequences;
}

workloads::SequenceLoad sequence_load(const scenario::Scenario& scenario, const workloads::Parallel& parallel) {
  if (scenario.lengths.documents.empty()) return {};
  return LoadOfStep(scenario, parallel).run();
}

double least_attended(const scenario::Scenario& scenario, const std::vector<Documents>& documents,
                      const workloads::LayerKind& reach) {
  double least = 1;
  for (const auto& of_sequence : documents) {
    workloads::SequenceLoad load;
    load.sequence_length = scenario.batch.sequence_length;
    load.causal = scenario.derive.causal;
    load.microbatches.push_back({counted(of_sequence), 1, 1});
    least = std::min(least, load.attended(reach, 0));
  }
  return least;
}

Flops flops_of_documents(const scenario::Scenario& scenario) {
  std::map<std::int64_t, std::int64_t> counts;
  for (const auto& documents : documents_of_step(scenario)) {
    for (const auto tokens : documents) ++counts[tokens];
  }
  Flops sum(0);
  for (const auto& [tokens, count] : counts)
    sum += model_flops(scenario.model, count, tokens, scenario.training.causal_attention);
  return sum;
}

void check_lengths(const scenario::Scenario& scenario, const workloads::Parallel& parallel) {
  const auto& lengths = scenario.lengths;
  if (lengths.tokens_of_rank > 0 && lengths.documents.empty())
    refuse(scenario, "parallel.context_tokens", "without lengths every document is a whole sequence",
           "batch.lengths, a file of the lengths of documents");
  if (lengths.documents.empty()) return;
  const std::string key = "batch.lengths";
  if (scenario.replay || !scenario.model.attention)
    refuse(scenario, key, "there is no attention whose work would follow from lengths", "a model with attention");
  if (scenario.model.indexer)
    refuse(scenario, key, "an indexer scores all tokens before, whatever document they are of",
           "a model whose attention sees all keys, a window or a chunk");
  if (scenario.model.compressed)
    refuse(scenario, key, "compressed entries stand for tokens of several documents",
           "a model whose attention sees all keys, a window or a chunk");
  if (scenario.pipeline.slices > 1)
    refuse(scenario, key, "slices of documents do not depend on each other as slices of a sequence do",
           "lengths without pipeline.slices");
  if (parallel.context > 1 && !scenario.derive.balanced_context)
    refuse(scenario, "parallel.context_order", "documents are split into early and late pieces each", "balanced");
  if (lengths.tokens_of_rank == 0) return;
  const std::string tokens = "parallel.context_tokens";
  if (parallel.context == 1)
    refuse(scenario, tokens, "there is no context axis", "parallel.context, the most ranks of a document");
  if (scenario.derive.context_attention != workloads::ContextAttention::ring)
    refuse(scenario, tokens, "documents on few ranks pass their keys and values around these",
           "context_attention: ring");
  if ((parallel.context & (parallel.context - 1)) != 0)
    refuse(scenario, tokens, std::to_string(parallel.context) + " context ranks cannot be halved again and again",
           "a context axis of a power of two");
  if (lengths.tokens_of_rank * parallel.context < scenario.batch.sequence_length)
    refuse(scenario, tokens,
           "a document of " + std::to_string(scenario.batch.sequence_length) + " tokens does not fit on " +
               std::to_string(parallel.context) + " ranks",
           "at least " + std::to_string((scenario.batch.sequence_length + parallel.context - 1) / parallel.context) +
               " tokens");
}

}  // namespace lockstep::preparation
