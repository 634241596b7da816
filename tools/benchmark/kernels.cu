// Times products (cuBLASLt) and copies at Transformer shapes on one GPU; CSV for `lockstep calibrate` on stdout.
//   nvcc -O3 -std=c++17 -arch=native kernels.cu -o kernels -lcublasLt && ./kernels > kernels.csv
#include <cublasLt.h>
#include <cuda_bf16.h>
#include <cuda_fp8.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

namespace {

void check(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return;
  std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(status));
  std::exit(1);
}
bool ok(cublasStatus_t status) { return status == CUBLAS_STATUS_SUCCESS; }

/// Pseudo-random bytes of small magnitude: zeros would draw less power than data does.
__global__ void fill(unsigned char* data, std::size_t bytes, unsigned seed, bool fp8) {
  const std::size_t stride = static_cast<std::size_t>(gridDim.x) * blockDim.x;
  for (std::size_t i = blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x; i < bytes / 2; i += stride) {
    unsigned state = static_cast<unsigned>(i) * 2654435761u + seed;
    state ^= state >> 15;
    state *= 2246822519u;
    state ^= state >> 13;
    const float value = static_cast<float>(state & 0xffff) / 32768.0f - 1.0f;
    if (fp8) {
      reinterpret_cast<__nv_fp8_e4m3*>(data)[2 * i] = __nv_fp8_e4m3(value);
      reinterpret_cast<__nv_fp8_e4m3*>(data)[2 * i + 1] = __nv_fp8_e4m3(-value);
    } else {
      reinterpret_cast<__nv_bfloat16*>(data)[i] = __float2bfloat16(value);
    }
  }
}

__global__ void increment(const uint4* in, uint4* out, std::size_t count) {
  const std::size_t stride = static_cast<std::size_t>(gridDim.x) * blockDim.x;
  for (std::size_t i = blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x; i < count; i += stride) {
    uint4 value = in[i];
    value.x += 1;
    out[i] = value;
  }
}

struct Buffer {
  void* data = nullptr;
  explicit Buffer(std::size_t bytes, unsigned seed = 1, bool fp8 = false) {
    check(cudaMalloc(&data, std::max<std::size_t>(bytes, 256)), "cudaMalloc");
    fill<<<1024, 256>>>(static_cast<unsigned char*>(data), bytes, seed, fp8);
  }
  ~Buffer() { cudaFree(data); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
};

/// Median seconds of one kernel out of five runs of a queue that lasts 50 ms.
double seconds_of(const std::function<void()>& launch) {
  cudaEvent_t start, stop;
  cudaEventCreate(&start);
  cudaEventCreate(&stop);
  const auto run = [&](int calls) {
    cudaEventRecord(start);
    for (int i = 0; i < calls; ++i) launch();
    cudaEventRecord(stop);
    check(cudaEventSynchronize(stop), "kernel");
    float milliseconds = 0;
    cudaEventElapsedTime(&milliseconds, start, stop);
    return static_cast<double>(milliseconds) / 1e3;
  };
  run(3);
  int calls = 1;
  while (run(calls) < 0.05 && calls < (1 << 14)) calls *= 2;
  std::vector<double> runs;
  for (int i = 0; i < 5; ++i) runs.push_back(run(calls) / calls);
  std::sort(runs.begin(), runs.end());
  cudaEventDestroy(start);
  cudaEventDestroy(stop);
  return runs[runs.size() / 2];
}

/// C = A B, row major as frameworks store it: column major C' = B' A'. fp8 wants its first factor transposed.
void product(cublasLtHandle_t handle, bool fp8, int batch, int m, int n, int k) {
  const cudaDataType type = fp8 ? CUDA_R_8F_E4M3 : CUDA_R_16BF;
  const std::size_t element = fp8 ? 1 : 2;
  const Buffer a(element * batch * m * k, 1, fp8), b(element * batch * k * n, 2, fp8), c(std::size_t{2} * batch * m * n);
  constexpr std::size_t workspace_bytes = 64 << 20;
  const Buffer workspace(workspace_bytes);
  cublasLtMatmulDesc_t operation;
  cublasLtMatmulDescCreate(&operation, CUBLAS_COMPUTE_32F, CUDA_R_32F);
  const cublasOperation_t first = fp8 ? CUBLAS_OP_T : CUBLAS_OP_N;
  cublasLtMatmulDescSetAttribute(operation, CUBLASLT_MATMUL_DESC_TRANSA, &first, sizeof first);
  cublasLtMatrixLayout_t of_b, of_a, of_c;
  cublasLtMatrixLayoutCreate(&of_b, type, fp8 ? k : n, fp8 ? n : k, fp8 ? k : n);
  cublasLtMatrixLayoutCreate(&of_a, type, k, m, k);
  cublasLtMatrixLayoutCreate(&of_c, CUDA_R_16BF, n, m, n);
  const std::int64_t strides[] = {std::int64_t{k} * n, std::int64_t{m} * k, std::int64_t{m} * n};
  cublasLtMatrixLayout_t layouts[] = {of_b, of_a, of_c};
  for (int i = 0; i < 3; ++i) {
    cublasLtMatrixLayoutSetAttribute(layouts[i], CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &batch, sizeof batch);
    cublasLtMatrixLayoutSetAttribute(layouts[i], CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &strides[i], sizeof strides[i]);
  }
  cublasLtMatmulPreference_t preference;
  cublasLtMatmulPreferenceCreate(&preference);
  cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &workspace_bytes, sizeof workspace_bytes);
  cublasLtMatmulHeuristicResult_t found{};
  int count = 0;
  const float one = 1, zero = 0;
  if (ok(cublasLtMatmulAlgoGetHeuristic(handle, operation, of_b, of_a, of_c, of_c, preference, 1, &found, &count)) && count > 0) {
    const double seconds = seconds_of([&] {
      cublasLtMatmul(handle, operation, &one, b.data, of_b, a.data, of_a, &zero, c.data, of_c, c.data, of_c, &found.algo, workspace.data, workspace_bytes, nullptr);
    });
    std::printf("product,%s,%d,%d,%d,%d,,,,%.6g\n", fp8 ? "fp8" : "bf16", batch, m, n, k, seconds);
    std::fflush(stdout);
  } else {
    std::fprintf(stderr, "# left out: %s %d of %d x %d x %d\n", fp8 ? "fp8" : "bf16", batch, m, n, k);
  }
  cublasLtMatmulPreferenceDestroy(preference);
  for (const auto layout : layouts) cublasLtMatrixLayoutDestroy(layout);
  cublasLtMatmulDescDestroy(operation);
}

/// Reads half of the bytes and writes as many.
void copy(std::size_t bytes) {
  const Buffer in(bytes / 2), out(bytes / 2);
  const auto count = bytes / 2 / sizeof(uint4);
  const auto blocks = static_cast<unsigned>(std::min<std::size_t>(65535, (count + 255) / 256));
  const double seconds = seconds_of([&] { increment<<<blocks, 256>>>(static_cast<const uint4*>(in.data), static_cast<uint4*>(out.data), count); });
  std::printf("memory,,,,,,,,%zu,%.6g\n", bytes, seconds);
}

}  // namespace

int main() {
  cudaDeviceProp device{};
  check(cudaGetDeviceProperties(&device, 0), "no GPU");
  int driver = 0;
  cudaDriverGetVersion(&driver);
  std::fprintf(stderr, "# %s, driver API %d, cuBLASLt %zu\n", device.name, driver, cublasLtGetVersion());
  cublasLtHandle_t handle;
  if (!ok(cublasLtCreate(&handle))) return 1;
  std::printf("kernel,precision,batch,m,n,k,causal,backward,bytes,seconds\n");
  const bool has_fp8 = device.major * 10 + device.minor >= 89;
  for (const bool fp8 : {false, true}) {
    if (fp8 && !has_fp8) break;
    for (const int side : {512, 1024, 2048, 4096, 8192, 16384}) product(handle, fp8, 1, side, side, side);
    // Layers with d_model 4k to 12k after tensor parallelism of 1 to 8.
    const int factors[][2] = {{1024, 4096}, {1536, 12288}, {2048, 8192}, {4096, 1024}, {5120, 5120}, {7168, 8192}, {8192, 3584}, {12288, 6144}, {14336, 4096}, {4096, 14336}};
    for (const int tokens : {1024, 2048, 4096, 8192, 16384}) {
      for (const auto& [n, k] : factors) product(handle, fp8, 1, tokens, n, k);
    }
    for (const int k : {64, 128, 256, 512}) product(handle, fp8, 1, 8192, 8192, k);
    for (const int experts : {4, 8, 32}) {
      product(handle, fp8, experts, 1024, 2048, 7168);
      product(handle, fp8, experts, 1024, 7168, 2048);
    }
  }
  for (int power = 12; power <= 30; power += 2) copy(std::size_t{1} << power);
  cublasLtDestroy(handle);
}
