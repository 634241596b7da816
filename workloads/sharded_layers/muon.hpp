#pragma once
/// Muon (https://kellerjordan.github.io/posts/muon/; arXiv 2502.16982): the update of a matrix is its momentum with all
/// singular values near one, which five Newton-Schulz steps find. They need the whole matrix, so a rank that holds a
/// part of it depends on others. Embeddings, the unembedding and all weights that are not matrices are AdamW's.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "sim/core/units.hpp"
#include "workloads/sharding/notation.hpp"

namespace lockstep::workloads {

/// How ranks that hold parts of a matrix, or of its momentum, come to its update.
enum class MuonSharing {
  blockwise,      ///< each takes its tensor-parallel part for a matrix of its own: another algorithm, nothing moves
  duplicated,     ///< all gather the whole momentum and do the same work
  distributed,    ///< each multiplies its part; in each step the ranks add up X X^T, which all of them square
  layer_sharded,  ///< each matrix goes to one of the ranks by an all-to-all, and its update comes back by another
  layer_wise      ///< data ranks own whole matrices: gradients are reduced to all of them, updated weights gathered
};
[[nodiscard]] std::string_view name(MuonSharing sharing);

struct MuonSpec {
  /// None: duplicated where ZeRO splits nothing, layer_wise where it splits the state, layer_sharded where it splits
  /// more.
  std::optional<MuonSharing> sharing{};
  MuonSharing tensor =
      MuonSharing::blockwise;  ///< with layer_wise: of the tensor-parallel parts of an owner's matrices
  int steps = 5;
};

/// A weight as matrices of rows x columns.
struct MuonMatrices {
  std::int64_t count = 0;          ///< on one rank, of those that tensor parallelism does not split; 0: AdamW's
  std::int64_t rows = 0;           ///< of the whole matrix
  std::int64_t columns = 0;        ///< likewise
  std::int64_t local_rows = 0;     ///< of a rank's tensor-parallel part
  std::int64_t local_columns = 0;  ///< likewise
  AxisNames tensor{};              ///< axes that split a matrix where it is stored, without those of ZeRO
  AxisNames zero{};                ///< further axes that split its momentum
  AxisNames copied{};              ///< axes whose ranks have copies of it and of its momentum
  std::int64_t tensor_ranks = 1;
  std::int64_t zero_ranks = 1;
  bool scattered = false;  ///< gradients are split in every microbatch over axes of ZeRO
  MuonSharing sharing = MuonSharing::duplicated;
};

/// One step on a matrix of m x n, m the smaller: X X^T 2 m^2 n, its square 2 m^3, the result times X 2 m^2 n.
[[nodiscard]] Flops newton_schulz_flops(std::int64_t rows, std::int64_t columns);

/// What one rank does and moves for the matrices of one weight, on average over the ranks that share them out.
struct MuonWork {
  Flops flops{0};           ///< of all steps
  Bytes traffic{0};         ///< of all steps: in 16 bits, each product reads two matrices and leaves one
  Bytes gathered{0};        ///< all-gather before, whole
  Bytes exchanged{0};       ///< all-to-all before and after, whole
  Bytes summed{0};          ///< all-reduce in each step, whole
  AxisNames axes{};         ///< of these collectives
  std::int64_t owners = 1;  ///< ranks among which whole matrices are dealt out
};
/// `moment`: bytes of a number of the momentum, as it is gathered and sent to its home.
[[nodiscard]] MuonWork muon_work(const MuonSpec& spec, const MuonMatrices& matrices, Bytes moment);

/// The reason why a sharing cannot serve a weight, with the axes at fault, or nothing: parts of a momentum that ZeRO
/// has split are no matrices; gradients that are scattered in every microbatch have no owner, nor have matrices of
/// which all ranks of an axis keep the momentum.
struct NotShared {
  std::string what;
  std::string expected;
};
/// Decides how the matrices are shared. With layer_wise, a matrix that one rank has, an expert's say, is its own.
[[nodiscard]] NotShared share(const MuonSpec& spec, MuonMatrices& matrices);

}  // namespace lockstep::workloads
