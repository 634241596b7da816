#pragma once
/// What MaxText may be told to compute again, for who reads its recipes and for published steps that it ran.
#include <string_view>

namespace lockstep::studies {

/// The words of remat_policy, those of earlier releases too: minimal_flash is minimal_with_context, proj save_qkv_proj.
inline constexpr std::string_view maxtext_policies[] = {"none",
                                                        "full",
                                                        "custom",
                                                        "minimal",
                                                        "minimal_with_context",
                                                        "minimal_flash",
                                                        "minimal_offloaded",
                                                        "minimal_with_quantization",
                                                        "minimal_with_context_and_quantization",
                                                        "proj",
                                                        "save_dot_except_mlp",
                                                        "save_dot_except_mlpwi",
                                                        "save_dot_with_context_except_mlp",
                                                        "save_qkv_proj",
                                                        "save_out_proj",
                                                        "qkv_proj_offloaded"};

}  // namespace lockstep::studies
