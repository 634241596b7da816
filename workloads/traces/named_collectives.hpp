#pragma once
/// Collectives that a trace knows only as kernels of a library of the job's own, such as DeepEP's: a file says which
/// kernels they are, and what they carry.
///
///     - {kernels: "internode::dispatch", kind: all_to_all, ranks: 64, bytes: 242 MB, copies: [8, 8, 4]}
#include <filesystem>

#include "sim/core/yaml_view.hpp"
#include "workloads/traces/recorded_job.hpp"

namespace lockstep::workloads {

/// Kernels whose name contains the text of a row, the first that does, become collectives of groups of `ranks` (all of
/// the job, if left out) with a buffer of `bytes` on each, as nccl-tests print sizes; `copies` of tokens as of a
/// router: experts of a token, groups of experts, groups of a token. Throws ConfigError for what is wrong in the file,
/// and for rows that no kernel matches.
void name_collectives(const std::filesystem::path& file, RecordedJob& job);
/// The same for the list; problems go to its sink.
void name_collectives(const YamlView& list, RecordedJob& job);

}  // namespace lockstep::workloads
