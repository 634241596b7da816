#pragma once
/// The Kineto trace of a job that is known: a Llama of so many layers on eight ranks under FSDP, every kernel at one of
/// three rates. Kernels follow each other without gaps.
#include <string>
#include <vector>

namespace lockstep::test {

struct LlamaTrace {
  std::int64_t layers = 3, d = 1024, f = 2816, heads = 8, kv_heads = 2, head_size = 128, vocabulary = 32000;
  /// With experts instead of the MLP: the router, the choice, and grouped products of the experts of one rank.
  std::int64_t experts = 0, per_token = 2, expert_width = 512, expert_ranks = 1, shared_width = 0, dense_layers = 0;
  bool tells_choice = true;
  std::int64_t sequences = 2, tokens = 512, microbatches = 2;
  bool gated = true, recomputes = false, has_shapes = true, attends = true;  ///< attends: has kernels of attention
  double products = 400e12, attention = 200e12, memory = 2e12;               ///< FLOP/s, FLOP/s, bytes/s

  [[nodiscard]] std::string json() {
    events_.clear();
    for (std::int64_t i = 0; i < microbatches; ++i) {
      elementwise(rows() * d * 2);
      for (std::int64_t layer = 0; layer < layers; ++layer) forward(layer);
      product(rows(), d, vocabulary);
      elementwise(rows() * vocabulary * 4);
      product(rows(), vocabulary, d);
      product(vocabulary, rows(), d);
      for (std::int64_t layer = layers - 1; layer >= 0; --layer) backward(layer);
    }
    return R"({"distributedInfo": {"rank": 0, "world_size": 8}, "traceEvents": [)" + events_ + "{}]}";
  }
  [[nodiscard]] std::int64_t rows() const { return sequences * tokens; }
  /// FLOPs of products and of attention in a step.
  double product_flops = 0, attention_flops = 0;

 private:
  static std::string list(const std::vector<std::int64_t>& sizes) {
    std::string text;
    for (const auto size : sizes) text += (text.empty() ? "" : ", ") + std::to_string(size);
    return "[" + text + "]";
  }

  void kernel(const std::string& name, double seconds, const std::string& arguments, int stream = 7) {
    const auto number = std::to_string(++count_);
    const double micros = seconds * 1e6;
    events_ += R"({"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "tid": 1, "ts": )" +
               std::to_string(static_cast<double>(count_) * 1e-3) + R"(, "dur": 0, "args": {"correlation": )" + number +
               "}},\n" + R"({"ph": "X", "cat": "kernel", "name": ")" + name + R"(", "pid": 0, "tid": 7, "ts": )" +
               std::to_string(clock_) + R"(, "dur": )" + std::to_string(micros) + R"(, "args": {"External id": )" +
               number + R"(, "correlation": )" + number + R"(, "stream": )" + std::to_string(stream) + arguments +
               "}},\n";
    clock_ += micros + 0.001;
  }

  void called(const std::string& name, const std::string& dims) {
    if (!has_shapes) return;
    events_ += R"({"ph": "X", "cat": "cpu_op", "name": ")" + name +
               R"(", "tid": 1, "ts": 0, "dur": 1, "args": {"External id": )" + std::to_string(count_ + 1) +
               R"(, "Input Dims": )" + dims + R"(, "Input type": ["c10::BFloat16"]}},)" + "\n";
  }

  void product(std::int64_t m, std::int64_t k, std::int64_t n) {
    const double flops = 2.0 * static_cast<double>(m) * static_cast<double>(k) * static_cast<double>(n);
    product_flops += flops;
    called("aten::mm", "[" + list({m, k}) + ", " + list({k, n}) + "]");
    kernel("nvjet_tst_128x256_64x4", flops / products, "");
  }

  /// Half of the scores count.
  void attend(bool back) {
    if (!attends) return;
    const double flops = (back ? 4.0 : 2.0) * static_cast<double>(sequences * heads * head_size) *
                         static_cast<double>(tokens) * static_cast<double>(tokens);
    attention_flops += flops;
    const auto q = list({sequences, tokens, heads, head_size}), k = list({sequences, tokens, kv_heads, head_size});
    called(back ? "aten::_flash_attention_backward" : "aten::_flash_attention_forward",
           "[" + q + ", " + (back ? q + ", " : "") + k + ", " + k + "]");
    kernel(back ? "flash_bwd_dq_dk_dv_loop_seqk_parallel_kernel" : "flash_fwd_kernel", flops / attention, "");
  }

  void elementwise(std::int64_t bytes) {
    kernel("vectorized_elementwise_kernel", static_cast<double>(bytes) / memory, "");
  }

  void gather(const std::string& kind) {
    const auto weights = d * (heads + 2 * kv_heads) * head_size + heads * head_size * d + (gated ? 3 : 2) * d * f;
    kernel(
        "ncclDevKernel_" + kind, 50e-6,
        R"(, "Collective name": ")" + kind + R"(", "In msg nelems": )" + std::to_string(weights / 8) +
            R"(, "Out msg nelems": )" + std::to_string(weights) +
            R"(, "Group size": 8, "dtype": "BFloat16", "Process Group Name": "1", "Process Group Description": "fsdp")",
        20);
  }

  /// A token's rows for its experts; ranks exchange as many as they have.
  [[nodiscard]] std::int64_t routed() const { return rows() * per_token; }

  void grouped(std::int64_t k, std::int64_t n, bool of_weights = false) {
    const double flops = 2.0 * static_cast<double>(routed()) * static_cast<double>(k) * static_cast<double>(n);
    product_flops += flops;
    const auto local = experts / expert_ranks;
    called("aten::_grouped_mm",
           of_weights ? "[" + list({k, routed()}) + ", " + list({routed(), n}) + ", " + list({local}) + "]"
                      : "[" + list({routed(), k}) + ", " + list({local, k, n}) + ", " + list({local}) + "]");
    kernel("nvjet_grouped", flops / products, "");
  }

  void exchange() {
    if (expert_ranks == 1) return;
    kernel("ncclDevKernel_SendRecv", 50e-6,
           R"(, "Collective name": "all_to_allv", "In msg nelems": )" + std::to_string(routed() * d) +
               R"(, "Out msg nelems": )" + std::to_string(routed() * d) + R"(, "Group size": )" +
               std::to_string(expert_ranks) + R"(, "dtype": "BFloat16", "Process Group Name": "9")",
           21);
  }

  [[nodiscard]] bool has_experts(std::int64_t layer) const { return experts > 0 && layer >= dense_layers; }

  void mlp(std::int64_t layer) {
    const auto dense = [&](std::int64_t width) {
      for (int i = 0; i < (gated ? 2 : 1); ++i) product(rows(), d, width);
      product(rows(), width, d);
    };
    if (!has_experts(layer)) return dense(f);
    product(rows(), d, experts);
    if (tells_choice)
      called("aten::topk", "[" + list({rows(), experts}) + R"(, [], [], [], []], "Concrete Inputs": ["", ")" +
                               std::to_string(per_token) + R"(", "-1", "True", "True"])");
    kernel("topk_kernel", 1e-6, "");
    exchange();
    for (int i = 0; i < (gated ? 2 : 1); ++i) grouped(d, expert_width);
    grouped(expert_width, d);
    exchange();
    if (shared_width > 0) dense(shared_width);
  }

  void mlp_backward(std::int64_t layer) {
    const auto dense = [&](std::int64_t width) {
      gradients(width, d);
      for (int i = 0; i < (gated ? 2 : 1); ++i) gradients(d, width);
    };
    if (!has_experts(layer)) return dense(f);
    if (shared_width > 0) dense(shared_width);
    exchange();
    grouped(d, expert_width);
    grouped(expert_width, d, true);
    for (int i = 0; i < (gated ? 2 : 1); ++i) {
      grouped(expert_width, d);
      grouped(d, expert_width, true);
    }
    exchange();
    gradients(d, experts);
  }

  void forward(std::int64_t layer) {
    gather("_allgather_base");
    pass(layer);
  }

  void pass(std::int64_t layer) {
    elementwise(rows() * d * 4);
    product(rows(), d, heads * head_size);
    product(rows(), d, kv_heads * head_size);
    product(rows(), d, kv_heads * head_size);
    attend(false);
    product(rows(), heads * head_size, d);
    mlp(layer);
  }

  /// Of a product of rows by k x n the gradient of its input and that of its weight.
  void gradients(std::int64_t k, std::int64_t n) {
    product(rows(), n, k);
    product(n, rows(), k);
  }

  void backward(std::int64_t layer) {
    gather("_allgather_base");
    if (recomputes) pass(layer);
    mlp_backward(layer);
    gradients(heads * head_size, d);
    attend(true);
    gradients(d, kv_heads * head_size);
    gradients(d, kv_heads * head_size);
    gradients(d, heads * head_size);
    gather("_reduce_scatter_base");
  }

  std::string events_;
  std::int64_t count_ = 0;
  double clock_ = 1000;
};

}  // namespace lockstep::test
