#pragma once
/// For a program that runs on two engines, one after the other: what both ask of it before its first instant is found
/// out once.
#include "sim/engine/engine.hpp"
#include "sim/engine/runtime/setup.hpp"

namespace lockstep::engine {

/// Checks the program, which must outlive the setup, and makes chains of it as the options say.
[[nodiscard]] Setup set_up(const program::Program& program, const EngineOptions& options);
/// As `run` of the program; its chains are those of the setup.
[[nodiscard]] EngineResult run(const Setup& setup, const EngineOptions& options, spdlog::logger& log);

}  // namespace lockstep::engine
