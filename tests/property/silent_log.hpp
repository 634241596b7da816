#pragma once
#include <spdlog/sinks/null_sink.h>
#include <spdlog/spdlog.h>

#include <memory>

namespace lockstep::test {

/// A log that nobody reads.
inline spdlog::logger& silent() {
  static spdlog::logger log("silent", std::make_shared<spdlog::sinks::null_sink_mt>());
  return log;
}

}  // namespace lockstep::test
