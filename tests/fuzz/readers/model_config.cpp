// A Hugging Face config.json. What reads is a model with parameters and FLOPs to count.
#include "tests/fuzz/readers/target.hpp"
#include "workloads/model/huggingface/import_hf.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace lockstep;
  static const test::InputFile file("config.json");
  return test::answered([&] {
    Problems problems;
    const auto model = workloads::import_hf_config(file.with(test::text_of(data, size)), problems);
    problems.throw_if_any();
    if (count_parameters(model).total() < 1) throw test::Defect("a model without parameters");
    if (!(forward_flops_per_token(model, 2048, true) > 0)) throw test::Defect("a model without FLOPs");
  });
}
